"""What a loss grid composes: pairs with their profiles on a coarse ladder, and their laws above and below."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from renyi.laws.dots.convex_dots import Dots
from renyi.laws.dots.dots import LossMasses, dots, end_slopes, excess, lower_masses
from renyi.laws.dots.lattice import Lattice
from renyi.laws.pair import Counted, DominatingPair, FiniteLossPair
from renyi.numerics.lattices.tilted_fft import LatticeLaw
from renyi.numerics.logspace import log1mexp, log_sum_exp

Array = NDArray[np.float64]

FAR = 1e15
"""Losses beyond are taken for infinite."""

_MOST_STEPS = 4096
"""Equal steps into which losses may divide their range; a finer division of few losses would be an accident of rounding."""

_LESS_DEAR = (100.0, 1.0)
LADDER = np.geomspace(1e-12, FAR, 325)


@dataclass(frozen=True, slots=True)
class Source:
    """One part's pair, with its profile at the points of a coarse ladder."""

    pair: DominatingPair
    count: int
    ladder: Dots
    log_left: Array
    """log of the reversed pair's profile at the ladder's negative points: far out, V has lost its digits to the loss."""
    anchors: tuple[float, ...]
    even: int
    """Into how many equal steps all anchors divide their range; 0 if they do not, or are not all of the law."""
    exact: FiniteLossPair | None = None
    """The law itself where it is finite and even: on a lattice through its losses no dots are needed."""


def sources_of(pairs: Sequence[Counted]) -> list[Source]:
    """Each pair with its ladder; equal objects share theirs."""
    seen: dict[int, Source] = {}
    found = []
    for pair, count in pairs:
        if id(pair) not in seen:
            seen[id(pair)] = _source(pair)
        found.append(replace(seen[id(pair)], count=count))
    return found


def tabled(pair: DominatingPair) -> DominatingPair:
    """A pair for many levels: its losses as a table of cumulated masses, where there are finitely many."""
    return pair if pair.finite is None or not pair.finite.support[0].size else pair.finite.in_table()


def _source(pair: DominatingPair) -> Source:
    law = pair.finite
    pair = law or pair  # evenly spaced losses are put on a lattice without error
    bottom, top = -pair.reversed().max_loss, pair.max_loss
    anchors, even = tuple(end for end in (bottom, top) if abs(end) < FAR), 0
    if len(anchors) > 1 and anchors[0] >= anchors[1]:
        anchors = ()
    exact = None
    if law is not None and law.support[0].size:
        losses = np.unique(law.support[0]).tolist()
        even = _even(losses)
        anchors = tuple(losses) if even else tuple(dict.fromkeys((losses[0], losses[-1])))
        exact = law if even else None
        pair = tabled(law)
    x = np.concatenate([-LADDER[::-1], [0.0], LADDER])
    x = np.unique(np.clip(x, max(bottom, -FAR), min(max(top, 1e-12), FAR)))
    ladder = dots(x, excess(pair, x))
    with np.errstate(all="ignore"):
        log_left = np.minimum(pair.reversed().log_profile(-ladder.x[: ladder.middle]), 0.0)
    return Source(pair, 1, ladder, np.maximum.accumulate(np.nan_to_num(log_left, nan=-math.inf)), anchors, even, exact)


def fits(law: FiniteLossPair, lattice: Lattice) -> bool:
    """Whether all finite losses of a law are places of a lattice, up to rounding."""
    place = (law.support[0] - lattice.offset) / lattice.step
    return bool(np.all(np.abs(place - np.rint(place)) < 1e-9))


def placed(law: FiniteLossPair, lattice: Lattice) -> LossMasses:
    """A law that fits, on its lattice."""
    x, log_p = law.support
    place = np.rint((x - lattice.offset) / lattice.step)
    return LossMasses(x, log_p, place, law.infinite_mass, law.reversed().infinite_mass)


def is_on_one_lattice(counted: Sequence[Counted]) -> bool:
    """Whether all losses of a run are places of one lattice: one pair alone, with evenly spaced losses."""
    finite = [pair.finite for pair, _ in counted]
    if len(finite) != 1 or finite[0] is None:
        return False
    losses = np.unique(finite[0].losses)
    return _even(losses[np.isfinite(losses)].tolist()) > 0


def _even(values: Sequence[float]) -> int:
    """The smallest number of equal steps in which the values divide their range; 0 if no number up to ``_MOST_STEPS`` does."""
    if not 2 <= len(values) <= _MOST_STEPS + 1:
        return 0
    parts = (np.array(values) - values[0]) / (values[-1] - values[0])
    if _are_whole(parts * (fewest := len(values) - 1), fewest).all():
        return fewest
    numbers = np.arange(len(values), _MOST_STEPS + 1)
    for part in parts:  # few numbers pass the first two
        numbers = numbers[_are_whole(part * numbers, numbers)]
    return int(numbers[0]) if numbers.size else 0


def _are_whole(places: Array, number: NDArray[np.int64] | int) -> NDArray[np.bool_]:
    """Which of the places in a division into ``number`` steps are whole, up to rounding."""
    return np.abs(places - np.rint(places)) < 1e-11 * number


def infinite_mass_lower(pair: DominatingPair) -> float:
    """A true mass at infinite loss, from below."""
    if pair.max_loss < FAR:
        return 0.0
    value = float(excess(pair, np.array([FAR]))[0])
    return math.exp(value) * (1.0 - 1e-11) if value > -700.0 else 0.0


def masses_below(pair: DominatingPair, points: Dots, tilt: float) -> LossMasses:
    """A law below a pair, with what the pair has at infinite loss and shows of atoms at its ends.

    Of several ways to see those, which lower all losses by less or more, the one with the largest moment at a tilt is taken.
    """
    infinite = infinite_mass_lower(pair)
    seen = [end_slopes(pair, points)]
    for dear in _LESS_DEAR:
        ends = end_slopes(pair, points, dear)
        if math.exp(ends.rise) > math.exp(seen[-1].rise) + 1e-3:
            seen.append(ends)
    found = [lower_masses(points, infinite, ends) for ends in seen]
    return max(found, key=lambda law: float(log_sum_exp(law.log_p + tilt * law.x)))


def lattice_law(masses: LossMasses, count: int, scale: float) -> LatticeLaw:
    """The finite masses, on a lattice ``scale`` times as fine as their places say."""
    return LatticeLaw(masses.x, masses.log_p, np.rint(masses.place * scale).astype(np.int64), count)


def denominator(place: Array) -> float:
    """The smallest power of two that makes all places whole: the lowest bit that is set in any of them, of 40."""
    bits = int(np.bitwise_or.reduce(np.rint(place * 2.0**40).astype(np.int64)))
    return 2.0**40 / min(bits & -bits, 2**40) if bits else 1.0


def log_above(log_values: Array, log_floor: float) -> Array:
    """log of values minus a floor that is known to about ten digits."""
    if log_floor == -math.inf:
        return log_values
    gap = log_values - log_floor
    return np.where(gap > 1e-10, log_values + log1mexp(np.maximum(gap, 0.0)), -math.inf)
