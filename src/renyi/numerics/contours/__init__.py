"""Integrals along a vertical line in the complex plane, and the sums of complex powers that they need."""
