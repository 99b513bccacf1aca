"""Gaussian noise whose low bits reveal nothing: the real number S + deviation Z, rounded exactly to a public grid.

The last bits of floating-point noise give away what it was added to (Mironov 2012). Here only the number of a cell of a public
grid is released: the cell that contains the sum as the ideal Gaussian mechanism would output it. That is a function of the
ideal output, so the ideal mechanism's guarantee holds. docs/noise.md has the proof.

Value i of the noise is a function of the key and of i alone, on any device and in any shape. The stream of words is cut into
rows of 2 ``ROW``; words j and ``ROW`` + j of a row are the first bits of two uniform numbers U and V, from which values j and
``ROW`` + j are made by the method of Box and Muller (1958):

    sqrt(-2 log U) cos(2 pi V),      sqrt(-2 log U) sin(2 pi V).

A row is computed in float32 from these first bits. Where the error bound ``ERROR`` leaves a doubt about the cell,
``refinement`` computes it again with more digits, and with more bits of U and V, until there is none. The code is written once
and runs on NumPy on the CPU, whose float32 functions are fastest there, and on torch elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from renyi.training.errors import TrainingError
from renyi.training.randomness import refinement
from renyi.training.randomness.stream import on_device, on_host

ROW = 1 << 15
"""Pairs of values computed at a time: few enough to stay in a CPU's cache. It is part of the definition of the stream."""

CELLS = 1024
"""Cells of the grid in one standard deviation: at most this many, and more than half as many."""

FINEST = 2.0**-30
"""The finest grid, as a fraction of the clip bound. Noise too small to be resolved by it protects nobody anyway."""

ERROR = 2.0**-17
"""Bound on the error of a standard normal value in float32, for radii within the limits below: docs/noise.md finds 117.2 2^-24
= 0.92 2^-17."""

LEAST_RADIUS, MOST_RADIUS = 0.0627, 4.55
"""Radii between which ``ERROR`` holds: the 31-bit words of U are then between 2^16 and 2^31 - 2^22."""

LAW = "the ideal Gaussian mechanism's real-valued output, rounded to a multiple of the grid"

_RADIAL_BITS = 0x7FFFFFFF
"""Bits of a signed word that are used for U, as a mask; V uses all 32."""

_MOST_FLOAT32_CELLS = 2.0**14
"""Largest sum, in cells, that is placed in float32: beyond, its rounding would leave more cells in doubt than the noise
does."""

_MOST_DEVIATIONS = 7.0
"""Bound on a standard normal value: a radius made from 31 bits is at most sqrt(2 log 2^32) = 6.7."""


def grid_of(deviation: float, bound: float) -> float:
    """The width of a cell: the smallest power of two >= deviation/``CELLS`` and >= ``FINEST`` bounds; 0 without noise."""
    if deviation == 0.0:
        return 0.0
    mantissa, exponent = math.frexp(max(deviation / CELLS, FINEST * bound))
    return math.ldexp(1.0, exponent - (mantissa == 0.5))


def rounded(sums: torch.Tensor, *, deviation: float, grid: float, key: bytes) -> torch.Tensor:
    """Each sum plus its own noise, as the nearest multiple of the grid; the sums themselves if the deviation is 0."""
    made = sums.detach().clone(memory_format=torch.contiguous_format)
    round_in_place([made], deviation=deviation, grid=grid, keys=[key])
    return made


def round_in_place(
    sums: Sequence[torch.Tensor],
    *,
    deviation: float,
    grid: float,
    keys: Sequence[bytes],
    firsts: Sequence[int] | None = None,
) -> None:
    """Add noise to contiguous tensors, each under its own key, and round to the grid; without noise, do nothing.

    The values are those that each tensor would get by itself. Small ones are computed together, because most models have many
    of them, and a call costs as much as thousands of values. A tensor may be a slice of one that other processes hold the rest
    of: ``firsts`` has the number of its first value there, and it gets the values that the whole would get at those places.
    """
    if deviation == 0.0:
        return
    slices = [_Slice.of(tensor, first) for tensor, first in zip(sums, firsts or [0] * len(sums), strict=True)]
    for stretch in _stretches(slices, keys):
        given = [slices[number] for number in stretch]
        together = given[0].values
        if len(given) > 1 or given[0].ahead:
            together = torch.cat([part for one in given for part in (one.values.new_zeros(one.ahead), one.values)])
        parts = [_Part.of(keys[number], slices[number]) for number in stretch]
        if together.device.type == "cpu":
            _fill(np, together.numpy(), deviation, grid, parts)
        else:
            _fill(torch, together, deviation, grid, parts)
        if together is not given[0].values:
            for one, made in zip(given, torch.split(together, [one.size for one in given]), strict=True):
                one.values.copy_(made[one.ahead :])


class _Slice(NamedTuple):
    """Values of a tensor from some place on: where the row of the first one begins, and how many values are ahead of it there.

    Those are computed as well, and dropped.
    """

    values: torch.Tensor
    row: int
    ahead: int

    @classmethod
    def of(cls, tensor: torch.Tensor, first: int) -> _Slice:
        """The tensor as values from number ``first`` on."""
        ahead = first % (2 * ROW)
        return cls(tensor.detach().view(-1), first - ahead, ahead)

    @property
    def size(self) -> int:
        """How many values are computed for it."""
        return self.ahead + len(self.values) if len(self.values) else 0


