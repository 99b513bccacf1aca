"""Numerical building blocks: floats in, floats out. Nothing here knows what the numbers stand for."""
