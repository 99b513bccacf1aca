"""Keys, streams of random words under them, the sampler's draws, and the noise."""
