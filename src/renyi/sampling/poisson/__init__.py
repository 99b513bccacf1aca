"""Poisson sampling: ``poisson`` is the sampling, ``pair`` its dominating pairs, ``gaussian`` the sampled Gaussian mechanism."""
