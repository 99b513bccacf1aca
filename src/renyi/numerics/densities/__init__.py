"""Integrals of smooth densities on panels, and convex functions from below."""
