"""Sums of independent variables on lattices.

``tilted_fft`` uses one lattice and an FFT, ``many_scales`` several lattices and sums of positive terms: slower, and without
cancellation.
"""
