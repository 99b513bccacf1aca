"""Zhu & Wang (2019), PMLR 97, with the supplement: bounds for Poisson samples, their proofs, and other published bounds."""
