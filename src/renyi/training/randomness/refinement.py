"""The cells of values that float32 leaves in doubt, first in float64, then with as many bits and digits as it takes.

A uniform number has infinitely many bits. The first 31 of U and the first 32 of V are known; the others are drawn when needed,
from SHAKE256 of the key and the number of the pair, so that they are the same for both values of a pair and each time they are
needed. A cell is certain once every value that the known bits allow lies in it.
"""

from __future__ import annotations

import hashlib
import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from mpmath import MPContext
from numpy.typing import NDArray

Array = NDArray[np.float64]
Integers = NDArray[np.integer[Any]]

FEW = 1 << 10
"""Number of smallest and largest words of U for which the error bound does not hold: there U, or 1 - U, varies too much within
one step of the known bits."""

_ROUNDING = 2.0**-46
"""Bound on the rounding of a value in float64, relative to its radius or to 1: some forty units in the last place."""


class Doubtful(NamedTuple):
    """Values in doubt, one per row: the sum in cells, the words of U and V, and the number of the pair.

    Where the value is a sine, the word of V has been turned back by a quarter, so that all values are cosines.
    """

    offset: Array
    radial: Integers
    angular: Integers
    pair: Integers


def cells(doubtful: Doubtful, scale: float, key: bytes) -> Array:
    """The exact cell of each value; ``scale`` is the deviation in cells."""
    radial = doubtful.radial
    noise, error = _value(np, (radial + 0.5) * 2.0**-31, (doubtful.angular + 0.5) * 2.0**-31, 2.0**-32, _ROUNDING)
    place = doubtful.offset + scale * noise
    cell = np.rint(place)
    doubt = scale * error + 2.0**-50 * np.maximum(np.abs(place), np.abs(doubtful.offset))
    sure = (np.abs(place - cell) < 0.5 - doubt) & (radial >= FEW) & (radial < 2**31 - FEW)
    for row in np.flatnonzero(~sure):
        radial_word, angular_word, pair = (int(values[row]) for values in doubtful[1:])
        cell[row] = _certain(float(doubtful.offset[row]), scale, radial_word, angular_word, pair, key)
    return cell


def _value(library: Any, u: Any, half_turns: Any, unknown: float, rounding: float) -> tuple[Any, Any]:
    """A normal value and a bound on its error, if U and V (in half turns) may be off by ``unknown``.

    The derivatives of the value in U and V are at most 1/(U radius) and pi radius, and change by less than 1 % over that range.
    """
    radius = library.sqrt(-2 * library.log(u))
    error = 1.01 * unknown * (1 / (u * radius) + math.pi * radius) + rounding * (radius + 1)
    return radius * library.cos(library.pi * half_turns), error


def _certain(offset: float, scale: float, radial: int, angular: int, pair: int, key: bytes) -> float:
    """The cell of one value, with more and more bits: 8 more bytes of U and V, then 16, 32, ..."""
    count = 8
    while True:
        digits, step = _digits(8 * count + 128), 8 * count
        first, second = further_bits(key, pair, count)
        u, half_turns = (radial << step) + first, (angular << step) + second
        if FEW <= u < (1 << (31 + step)) - FEW:
            half = digits.ldexp(1, -32 - step)
            u, half_turns = ((2 * number + 1) * half for number in (u, half_turns))
            noise, error = _value(digits, u, half_turns, half, digits.ldexp(1, -8 * count - 112))
            place = digits.mpf(offset) + scale * noise
            cell = digits.nint(place)
            if abs(place - cell) < 0.5 - 2 * scale * error:
                return float(cell)
        count *= 2


def further_bits(key: bytes, pair: int, count: int) -> tuple[int, int]:
    """``count`` further bytes of U and of V, as integers; asking for more bytes extends the same sequence."""
    made = hashlib.shake_256(b"renyi further bits" + key + pair.to_bytes(8, "little")).digest(2 * count)
    return int.from_bytes(made[0::2], "big"), int.from_bytes(made[1::2], "big")


@lru_cache(maxsize=8)
def _digits(precision: int) -> MPContext:
    """mpmath arithmetic with this many bits, in a context of its own whose precision nobody else changes."""
    context = MPContext()
    context.prec = precision
    return context
