"""What several methods need.

``grid_source`` turns a pair into what ``grid``, ``scales`` and ``one_draw`` put on lattices; ``chernoff_lower`` bounds delta
from below where it is near 1.
"""
