"""Zhu & Wang (2019), PMLR 97, with the supplement: bounds for Poisson samples, their proofs, and other published bounds.

Read ``zhu_wang``, the results in the paper's order, then ``proofs`` and ``pearson_vajda`` (its condition).
``published_bounds`` and ``weak_amplification`` are what the paper compares itself with; ``binomial_block`` speeds up its
sums.
"""
