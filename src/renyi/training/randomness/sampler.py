"""Poisson draws: every unit independently, with a probability of exactly the rate rounded down to a multiple of 2^-64.

A unit is drawn if 64 uniform random bits, read as a number, lie below rate * 2^64. Nearly always the first eight bits decide,
so eight bits are generated for every unit and the other fifty-six only for the one in 256 where they matter. No logarithms,
geometric gaps or rounded numbers are involved: the probability is never above the rate that is accounted for.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from renyi.training.randomness.stream import Reader

Indices = NDArray[np.int64]
BLOCK = 1 << 22
"""Units decided at a time: limits memory, and is part of the definition of the draw."""


def poisson_draw(key: bytes, *, units: int, rate: float) -> Indices:
    """The indices of the drawn units, in rising order; the key determines them."""
    threshold = int(rate * 2.0**64)  # the product is exact, the truncation rounds down
    if threshold == 2**64:
        return np.arange(units)
    reader = Reader(key)
    parts = [start + _drawn(reader, min(BLOCK, units - start), threshold) for start in range(0, units, BLOCK)]
    return np.concatenate(parts) if parts else np.arange(0)


def _drawn(reader: Reader, units: int, threshold: int) -> Indices:
    """The drawn units of one block: those whose 64 bits are below the threshold."""
    first_bits = reader.numbers(-(-units // 8)).view(np.uint8)[:units]
    decisive, rest = threshold >> 56, threshold & (2**56 - 1)
    undecided = np.flatnonzero(first_bits == decisive)
    drawn = undecided[(reader.numbers(undecided.size) >> np.uint64(8)) < np.uint64(rest)]
    if decisive:
        drawn = np.concatenate([np.flatnonzero(first_bits < decisive), drawn])
        drawn.sort()
    return drawn
