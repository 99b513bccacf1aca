"""Gaussian noise that cannot be read off its low bits: the real number S + deviation Z, rounded to a public grid, exactly.

The last bits of floating-point noise give away what it was added to (Mironov 2012). Here nothing but the number of a cell of a
public grid is released, and it is the cell in which the sum of the ideal Gaussian mechanism lies: a function of that
mechanism's output, so the guarantee is its own. docs/noise.md has the proof.

Value i of the noise under a key is a function of both alone, on any device and in any shape. The stream of words is cut into
rows of 2 ``ROW``; words j and ``ROW`` + j of a row are the first bits of two uniform numbers U and V, of which values j and
``ROW`` + j are made by the method of Box and Muller (1958):

    sqrt(-2 log U) cos(2 pi V),      sqrt(-2 log U) sin(2 pi V).

A row is computed in float32 and with what bits there are. Where that leaves a doubt about the cell, which is known from the
error bound ``ERROR``, ``refinement`` computes it again with more digits, and with more bits of U and V, until there is none.
The steps are written once, for NumPy on the CPU, whose float32 functions are fastest there, and for torch elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from renyi.training.errors import TrainingError
from renyi.training.randomness import refinement
from renyi.training.randomness.stream import on_device, on_host

ROW = 1 << 15
"""Pairs of values made at a time: on a CPU they stay in its cache."""

CELLS = 1024
"""How many cells of the grid are one standard deviation wide: more than half of these, and no more."""

FINEST = 2.0**-30
"""The finest grid as a share of the clip bound. Only noise that protects nobody is smaller, and it need not be resolved."""

ERROR = 2.0**-17
"""Above the error of a standard normal value in float32, for radii within the limits below: docs/noise.md finds 117.2 2^-24."""

LEAST_RADIUS, MOST_RADIUS = 0.0627, 4.55
"""Between which the bound holds: the words of U, of 31 bits, are then between 2^16 and 2^31 - 2^22."""

LAW = "the ideal Gaussian mechanism's real-valued output, rounded to a multiple of the grid"

_BITS = 0x7FFFFFFF  # of a signed word that count for U; all of V's do
_SMALL = 2.0**14  # cells: beyond, the rounding of float32 would leave more in doubt than the noise does
_MOST_DEVIATIONS = 7.0  # a radius of 31 bits is at most 6.7


def grid_of(deviation: float, bound: float) -> float:
    """The width of a cell: the smallest power of two that is no finer than wanted; 0 without noise."""
    if deviation == 0.0:
        return 0.0
    mantissa, exponent = math.frexp(max(deviation / CELLS, FINEST * bound))
    return math.ldexp(1.0, exponent - (mantissa == 0.5))


def rounded(sums: torch.Tensor, *, deviation: float, grid: float, key: bytes) -> torch.Tensor:
    """Every sum with noise of its own, as the nearest multiple of the grid; the sums themselves where deviation is 0."""
    if deviation == 0.0 or not sums.numel():
        return sums.clone()
    given = sums.detach().reshape(-1)
    made = torch.empty_like(given)
    if given.device.type == "cpu":
        _fill(np, given.numpy(), made.numpy(), deviation, grid, partial(on_host, key), key)
    else:
        _fill(torch, given, made, deviation, grid, partial(on_device, key, given.device), key)
    return made.reshape(sums.shape)


def _fill(
    library: Any, sums: Any, made: Any, deviation: float, grid: float, words: Callable[[int, int], Any], key: bytes
) -> None:
    """Row by row; what is in doubt is collected, and refined on the host at the end."""
    scale, per_unit = deviation / grid, 1.0 / grid
    largest = float(abs(sums).max()) * per_unit + _MOST_DEVIATIONS * scale
    if not largest < math.inf:
        raise TrainingError("the clipped sums are not finite, so nothing can be released.")
    # In float32, as long as that tells where in its cell a sum lies.
    single = largest < _SMALL and sums.dtype == library.float32
    doubt = ERROR * scale + (2.0**-22 if single else 2.0**-50) * largest
    room = _Room.of(library, sums, single)
    doubtful = []
    for start in range(0, len(sums), 2 * ROW):
        row = slice(start, start + 2 * ROW)
        count = len(sums[row])
        pairs = min(count, ROW)
        whole = words(start, 2 * ROW) if pairs == ROW else None
        radial, angular = (words(start + at, pairs) if whole is None else whole[at : at + ROW] for at in (0, ROW))
        radial &= _BITS
        radius, noise = _standard(library, radial, angular, count, room)
        offset, place, cell = room.offset[:count], room.place[:count], room.cell[:count]
        library.multiply(sums[row], per_unit, out=offset)  # no rounding: the grid is a power of two
        library.multiply(noise, scale, out=place)
        library.add(place, offset, out=place)
        room.rint(place, out=cell)
        library.multiply(cell, grid, out=made[row])
        library.subtract(place, cell, out=place)
        unsure = library.abs(place, out=place) > 0.5 - doubt
        outside = (radius < LEAST_RADIUS) | (radius > MOST_RADIUS)
        unsure[:pairs] |= outside
        unsure[pairs:] |= outside[: count - pairs]
        which = library.argwhere(unsure)[:, 0]
        pair = which % ROW
        # The sine is the cosine a quarter turn, 2^30 words, before.
        turned = angular[pair] - (which >= ROW) * 2**30
        doubtful.append((which + start, radial[pair], turned, pair + start // 2))
    which, *values = (library.concatenate(column) for column in zip(*doubtful, strict=True))
    offsets = library.asarray(sums[which], dtype=library.float64) * per_unit
    certain = refinement.cells(refinement.Doubtful(*map(_on_host, (offsets, *values))), scale, key)
    made[which] = library.asarray(certain * grid, dtype=made.dtype, device=made.device)


class _Room(NamedTuple):
    """Arrays to compute a row in, and the rounding function, which has another name in each library."""

    radius: Any
    angle: Any
    noise: Any
    offset: Any
    place: Any
    cell: Any
    rint: Any

    @classmethod
    def of(cls, library: Any, sums: Any, single: bool) -> _Room:
        """For as many sums, on their device."""
        pairs, count = min(len(sums), ROW), min(len(sums), 2 * ROW)
        precision = library.float32 if single else library.float64
        sizes = [(pairs, library.float32)] * 2 + [(count, library.float32)] + [(count, precision)] * 3
        radius, angle, noise, offset, place, cell = (
            library.empty(size, dtype=dtype, device=sums.device) for size, dtype in sizes
        )
        return cls(radius, angle, noise, offset, place, cell, library.rint if library is np else library.round)


def _standard(library: Any, radial: Any, angular: Any, count: int, room: _Room) -> tuple[Any, Any]:
    """Radii of a row, and its standard normal values, within ``ERROR`` where the radius is within its limits."""
    pairs = len(radial)
    radius, angle, noise = room.radius[:pairs], room.angle[:pairs], room.noise[:count]
    radius[...] = radial
    radius += 0.5
    radius *= 2.0**-31
    library.log(radius, out=radius)
    radius *= -2.0
    library.sqrt(radius, out=radius)
    angle[...] = angular
    angle *= math.pi / 2**31
    library.cos(angle, out=noise[:pairs])
    library.sin(angle[: count - pairs], out=noise[pairs:])
    noise[:pairs] *= radius
    noise[pairs:] *= radius[: count - pairs]
    return radius, noise


def _on_host(values: Any) -> NDArray[Any]:
    return values.cpu().numpy() if isinstance(values, torch.Tensor) else np.asarray(values)
