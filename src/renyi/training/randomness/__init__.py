"""Randomness: secret keys, the random streams derived from them, Poisson draws, and noise."""
