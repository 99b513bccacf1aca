"""Several releases on one draw as one pair: the law of their product, above the truth or below it, at all levels at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from renyi.composing.common.grid_source import (
    LADDER,
    Source,
    fits,
    infinite_mass_lower,
    lattice_law,
    log_above,
    placed,
    sources_of,
)
from renyi.composing.one_draw.tilt_ladder import FAINT, MARGIN, TiltLadder
from renyi.laws.dots.convex_dots import Dots, falling, hull
from renyi.laws.dots.dots import LossMasses, end_slopes, excess, log_masses_lower, lower_masses, upper_masses
from renyi.laws.dots.lattice import Lattice
from renyi.laws.pair import Counted, DominatingPair, FiniteLossPair
from renyi.numerics.lattices.tilted_fft import moments
from renyi.numerics.rounding import ULP

Array = NDArray[np.float64]

_INFLATION = 5e-6
"""The share by which the dots may raise the variance of the loss."""

_MOST_POINTS = 2**17
"""Points of the law of one release."""

_LONGEST = 2**19
"""Points of the product, which memory has to hold some thirty times: 120 MB."""

_DENSE = 10.0
"""Standard deviations up to which the dots are closest."""

_FURTHER = 40.0
"""By how much further left laws below begin: there e^-40 is left of a step in e^loss."""

_MOST_LISTED = 4000
"""Outcomes of a product that is enumerated; a longer one is put on a lattice."""

_MOST_PRODUCTS = 64 * _MOST_LISTED
"""Sums of two losses before equal ones merge: two megabytes."""

_UNHELD_MASS = 2e-323
"""Charged for what underflows outside of the points: the smallest float but three, so that sums of several are not lost."""


def one_draw_law(counted: Sequence[Counted], upper: bool, coarser: float = 1.0) -> DominatingPair:
    """The composed law as one pair: above the truth, or below it.

    Where all pairs have few outcomes their products are enumerated; else they are composed on a lattice, which keeps the
    relative accuracy of masses down to the smallest float. A lattice that is ``coarser`` by a factor costs as much less.
    """
    pairs = tuple((pair, count) for pair, count in counted if count > 0)
    try:
        return _composed(pairs, upper, coarser)
    except TypeError:  # a pair that cannot be remembered
        return _composed.__wrapped__(pairs, upper, coarser)


@lru_cache(maxsize=4)
def _composed(pairs: tuple[Counted, ...], upper: bool, coarser: float) -> DominatingPair:
    product = _enumerated_product(pairs)
    if product is not None:
        return replace(product, attained=not upper)
    return _lattice_product(pairs, coarser, upper)


def _enumerated_product(pairs: Sequence[Counted]) -> FiniteLossPair | None:
    """The product of finite pairs, None where it has too many outcomes."""
    product = FiniteLossPair((0.0,), (0.0,), (0.0,))
    for pair, count in pairs:
        law = pair.finite
        while count:
            if law is None or not 0 < _size(law) <= _MOST_LISTED or _size(product) * _size(law) > _MOST_PRODUCTS:
                return None
            if count % 2:
                product = product.times(law)
            count //= 2
            if count:
                law = law.times(law) if _size(law) ** 2 <= _MOST_PRODUCTS else None
            if _size(product) > _MOST_LISTED:
                return None
    return product


def _size(law: FiniteLossPair) -> int:
    """The number of finite losses that P can have."""
    return law.support[0].size


@dataclass(frozen=True, slots=True)
class _Dotted:
    """One part on its lattice."""

    source: Source
    lattice: Lattice
    points: Dots

    def masses(self, upper: bool) -> tuple[LossMasses, float]:
        """The law above; or the one below, before its losses are lowered by what is given beside it."""
        if self.source.exact is not None and fits(self.source.exact, self.lattice):
            return placed(self.source.exact, self.lattice), 0.0
        if upper:
            return upper_masses(self.points), 0.0
        ends = end_slopes(self.source.pair, self.points)
        below = lower_masses(self.points, infinite_mass_lower(self.source.pair), ends)
        return replace(below, x=below.x + ends.shift), ends.shift


@lru_cache(maxsize=4)
def _dotted(pairs: tuple[Counted, ...], coarser: float) -> tuple[_Dotted, ...]:
    """All parts on lattices of one step, with dots that are twice as far apart from 10 standard deviations on, and so on."""
    sources = sources_of(pairs)
    lattices, ranges, spread = _lattices(sources, coarser)
    found = []
    for source, lattice, (low, high) in zip(sources, lattices, ranges, strict=True):
        place = lattice.places(low, high)
        far = np.abs(lattice.x(place)) / (_DENSE * spread)
        coarse = 2.0 ** np.ceil(np.log2(np.maximum(far, 1.0)))
        coarse[[0, -1]] = 1.0
        found.append(_Dotted(source, lattice, lattice.dotted(source.pair, place[place % coarse == 0.0])))
    return tuple(found)


def _lattice_product(pairs: tuple[Counted, ...], coarser: float, upper: bool) -> FiniteLossPair:
    """The product on the lattice of its parts, or on a coarser one where that has too many points."""
    parts = _dotted(pairs, coarser)
    masses, laws, shift = [], [], 0.0
    for part in parts:
        one, down = part.masses(upper)
        count = part.source.count
        law = lattice_law(one, count, 1.0)
        masses.append((one, count))
        laws.append(law.kept(law.log_mass > -math.inf))
        shift += count * down
    infinite = _any([(one.infinite, count) for one, count in masses], upper)
    behind = _any([(one.behind, count) for one, count in masses], upper)
    if any(law.x.size == 0 for law in laws):
        return _many(np.zeros(1), np.full(1, -math.inf), infinite, behind, attained=not upper)
    ladder = TiltLadder.over(laws, parts[0].lattice.step)
    if ladder.points > _LONGEST:
        # Twice the step is about half the points: the right power of 2 is found at once, or from below.
        too_many = min(ladder.points / _LONGEST, 1e300)
        return _lattice_product(pairs, coarser * 2.0 ** max(math.floor(math.log2(too_many)), 1), upper)
    x, log_p, cut = ladder.masses(upper)
    if upper and cut:
        # What is outside of the points is split in two: P alone, and Q alone.
        infinite, behind = min(infinite + _UNHELD_MASS, 1.0), min(behind + _UNHELD_MASS, 1.0)
    kept = log_p > -math.inf
    if not kept.any():
        kept[0] = True
    product = _many(x[kept], log_p[kept], infinite, behind, attained=not upper)
    return _closer(product, shift) if shift else product


_many = partial(FiniteLossPair.of_masses, looked_up=True)
"""A pair with up to ``_LONGEST`` losses: its profile is looked up, and nothing sums over them."""


def _closer(law: FiniteLossPair, shift: float) -> FiniteLossPair:
    """A pair below one whose losses are lowered for P against Q, and raised for Q against P.

    On each side of 0 the profile is the law's at a level that is further out; a point at 0 with the smaller value and the
    hull of all kinks make one profile of the two.
    """
    held, log_p = law.support
    infinite, behind = law.infinite_mass, law.reversed().infinite_mass
    bare = _many(held, log_p, 0.0, behind, attained=law.attained)
    right, left = held[held > shift] - shift, held[held < -shift] + shift
    if not left.size:  # nothing is known left of 0 but that there is no less than what is infinite
        return _many(np.zeros(1), np.full(1, -math.inf), infinite, behind, attained=law.attained)
    x = np.concatenate([left, [0.0], right])
    log_v = np.concatenate(
        [
            left + bare.reversed().log_profile(shift - left),
            np.minimum(bare.log_profile(np.full(1, shift)), bare.reversed().log_profile(np.full(1, shift))),
            bare.log_profile(right + shift),
        ]
    )
    points, infinite = falling(Dots(x, log_v - 5.0 * MARGIN, x), infinite)
    points = hull(points, infinite)
    log_p = log_masses_lower(points, infinite)
    kept = log_p > -math.inf
    return _many(points.x[kept], log_p[kept], infinite, behind, attained=law.attained) if kept.any() else law


def _lattices(sources: Sequence[Source], coarser: float) -> tuple[list[Lattice], list[tuple[float, float]], float]:
    """Lattices of one step, the losses beyond which neither law of a part has what a float can hold, and the spread of all.

    Dots at a spacing w add at most about w^2/6 to the variance of every copy.
    """
    ranges, variance = [], 0.0
    for source in sources:
        x, log_v, middle = source.ladder.x, source.ladder.log_v, source.ladder.middle
        left, right = source.log_left, log_v[middle:]
        held = [log_above(left, left[0]) if middle else left, log_above(right, right[-1]) if right.size else right]
        seen = np.flatnonzero(np.concatenate(held) > FAINT)
        first, last = (max(seen[0] - 1, 0), min(seen[-1] + 1, x.size - 1)) if seen.size else (0, x.size - 1)
        # Hulls leave out what lies on a line, up to the ends of the ladder. Laws below are better the further left they start.
        low, high = -_held(source.pair.reversed()) - _FURTHER, _held(source.pair)
        ranges.append((max(float(x[first]), low), min(float(x[last]), high)))
        here = moments([lattice_law(upper_masses(source.ladder), source.count, 0.0)], -0.5)
        variance += here.variance
    copies = sum(source.count for source in sources)
    step = math.sqrt(max(6.0 * _INFLATION * variance / copies, 1e-280))
    step = max(step, max(high - low for low, high in ranges) / _MOST_POINTS, 80.0 * math.sqrt(variance) / _MOST_POINTS)
    step *= coarser
    aligned = [source for source in sources if _extent(source) > 4.0 * step]
    if aligned:
        main = max(aligned, key=lambda source: source.count * _extent(source) ** 2)
        number = math.ceil(_extent(main) / step)
        if 0 < main.even <= number:
            number = main.even * math.ceil(number / main.even)
        step = _extent(main) / number
    lattices = []
    for source, (low, high) in zip(sources, ranges, strict=True):
        inside = [anchor for anchor in source.anchors if low - step <= anchor <= high + step]
        lattices.append(Lattice(inside[0] if inside else 0.0, step, source.anchors))
    return lattices, ranges, math.sqrt(variance)


def _held(pair: DominatingPair) -> float:
    """The loss from which on a profile is what it is at infinity, to what a float holds."""
    x = np.append(0.0, LADDER)
    log_v = excess(pair, x)
    x, log_v = x[~np.isnan(log_v)], log_v[~np.isnan(log_v)]
    seen = np.flatnonzero(log_above(log_v, log_v[-1]) > FAINT)
    return float(x[min(int(seen[-1]) + 1, x.size - 1)] if seen.size else x[1])


def _extent(source: Source) -> float:
    return source.anchors[-1] - source.anchors[0] if len(source.anchors) > 1 else 0.0


def _any(masses: Sequence[tuple[float, int]], upper: bool) -> float:
    """The probability that any of these happens, rounded outward."""
    if any(mass >= 1.0 for mass, _ in masses):
        return 1.0
    value = -math.expm1(math.fsum(count * math.log1p(-mass) for mass, count in masses))
    return min(value * (1.0 + 8.0 * ULP if upper else 1.0 - 8.0 * ULP), 1.0)
