"""Laws on lattices of many scales, fine near 0 and coarse far out, composed by sums of positive terms.

A Fourier transform adds noise to every mass, relative to the largest one, tilted or not. Where a sum reaches a far point both
by one rare large term and by many small ones, no tilt makes that noise small. Here nothing cancels, so every mass keeps its
digits, however small it is. A sum needs no finer lattice than that of its larger term: the smaller term is moved onto it first,
so that each scale takes a few short convolutions.

Masses are moved between lattices in a way that preserves both their sum and the sum of mass times e^-x. Outwards, a mass goes
from a point to its two neighbours, so that the mean of any convex function of e^-x, such as (1 - e^(t - x))_+, can only grow;
inwards, from two neighbours to the point between them, so that it can only shrink.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from renyi.errors import ConvergenceError
from renyi.numerics.work import spend

Array = NDArray[np.float64]

MOST_WORK = 1_500_000_000
"""Products in all convolutions of one law: about a second."""

_LARGEST_EXPONENT = 600.0
"""Exponents are cut here before e^x is formed: it overflows at 709, and products need some room."""

_CONVOLVED_PER_NUMBER = 60.0
"""Products of a convolution that cost as much as one number in ``numerics.work``."""

_PER_PLACE = {True: 3.0, False: 8.0}
"""Numbers for each place of one lattice in one composition, as measured, by whether masses are moved outwards."""

_CALLS = {True: 10, False: 25}
"""Vectorised calls for one lattice in one composition, likewise."""


@dataclass(frozen=True, slots=True)
class ScaledLattices:
    """Lattices with the steps ``step`` times 2^b for b < ``levels``, each with the places from -``cells`` to ``cells``."""

    step: float
    cells: int
    levels: int

    @property
    def width(self) -> int:
        """Number of places on one lattice."""
        return 2 * self.cells + 1

    def everywhere(self) -> Array:
        """The points of all lattices, a row each."""
        steps = self.step * 2.0 ** np.arange(self.levels)
        return np.multiply.outer(steps, np.arange(-self.cells, self.cells + 1.0))

    def points(self) -> tuple[Array, NDArray[np.intp]]:
        """All distinct points in rising order, and the flat index of each in ``everywhere``, on the finest lattice with it."""
        place = np.arange(-self.cells, self.cells + 1)
        kept = np.ones((self.levels, self.width), dtype=np.bool_)
        kept[1:, np.abs(place) <= self.cells // 2] = False
        where = np.flatnonzero(kept)
        x = self.everywhere().ravel()[where]
        order = np.argsort(x)
        return x[order], where[order]


@dataclass(frozen=True, eq=False)
class ScaledLaw:
    """Masses at the points of ``scales``, one row per lattice, and the mass ``beyond`` the last point on the right.

    ``outwards`` says which way masses are moved: outwards for a law above the true one, where neglected mass and mass right of
    the last lattice is added to ``beyond``; inwards for a law below it, where neglected mass is dropped and mass right of the
    last lattice is moved left to its end. The true points are those of ``scales`` plus ``shift``, up to ``rounding``. ``work``
    counts the products that all convolutions so far took.
    """

    scales: ScaledLattices
    mass: Array
    beyond: float
    outwards: bool
    shift: float = 0.0
    rounding: float = 0.0
    work: int = 0

    @property
    def total(self) -> float:
        """Total mass, that at infinity included."""
        return float(np.sum(self.mass)) + self.beyond

    @cached_property
    def finer(self) -> tuple[_Finer, ...]:
        """For each lattice, the masses on all finer ones, moved to its step."""
        return tuple(self._finer())

    def _finer(self) -> Iterator[_Finer]:
        found = _Finer(np.zeros(self.scales.width))
        for level in range(self.scales.levels):
            yield found
            found = found.coarser(self.mass[level], self.scales.step * 2.0**level, self.outwards)

    def composed(self, other: ScaledLaw, negligible: float) -> ScaledLaw:
        """The law of the sum of two independent variables.

        Masses at the ends of a row whose products with everything else stay below ``negligible`` are left out.
        """
        cells, levels = self.scales.cells, self.scales.levels
        spend(_PER_PLACE[self.outwards] * self.scales.width * levels, calls=_CALLS[self.outwards] * levels)
        passed = np.zeros(self.scales.width)
        inside = slice(cells, 3 * cells + 1)
        rows = np.empty_like(self.mass)
        sums = passed
        # One of the two is infinite, the other whatever it is: their masses may be a little more than 1.
        beyond = self.beyond * max(other.total, 1.0) + other.beyond * max(self.total, 1.0)
        work = max(self.work, other.work)
        # A sum lives on the lattice of its larger term: on each level both terms are of this level (here, there), or one of
        # them is from a finer level and was moved here (its, mine). Squaring needs one mixed product, counted twice.
        for level in range(levels):
            step = self.scales.step * 2.0**level
            here, there = _Finer(self.mass[level]), _Finer(other.mass[level])
            mine, its = self.finer[level], other.finer[level]
            mixed = [(here, its)] if other is self else [(here, its), (mine, there)]
            sums = np.zeros(2 * self.scales.width - 1)
            for first, second in ((here, there), *mixed):
                found = _Product.of(first.row, second.row, negligible)
                times = 2.0 if other is self and second is its else 1.0
                beyond += times * found.neglected if self.outwards else 0.0
                work += found.work
                spend(found.work / _CONVOLVED_PER_NUMBER)
                if found.work:
                    sums += times * _drawn(found.sums, first.centre + second.centre, step)
            if work > MOST_WORK:
                raise ConvergenceError("sums on lattices of many scales take too long here.")
            # Sums that fit this lattice stay on it; the others are passed on to the next one.
            sums[inside] += passed
            rows[level] = sums[inside]
            sums[inside] = 0.0
            if level + 1 < levels:
                passed = _coarser(sums, step, self.outwards)
        further = float(np.sum(sums[3 * cells + 1 :]))
        if self.outwards:
            beyond += further
            rows[-1, 0] += np.sum(sums[:cells])
        else:
            rows[-1, -1] += further
        shift, rounding = self.shift + other.shift, self.rounding + other.rounding
        return ScaledLaw(self.scales, rows, beyond, self.outwards, shift, rounding, work)

    def repeated(self, count: int, negligible: float) -> ScaledLaw:
        """The law of the sum of ``count`` independent copies, by repeated squaring.

        What is neglected in an early product is repeated with it, so early products neglect proportionally less.
        """
        total, number = self, 1
        for digit in f"{count:b}"[1:]:
            total, number = total.composed(total, negligible * (2 * number / count)), 2 * number
            if digit == "1":
                total, number = total.composed(self, negligible * (number / count)), number + 1
        return total


@dataclass(frozen=True, slots=True, eq=False)
class _Finer:
    """The masses of a law on all finer lattices, moved to the present step; the middle of ``row`` stands at ``centre``."""

    row: Array
    centre: float = 0.0

    def coarser(self, level: Array, step: float, outwards: bool) -> _Finer:
        """Include one more level and move everything to the next, coarser lattice.

        Inwards, an isolated largest mass has nothing to balance it and can only move down, further on every lattice. So the
        lattice may be shifted instead, to the mean of that mass and its neighbours. The better of the two is returned.
        """
        cells = self.row.size // 2
        if outwards:
            row = _outwards(self.row + level, step)
            return _Finer(np.pad(row, cells - row.size // 2))
        if not (self.row.any() or level.any()):
            return self
        place = step * np.arange(-cells, cells + 1.0)
        x = np.concatenate([place + self.centre, place])
        mass = np.concatenate([self.row, level])
        held = mass > 0.0
        x, mass = x[held], mass[held]
        largest = int(np.argmax(mass))
        near = np.abs(x - x[largest]) < min(1.5 * step, _LARGEST_EXPONENT)
        moment = float(np.sum(mass[near] * np.expm1(x[largest] - x[near])))
        mean = float(x[largest]) - math.log1p(moment / float(np.sum(mass[near])))
        kept = _Finer(_drawn_to(x - self.centre, mass, 2.0 * step, cells), self.centre)
        moved = _Finer(_drawn_to(x[~near] - mean, mass[~near], 2.0 * step, cells), mean)
        moved.row[cells] += np.sum(mass[near])
        return min(kept, moved, key=lambda one: one.lowered(2.0 * step))

    def lowered(self, step: float) -> float:
        """The sum of the masses times e^-x - 1, which grows with how far masses were moved down."""
        held = np.flatnonzero(self.row)
        x = step * (held - self.row.size // 2) + self.centre
        return float(np.sum(self.row[held] * np.expm1(np.minimum(-x, _LARGEST_EXPONENT))))


@dataclass(frozen=True, slots=True)
class _Product:
    """The convolution of two centred rows of masses, a bound on the mass that it leaves out, and the products it took."""

    sums: Array
    neglected: float
    work: int

    @classmethod
    def of(cls, first: Array, second: Array, negligible: float) -> _Product:
        sums = np.zeros(first.size + second.size - 1)
        weights = float(np.sum(first)), float(np.sum(second))
        if not weights[0] * weights[1] > negligible:
            return cls(sums, weights[0] * weights[1], 0)
        kept = [
            np.flatnonzero(one * weight > negligible)
            for one, weight in zip((first, second), reversed(weights), strict=True)
        ]
        if not (kept[0].size and kept[1].size):
            return cls(sums, weights[0] * weights[1], 0)
        ends = [slice(int(one[0]), int(one[-1]) + 1) for one in kept]
        one, other = first[ends[0]], second[ends[1]]
        start = ends[0].start + ends[1].start
        sums[start : start + one.size + other.size - 1] = np.convolve(one, other)
        outside = [
            float(np.sum(row[: end.start]) + np.sum(row[end.stop :]))
            for row, end in zip((first, second), ends, strict=True)
        ]
        return cls(sums, outside[0] * weights[1] + outside[1] * weights[0], one.size * other.size)


def _coarser(row: Array, step: float, outwards: bool) -> Array:
    """Move a centred row to the lattice with twice the step."""
    if not row.any():
        return np.zeros(2 * ((row.size // 2 + 1) // 2) + 1)
    return _outwards(row, step) if outwards else _inwards(row, step)


def _outwards(row: Array, step: float) -> Array:
    """Move a centred row to the lattice with twice the step; a mass between two of its points is shared by both."""
    even, odd = _halves(row)
    # The shares add up to one and keep the mean of e^-x: (e^(-step) + fall e^(step))/(1 + fall) = 1.
    fall = math.exp(-step)
    even[1:] += odd / (1.0 + fall)
    even[:-1] += odd * (fall / (1.0 + fall))
    return even


def _inwards(row: Array, step: float) -> Array:
    """Move a centred row to the lattice with twice the step: masses go down, or up as far as others going down balance them."""
    cells = row.size // 2
    return _drawn_to(step * np.arange(-cells, cells + 1.0), row, 2.0 * step, (cells + 1) // 2)


def _drawn(row: Array, centre: float, step: float) -> Array:
    """Move a row that is centred at ``centre`` inwards to the lattice with the same step that is centred at 0."""
    if centre == 0.0:
        return row
    cells = row.size // 2
    return _drawn_to(step * np.arange(-cells, cells + 1.0) + centre, row, step, cells)


def _drawn_to(x: Array, mass: Array, step: float, cells: int) -> Array:
    """Move masses at arbitrary points inwards to a centred lattice: each to the point on its left, but a share to the right.

    The share that goes right would keep the mean of x, but is limited to what masses coming down to that same point balance in
    the mean of e^-x. Masses right of the lattice go to its last point; masses left of it are left out.
    """
    place = np.floor(x / step)
    gap = np.clip(x - place * step, 0.0, step)
    place = np.minimum(place, float(cells))
    inside = (place >= -cells) & (mass > 0.0)
    index, gap, mass = place[inside].astype(np.intp) + cells, gap[inside], mass[inside]
    size = 2 * cells + 2
    near = step - gap < _LARGEST_EXPONENT  # beyond, no float could hold the balancing mass, so nothing goes right
    up, fall = np.where(near, mass * (gap / step), 0.0), -np.expm1(-gap)

    def collected(place: NDArray[np.intp], weight: Array) -> Array:
        return np.bincount(place, weight, minlength=size).astype(np.float64)

    rising, needed = (
        collected(index + 1, up),
        collected(index + 1, up * np.expm1(np.minimum(step - gap, _LARGEST_EXPONENT))),
    )
    given, less = collected(index, mass * fall), collected(index, up * fall)
    # If neighbours send the same share v of ``up``, then v needed = given - v less at every point.
    share = np.minimum(_over(given, needed + less), 1.0)
    beside = np.append(share[1:], 0.0)
    rising *= np.minimum(share, _over(given - beside * less, needed))
    total = collected(index, mass) + rising
    total[:-1] -= rising[1:]
    total[-2] += total[-1]
    return np.maximum(total[:-1], 0.0)


def _over(first: Array, second: Array) -> Array:
    """Quotients of nonnegative numbers, 0 where the divisor is 0."""
    with np.errstate(over="ignore"):
        return np.divide(np.maximum(first, 0.0), second, out=np.zeros(first.shape), where=second > 0.0)


def _halves(row: Array) -> tuple[Array, Array]:
    """The masses at even places, counted from the centre, and those at odd places between them.

    If the last place is odd, a point of mass 0 is added at either end.
    """
    if (row.size // 2) % 2:
        row = np.pad(row, 1)
    return row[::2].copy(), row[1::2]
