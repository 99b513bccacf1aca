"""Laws on lattices of many scales, fine near 0 and coarse far out, composed by sums of positive terms.

A Fourier transform adds noise to every mass, relative to the largest one, tilted or not. Where a sum reaches a far point as
well by one rare large term as by many small ones, no tilt makes that noise small. Here nothing cancels, so every mass keeps its
digits, however faint it is. And a sum needs no more than the lattice of its larger term: the smaller one is moved onto that
first, so that the work is a few short convolutions a scale.

A mass is moved between lattices so that the sum of the masses and that of the masses times e^-x stay as they are: outwards,
from a point to its two neighbours, or inwards, from two neighbours to the point between them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from renyi.errors import ConvergenceError
from renyi.numerics.work import spend

Array = NDArray[np.float64]

MOST_WORK = 1_500_000_000
"""Products in all convolutions of one law: about a second."""

_LARGEST = 600.0  # exponent that is well within what floats hold


@dataclass(frozen=True, slots=True)
class ScaledLattices:
    """Lattices with the steps ``step`` times 2^b for b < ``levels``, each with the places from -``cells`` to ``cells``."""

    step: float
    cells: int
    levels: int

    @property
    def width(self) -> int:
        """The places of one lattice."""
        return 2 * self.cells + 1

    def everywhere(self) -> Array:
        """The points of all lattices, a row each."""
        steps = self.step * 2.0 ** np.arange(self.levels)
        return np.multiply.outer(steps, np.arange(-self.cells, self.cells + 1.0))

    def points(self) -> tuple[Array, NDArray[np.intp]]:
        """All points in rising order, each on the finest lattice that has it, and where that is in ``everywhere``, flat."""
        place = np.arange(-self.cells, self.cells + 1)
        kept = np.ones((self.levels, self.width), dtype=np.bool_)
        kept[1:, np.abs(place) <= self.cells // 2] = False
        where = np.flatnonzero(kept)
        x = self.everywhere().ravel()[where]
        order = np.argsort(x)
        return x[order], where[order]


@dataclass(frozen=True, slots=True, eq=False)
class ScaledLaw:
    """Masses at the points of ``scales``, a row for each lattice, and ``beyond``, of what lies further right.

    ``outwards`` says which way masses are moved. What is neglected, or lies beyond the last lattice, is added to ``beyond``
    then; else it is left out, or moved left. All points are to be moved by ``shift``, and are known up to ``rounding``.
    ``work`` counts the products it took.
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
        """All mass."""
        return float(np.sum(self.mass)) + self.beyond

    def composed(self, other: ScaledLaw, negligible: float) -> ScaledLaw:
        """The law of the sum of two; what single masses contribute is neglected where it is less than ``negligible``."""
        cells, levels = self.scales.cells, self.scales.levels
        mine = its = _Finer(np.zeros(self.scales.width))
        passed = np.zeros(self.scales.width)
        inside = slice(cells, 3 * cells + 1)
        rows = np.empty_like(self.mass)
        sums = passed
        # One of the two is infinite, the other whatever it is: their masses may be a little more than 1.
        beyond = self.beyond * max(other.total, 1.0) + other.beyond * max(self.total, 1.0)
        work = max(self.work, other.work)
        for level in range(levels):
            step = self.scales.step * 2.0**level
            here, there = _Finer(self.mass[level]), _Finer(other.mass[level])
            mixed = [(here, its)] if other is self else [(here, its), (mine, there)]
            sums = np.zeros(2 * self.scales.width - 1)
            for first, second in ((here, there), *mixed):
                found = _Product.of(first.row, second.row, negligible)
                times = 2.0 if other is self and second is its else 1.0
                beyond += times * found.neglected if self.outwards else 0.0
                work += found.work
                spend(found.work / 25.0)
                if found.work:
                    sums += times * _drawn(found.sums, first.centre + second.centre, step)
            if work > MOST_WORK:
                raise ConvergenceError("sums on lattices of many scales take too long here.")
            sums[inside] += passed
            rows[level] = sums[inside]
            sums[inside] = 0.0
            if level + 1 < levels:
                passed = _outwards(sums, step) if self.outwards else _inwards(sums, step)
                its = its.coarser(other.mass[level], step, self.outwards)
                mine = its if other is self else mine.coarser(self.mass[level], step, self.outwards)
        further = float(np.sum(sums[3 * cells + 1 :]))
        if self.outwards:
            beyond += further
            rows[-1, 0] += np.sum(sums[:cells])
        else:
            rows[-1, -1] += further
        shift, rounding = self.shift + other.shift, self.rounding + other.rounding
        return ScaledLaw(self.scales, rows, beyond, self.outwards, shift, rounding, work)

    def repeated(self, count: int, negligible: float) -> ScaledLaw:
        """The law of the sum of ``count`` of them, by squaring; what is neglected early is so as often as it is repeated."""
        total, number = self, 1
        for digit in f"{count:b}"[1:]:
            total, number = total.composed(total, negligible * (2 * number / count)), 2 * number
            if digit == "1":
                total, number = total.composed(self, negligible * (number / count)), number + 1
        return total


