"""Poisson sampling: ``poisson`` is the sampling; ``pair`` the law of a sampled release; ``gaussian`` that of sampled noise."""
