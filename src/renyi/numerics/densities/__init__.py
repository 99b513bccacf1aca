"""Densities that are known at points only.

``smooth_panels`` finds panels on which to integrate them, ``convex_floor`` bounds convex functions from below in between.
"""
