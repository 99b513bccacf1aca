"""The cells of values that float32 leaves in doubt, first in float64, then with as many bits and digits as it takes.

A uniform number has infinitely many bits. The first 31 of U and the first 32 of V are known; the others are drawn when needed,
from SHAKE256 of the key and the number of the pair, so that they are the same for both values of a pair and each time they are
needed. A cell is certain once every value that the known bits allow lies in it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from mpmath import MPContext
from numpy.typing import NDArray

Array = NDArray[np.float64]
Floats = NDArray[np.floating[Any]]
Integers = NDArray[np.integer[Any]]

FEW = 1 << 10
"""Number of smallest and largest words of U for which the error bound does not hold: there U, or 1 - U, varies too much within
one step of the known bits."""

_ROUNDING = 2.0**-46
"""Bound on the rounding of a value in float64, relative to its radius or to 1: some forty units in the last place."""


class Doubtful(NamedTuple):
    """Values in doubt, one per row: the sum in cells, the words of U and V, the number of the pair, and that of its key.

    Where the value is a sine, the word of V has been turned back by a quarter, so that all values are cosines.
    """

    offset: Array
    radial: Integers
    angular: Integers
    pair: Integers
    key: Integers


def cells(doubtful: Doubtful, scale: float, keys: Sequence[bytes]) -> Array:
    """The exact cell of each value; ``scale`` is the deviation in cells."""
    offset, radial, angular, pairs, numbers = doubtful
    cell, sure = _placed(offset, scale, radial + 0.5, angular + 0.5, 2.0**-32)
    bounded = (radial >= FEW) & (radial < 2**31 - FEW)
    # Nearly all that is left lacks bits, not digits: with 64 more of either number, float64 decides it.
    rest = np.flatnonzero(~sure & bounded)
    if rest.size:
        more = [further_bits(keys[numbers[row]], int(pairs[row]), 8) for row in rest]
        of_u, of_v = np.array(more, dtype=np.float64).T * 2.0**-64
        cell[rest], sure[rest] = _placed(offset[rest], scale, radial[rest] + of_u, angular[rest] + of_v, 2.0**-52)
    for row in np.flatnonzero(~(sure & bounded)):
        words = int(radial[row]), int(angular[row]), int(pairs[row])
        cell[row] = _certain(float(offset[row]), scale, *words, keys[numbers[row]])
    return cell


def _placed(
    offset: Array, scale: float, radial: Floats, angular: Floats, unknown: float
) -> tuple[Array, NDArray[np.bool_]]:
    """The cells in float64, and which of them are certain, if U and V, here in steps of 2^-31, may be off by ``unknown``."""
    noise, error = _value(np, radial * 2.0**-31, angular * 2.0**-31, unknown, _ROUNDING)
    place = offset + scale * noise
    cell = np.rint(place)
    doubt = scale * error + 2.0**-50 * np.maximum(np.abs(place), np.abs(offset))
    return cell, np.abs(place - cell) < 0.5 - doubt


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
        digits, step = arithmetic(8 * count + 128), 8 * count
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
def arithmetic(precision: int) -> MPContext:
    """mpmath arithmetic with this many bits, in a context of its own whose precision nobody else changes."""
    context = MPContext()
    context.prec = precision
    return context
