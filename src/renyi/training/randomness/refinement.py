"""The cells of values that float32 leaves in doubt: first in float64, then with as many bits and digits as it takes.

A uniform number has infinitely many bits. Of U the first 31 are known, of V the first 32; the others are drawn when they are
needed, from SHAKE256 of the key and the pair's number, so that they are the same for both values of a pair, and however often
they are asked for. A cell is certain once all values that the known bits allow lie in it.
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
"""Known steps of U, from either end, within which the error bound does not hold: U, or 1 - U, varies too much within a step."""

_ROUNDING = 2.0**-46
"""Of a value in float64, relative to its radius or to 1: some forty units in the last place."""


class Doubtful(NamedTuple):
    """Values in doubt, one a row: the sum in cells, the words of U and V, and the pair's number.

    The word of V is turned back by a quarter where the value is a sine, so that all are cosines.
    """

    offset: Array
    radial: Integers
    angular: Integers
    pair: Integers


def cells(doubtful: Doubtful, scale: float, key: bytes) -> Array:
    """The cells, exactly; ``scale`` is the deviation in cells."""
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
    """A normal value and a bound on its error, where U and V (in half turns) may be off by ``unknown``.

    The derivatives of the value are at most 1/(U radius) and pi radius, and change by less than 1 % over what is unknown.
    """
    radius = library.sqrt(-2 * library.log(u))
    error = 1.01 * unknown * (1 / (u * radius) + math.pi * radius) + rounding * (radius + 1)
    return radius * library.cos(library.pi * half_turns), error


def _certain(offset: float, scale: float, radial: int, angular: int, pair: int, key: bytes) -> float:
    """One cell, with further bits, twice as many each time."""
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
    """``count`` more bytes each of U and V, as integers; a longer call only appends to a shorter one."""
    made = hashlib.shake_256(b"renyi further bits" + key + pair.to_bytes(8, "little")).digest(2 * count)
    return int.from_bytes(made[0::2], "big"), int.from_bytes(made[1::2], "big")


@lru_cache(maxsize=8)
def _digits(precision: int) -> MPContext:
    """Arithmetic with so many bits; nobody else changes the precision of this context."""
    context = MPContext()
    context.prec = precision
    return context
