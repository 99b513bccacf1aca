"""Lengths of transforms."""

from __future__ import annotations

import numpy as np
import scipy.fft

from renyi.numerics.lattices.tilted_fft import fast_length
from tests import examples


def test_fast_lengths_are_those_of_scipy():
    drawn = np.random.default_rng(examples.SEED).integers(1, 10**7, 300)
    for least in (*range(1, 300), *(int(one) for one in drawn)):
        assert fast_length(least) == scipy.fft.next_fast_len(least, real=True)