class _Part(NamedTuple):
    """One tensor's words, as a function of the first and of their number; its key, its number of values, and its first row."""

    words: Callable[[int, int], Any]
    key: bytes
    size: int
    row: int = 0

    @classmethod
    def of(cls, key: bytes, one: _Slice) -> _Part:
        """The words of a slice, made on its device."""
        device = one.values.device
        words = partial(on_host, key) if device.type == "cpu" else partial(on_device, key, device)
        return cls(words, key, one.size, one.row)


def _stretches(slices: Sequence[_Slice], keys: Sequence[bytes]) -> Iterator[list[int]]:
    """The numbers of slices that are computed together: of one device and dtype, with at most ``ROW`` values in all."""
    together: dict[Any, list[int]] = {}
    for number, (one, _) in enumerate(zip(slices, keys, strict=True)):
        size, kind = one.size, (one.values.device, one.values.dtype)
        if size > ROW:
            yield [number]
        elif size:
            held = together.setdefault(kind, [])
            if sum(slices[other].size for other in held) + size > ROW:
                yield together.pop(kind)
                held = together.setdefault(kind, [])
            held.append(number)
    yield from together.values()


def _rows(library: Any, parts: Sequence[_Part]) -> Iterator[tuple[int, int, Any, Any]]:
    """The rows of one tensor, or the only row of several: first value, number of values, words of U and words of V."""
    if len(parts) > 1:
        radial, angular = (
            library.concatenate([part.words(part.row + first, part.size) for part in parts]) for first in (0, ROW)
        )
        yield 0, sum(part.size for part in parts), radial, angular
        return
    ((words, _, size, row),) = parts
    for start in range(0, size, 2 * ROW):
        count = min(2 * ROW, size - start)
        whole = words(row + start, 2 * ROW) if count >= ROW else None
        radial, angular = (words(row + start + at, count) if whole is None else whole[at : at + ROW] for at in (0, ROW))
        yield start, count, radial, angular


def _fill(library: Any, sums: Any, deviation: float, grid: float, parts: Sequence[_Part]) -> None:
    """Replace the sums row by row; values in doubt are collected and refined on the host at the end."""
    scale, per_unit = deviation / grid, 1.0 / grid
    largest = max(float(sums.max()), -float(sums.min())) * per_unit + _MOST_DEVIATIONS * scale
    if not largest < math.inf:
        raise TrainingError("the clipped sums are not finite, so nothing can be released.")
    # float32 is used as long as it resolves where in its cell a sum lies.
    single = largest < _MOST_FLOAT32_CELLS and sums.dtype == library.float32
    doubt = ERROR * scale + (2.0**-22 if single else 2.0**-50) * largest
    room = _Room.of(library, sums, single)
    doubtful = []
    for start, count, radial, angular in _rows(library, parts):
        row, pairs = slice(start, start + count), len(radial)
        radial &= _RADIAL_BITS
        radius, noise = _standard(library, radial, angular, count, room)
        place, cell = room.place[:count], room.cell[:count]
        library.multiply(sums[row], per_unit, out=place)  # exact, because the grid is a power of two
        library.multiply(noise, scale, out=cell)
        library.add(place, cell, out=place)
        room.rint(place, out=cell)
        library.subtract(place, cell, out=place)
        # A value within ``doubt`` of a cell's edge may belong to either cell.
        unsure = library.abs(place, out=place) > 0.5 - doubt
        outside = (radius < LEAST_RADIUS) | (radius > MOST_RADIUS)
        unsure[:pairs] |= outside
        unsure[pairs:] |= outside[: count - pairs]
        which = library.argwhere(unsure)[:, 0]
        if len(which):
            pair = which % pairs
            # sin(x) = cos(x - pi/2): a quarter turn is 2^30 in words of V, so that refinement deals with cosines only.
            turned = angular[pair] - (which >= pairs) * 2**30
            which += start
            offsets = library.asarray(sums[which], dtype=library.float64) * per_unit
            doubtful.append((which, offsets, radial[pair], turned, pair + start // 2))
        library.multiply(cell, grid, out=sums[row])
    if not doubtful:
        return
    which, offsets, radial, angular, pair = (
        _on_host(library.concatenate(column)) for column in zip(*doubtful, strict=True)
    )
    counts = np.array([part.size for part in parts])
    ends = np.cumsum(counts)
    place = np.searchsorted(ends, which, side="right")
    # Each tensor numbers its own pairs.
    pair += (np.array([part.row // 2 for part in parts]) - (ends - counts))[place]
    found = refinement.Doubtful(offsets, radial, angular, pair, place)
    certain = refinement.cells(found, scale, [part.key for part in parts])
    sums[which] = library.asarray(certain * grid, dtype=sums.dtype, device=sums.device)


class _Room(NamedTuple):
    """Preallocated arrays for one row, and the rounding function, whose name differs between the libraries."""

    radius: Any
    angle: Any
    noise: Any
    place: Any
    cell: Any
    rint: Any

    @classmethod
    def of(cls, library: Any, sums: Any, single: bool) -> _Room:
        """Arrays for this many sums, on their device."""
        pairs, count = min(len(sums), ROW), min(len(sums), 2 * ROW)
        precision = library.float32 if single else library.float64
        sizes = [(pairs, library.float32)] * 2 + [(count, library.float32)] + [(count, precision)] * 2
        radius, angle, noise, place, cell = (
            library.empty(size, dtype=dtype, device=sums.device) for size, dtype in sizes
        )
        return cls(radius, angle, noise, place, cell, library.rint if library is np else library.round)


def _standard(library: Any, radial: Any, angular: Any, count: int, room: _Room) -> tuple[Any, Any]:
    """The radii of a row and its standard normal values, which are within ``ERROR`` if the radius is within its limits."""
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
