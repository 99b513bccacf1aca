"""The kinds of dominating pairs: finitely many losses, Gaussian, from densities, from a curve, sorted by loss."""
