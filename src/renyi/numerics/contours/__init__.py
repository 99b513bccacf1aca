"""Integrals along a vertical line in the complex plane, and the sums of complex powers that they need.

Read ``contour`` (tails from a transform), then ``power_sums``, which evaluates transforms at many points of a line at once;
``complex_remainder`` keeps their digits near 0.
"""
