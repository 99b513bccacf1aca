"""Numerical building blocks that know nothing of privacy: floats in, floats out."""
