"""Random allocation: every record is used in one step of an epoch, chosen at random, or in several.

Read ``random_allocation``, the sampling, and ``random_picks``. ``pair`` is the law of an epoch: by ``epoch_law`` on a lattice
for any mechanism, by ``gaussian`` as a transform for Gaussian noise. ``moments`` and ``real_moments`` are its divergences.
"""
