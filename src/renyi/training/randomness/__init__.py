"""Randomness: secret keys, the random streams derived from them, Poisson draws, and noise.

Read ``entropy`` (the secret and its keys), ``stream`` and ``chacha`` (random words), then ``sampler`` and ``noise``;
``refinement`` rounds the few values that need more digits.
"""
