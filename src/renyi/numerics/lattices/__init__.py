"""Sums of independent variables on lattices: one lattice by FFT, many scales by positive sums."""
