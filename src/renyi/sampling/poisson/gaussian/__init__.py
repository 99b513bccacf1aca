"""The sampled Gaussian mechanism: its Renyi curve, and the transform of its loss for contours."""
