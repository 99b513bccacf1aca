"""Roots and minima of functions of one variable."""
