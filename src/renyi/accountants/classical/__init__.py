"""The composition of (epsilon, delta) guarantees, and the theorems it needs."""
