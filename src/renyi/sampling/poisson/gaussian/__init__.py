"""The sampled Gaussian mechanism, on which DP-SGD rests.

Read ``ratio`` (the likelihood ratio), then ``renyi`` (its divergences) and ``transform`` (its loss, for contour integrals)
with ``lattice``, the points at which it is integrated. ``family`` computes many of them together.
"""
