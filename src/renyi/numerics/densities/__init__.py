"""Panels on which piecewise smooth densities are integrated, and lower bounds on convex functions."""
