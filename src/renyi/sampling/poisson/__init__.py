"""Poisson sampling: every record is drawn independently.

Read ``poisson``, the sampling, then ``pair``, its dominating pairs. The folder ``gaussian`` is the sampled Gaussian
mechanism; ``general_bound`` serves what is known by its Renyi curve only; ``replaced_pair`` and ``group_mixture_pair`` other
neighbours.
"""