@dataclass(frozen=True, slots=True, eq=False)
class _Finer:
    """What a law has on lattices finer than the present one, moved to its step; the middle of the row is at ``centre``."""

    row: Array
    centre: float = 0.0

    def coarser(self, level: Array, step: float, outwards: bool) -> _Finer:
        """With a level more, on the next lattice.

        Inwards the largest mass can only be moved down, by more and more from lattice to lattice, where nothing balances it. So
        the lattice may be moved instead: to the mean of what is next to that mass. The better of the two is taken.
        """
        cells = self.row.size // 2
        if outwards:
            row = _outwards(self.row + level, step)
            return _Finer(np.pad(row, cells - row.size // 2))
        place = step * np.arange(-cells, cells + 1.0)
        x = np.concatenate([place + self.centre, place])
        mass = np.concatenate([self.row, level])
        held = mass > 0.0
        x, mass = x[held], mass[held]
        if not x.size:
            return _Finer(np.zeros_like(self.row))
        largest = int(np.argmax(mass))
        near = np.abs(x - x[largest]) < min(1.5 * step, _LARGEST)
        moment = float(np.sum(mass[near] * np.expm1(x[largest] - x[near])))
        mean = float(x[largest]) - math.log1p(moment / float(np.sum(mass[near])))
        kept = _Finer(_drawn_to(x - self.centre, mass, 2.0 * step, cells), self.centre)
        moved = _Finer(_drawn_to(x[~near] - mean, mass[~near], 2.0 * step, cells), mean)
        moved.row[cells] += np.sum(mass[near])
        return min(kept, moved, key=lambda one: one.lowered(2.0 * step))

    def lowered(self, step: float) -> float:
        """The sum of the masses times e^-x - 1, which is larger the more was moved down."""
        held = np.flatnonzero(self.row)
        x = step * (held - self.row.size // 2) + self.centre
        return float(np.sum(self.row[held] * np.expm1(np.minimum(-x, _LARGEST))))


@dataclass(frozen=True, slots=True)
class _Product:
    """The convolution of two rows of masses, centred like them, and a bound on the mass of what it leaves out."""

    sums: Array
    neglected: float
    work: int

    @classmethod
    def of(cls, first: Array, second: Array, negligible: float) -> _Product:
        sums = np.zeros(first.size + second.size - 1)
        weights = float(np.sum(first)), float(np.sum(second))
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


def _outwards(row: Array, step: float) -> Array:
    """A centred row on the lattice with twice the step: a mass between two of its points goes to both of them."""
    even, odd = _halves(row)
    fall = math.exp(-step)
    even[1:] += odd / (1.0 + fall)
    even[:-1] += odd * (fall / (1.0 + fall))
    return even


def _inwards(row: Array, step: float) -> Array:
    """The same from below: a mass goes up as far as another one comes down to balance it, and down else."""
    cells = row.size // 2
    return _drawn_to(step * np.arange(-cells, cells + 1.0), row, 2.0 * step, (cells + 1) // 2)


def _drawn(row: Array, centre: float, step: float) -> Array:
    """A row about ``centre`` on the lattice about 0 with the same step."""
    if centre == 0.0:
        return row
    cells = row.size // 2
    return _drawn_to(step * np.arange(-cells, cells + 1.0) + centre, row, step, cells)


def _drawn_to(x: Array, mass: Array, step: float, cells: int) -> Array:
    """Masses at any points on a centred lattice, inwards: each goes to the point on its left, but shares go to the right one.

    Of a mass between two points the share that goes right is what keeps its mean, or less: as much as what comes down to that
    point from its other side balances. Masses outside of the lattice go to its last point, or are left out on the left.
    """
    place = np.floor(x / step)
    gap = np.clip(x - place * step, 0.0, step)
    place = np.minimum(place, float(cells))
    inside = (place >= -cells) & (mass > 0.0)
    index, gap, mass = place[inside].astype(np.intp) + cells, gap[inside], mass[inside]
    size = 2 * cells + 2
    near = step - gap < _LARGEST  # what would have to be balanced by more than a float holds stays
    up, fall = np.where(near, mass * (gap / step), 0.0), -np.expm1(-gap)

    def collected(place: NDArray[np.intp], weight: Array) -> Array:
        return np.bincount(place, weight, minlength=size).astype(np.float64)

    rising, needed = collected(index + 1, up), collected(index + 1, up * np.expm1(np.minimum(step - gap, _LARGEST)))
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
    """Quotients, 0 where there is nothing to divide by."""
    with np.errstate(over="ignore"):
        return np.divide(np.maximum(first, 0.0), second, out=np.zeros(first.shape), where=second > 0.0)


def _halves(row: Array) -> tuple[Array, Array]:
    """The masses at even places, with one more point at either end if the last is odd, and those between them."""
    if (row.size // 2) % 2:
        row = np.pad(row, 1)
    return row[::2].copy(), row[1::2]
