"""Truncated Poisson sampling: Poisson draws cut to a largest batch.

Read ``truncated_poisson``, the sampling, then ``truncated_pair``; ``widest_pair`` dominates several pairs at once.
"""
