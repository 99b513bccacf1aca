"""The sampled Gaussian mechanism: its Renyi divergences, and the transform of its privacy loss for contour integrals."""
