"""Integrals along a line in the complex plane, and the sums of powers that they need."""
