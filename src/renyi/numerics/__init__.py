"""Numerical building blocks: floats in, floats out. Nothing here knows what the numbers stand for.

Read ``rounding`` (results moved to the safe side), ``work`` (limits without a clock) and ``remainder`` (sums that keep their
digits near 0) first: everything relies on them. The folders ``roots``, ``contours``, ``lattices`` and ``densities`` serve the
methods of composition.
"""
