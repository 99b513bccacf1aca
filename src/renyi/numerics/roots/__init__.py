"""Roots and minima of functions of one variable.

``falling_root`` brackets one root to neighbouring floats, ``bisection`` finds many roots at once, ``minimise`` finds a
minimum.
"""
