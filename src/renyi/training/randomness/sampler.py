"""Poisson draws: every unit independently, with a probability of exactly the rate, in time proportional to the batch.

Units are not decided one by one: the number of units that are passed over before the next one drawn is geometric, and

    floor(log U / log(1 - rate)),      U uniform on (0, 1) with infinitely many bits,

has exactly that law. The first 64 bits of U are known, and the quotient is computed in float64 with a bound on its error. If
that leaves open which integer is below it, further bits of U are drawn, and the quotient is computed with more digits, until it
is certain. So no unit's probability is above the rate that is accounted for, nor below.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from renyi.errors import InvalidInput
from renyi.training.randomness.refinement import arithmetic, further_bits
from renyi.training.randomness.stream import Reader

Indices = NDArray[np.int64]

ROUND = 1 << 16
"""Gaps that are drawn at a time, at most: limits memory. It is no part of the definition of the draw."""

MOST_UNITS = 1 << 46
"""Units that a draw can be over: the sum of a round's gaps then fits into 63 bits."""

_SPARE = 4
"""Standard deviations by which more gaps are drawn than are expected to be needed: a second round is then rare."""

_BEYOND = 2.0**1000
"""Quotients are cut there: what is larger passes over any dataset, and infinities would become no numbers."""


def poisson_draw(key: bytes, *, units: int, rate: float) -> Indices:
    """The indices of the drawn units, in rising order; the key determines them."""
    if units > MOST_UNITS:
        raise InvalidInput(f"draws are made over at most {MOST_UNITS:,} units; the dataset has {units:,}.")
    if rate == 1.0:
        return np.arange(units)
    if rate == 0.0:
        return np.arange(0)
    reader, parts, passed, first = Reader(key), [], 0, 0
    while passed < units:
        expected = (units - passed) * rate
        count = min(ROUND, int(expected + _SPARE * (1.0 + math.sqrt(expected))))
        gaps = _gaps(key, reader.numbers(count), rate, first=first, most=units - passed)
        drawn = passed + np.cumsum(gaps + 1) - 1
        parts.append(drawn[drawn < units])
        passed, first = int(drawn[-1]) + 1, first + count
    return np.concatenate(parts) if parts else np.arange(0)


def _gaps(key: bytes, words: NDArray[np.uint64], rate: float, *, first: int, most: int) -> Indices:
    """The gap that each word begins, exactly; those of at least ``most`` are only known to be that large.

    ``first`` is the number of the first of these gaps under the key.
    """
    known, miss = np.maximum(words.astype(np.float64), 1.0), -math.log1p(-rate)
    with np.errstate(over="ignore"):
        quotient = np.minimum(-np.log(known * 2.0**-64) / miss, _BEYOND)
        # log U is off by 2^-53 from rounding the word and by 1/word from its unknown bits; the two logarithms, each within 4
        # units in the last place, and the division add less than 2^-48 of the quotient.
        error = (2.0**-52 + 1.01 / known) / miss + 2.0**-48 * quotient
    low = np.maximum(quotient - error, 0.0)
    gaps = np.floor(np.minimum(low, most)).astype(np.int64)
    # A word of 0 says only that U is below 2^-64.
    doubtful = ((np.floor(quotient + error) != gaps) | (words == 0)) & (low < most)
    for place in np.flatnonzero(doubtful):
        gaps[place] = min(_certain(key, int(words[place]), first + int(place), rate), most)
    return gaps


def _certain(key: bytes, word: int, number: int, rate: float) -> int:
    """One gap, from as many further bits as it takes: 8 bytes, then 16, 32, ..."""
    count = 8
    while True:
        step = 8 * count
        # 1 - rate is exact: the rate has 53 bits, behind as many zeros as its exponent says.
        precise = arithmetic(2 * step + 256 - math.frexp(rate)[1])
        known = (word << step) + further_bits(key, number, count)[0]
        if known:
            miss, slack = precise.log(1 - precise.mpf(rate)), precise.ldexp(1, -step - 128)
            low, high = (precise.log(precise.ldexp(end, -64 - step)) / miss for end in (known + 1, known))
            found = int(precise.floor(low * (1 - slack)))
            if found == int(precise.floor(high * (1 + slack))):
                return found
        count *= 2
