"""The composition of (epsilon, delta) guarantees, as in textbooks, and the theorems it needs.

Read ``classical``, the accountant; ``release`` finds the guarantees of one release, and ``division`` how delta is shared
among releases. ``composition_theorems``, ``level_composition`` and ``optimal_composition`` are the theorems.
"""
