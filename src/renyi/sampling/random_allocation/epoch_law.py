"""The law of the privacy loss of one epoch, from above or from below, for any pair with a profile.

Without the record (Q) an epoch of t steps has t independent likelihood ratios W_i of mean 1, and with it P/Q is their mean S.
Removing a record compares E(S - y)_+, adding one E(1 - yS)_+: means of convex functions of S. If W' is above W in convex
order, so is the mean S' of t copies above S (the order is kept by sums of independent variables and by scaling: Shaked &
Shanthikumar 2007, Theorem 3.A.12), so that its profiles lie above too. Connecting the dots of a profile (``laws.dots``) on an
arithmetic lattice of ratios gives such a W', and lowering them gives one below; the sum of many lattice variables is a
transform (``numerics.lattices.many_copies``). The error is of second order in the step of the lattice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from renyi.errors import ConvergenceError
from renyi.laws.dots.dots import LossMasses, dots, end_slopes, excess, lower_masses, upper_masses
from renyi.laws.pair import DominatingPair, FiniteLossPair
from renyi.numerics.lattices.many_copies import Level, ManyCopies, PartialSum
from renyi.numerics.work import remembered, spend

Array = NDArray[np.float64]
Places = NDArray[np.int64]

MOST_OUTCOMES = 20_000
"""Different sums of finitely many ratios that are listed exactly."""

_LISTED_WORK = 1e8
"""What listing the outcomes of an epoch may take, in computed numbers: sums of up to MOST_OUTCOMES of them take 8e7."""

_POINTS_PER_SPREAD = 400.0
"""Points of the lattice in a standard deviation of the body's ratios: the variance grows by 1e-6 of itself."""

_BODY = 0.75
"""The cut between body and jumps, in standard deviations of the body's sum: tilts for up to eight of them stay moderate."""

_NO_JUMPS = 1.3
"""Ratios that reach less far than this, in the same unit, are all body: tilts grow by e^12 over them at most."""

_LONGEST_SUM = 1_000_000
"""Points of the sum without jumps: the lattice is coarser for very many steps, and the law a little further from the truth."""

_LONGEST_BODY = 16_000
"""Points of the body, where it is not the number of steps that makes it longer; a level of jumps has six times as many."""

_MOST_PLACES = 300_000
"""Points of the body at most: noise that is a thousand times larger than one record moves it by is left to other bounds."""

_SPANS = (0.0, 5.0, 9.0)
"""Distances from 1 that tilts are chosen for, in standard deviations of S: to the right removing, to the left adding."""

_LOG_FAINT = -110.0
"""Log of the probability, with the record, of ratios beyond the last level: they count as infinite."""

_MOST_RATIOS = 12_000
"""Ratios of one level: the largest is four times the smallest, so that neighbours differ by a few thousandths of a percent."""

_MOST_JUMPED = 30_000
"""Points of the sums with jumps of one level that are kept."""

_STRIDES = (1, 1, 2, 32)
"""Steps of the lattice between the points of a level: each is four times as far out as the one before, and has fewer points,
because less and less depends on it. From the fourth on all have the same number of points."""

_BEYOND_WINDOWS = 1e-23
"""A bound on the probability of sums outside of the windows of all transforms, which is e^-60 for each of at most sixty."""

_ROUNDING = 1e-12
"""By which losses are moved to the safe side: the masses of one step's ratios are known to about this."""

_FARTHEST_PLACE = 2.0**45
"""Of one ratio: places of sums are whole numbers of 64 bits. What lies beyond counts as infinite."""

_MOST_LEVELS = 60
"""Levels of jumps, each four times as far out as the one before."""

_LADDER = np.concatenate([-np.geomspace(60.0, 1e-3, 400), [0.0], np.geomspace(1e-3, 700.0, 500)])
"""Losses at which a first look is taken at a pair."""


def epoch_law(pair: DominatingPair, steps: int, *, adding: bool, upper: bool) -> FiniteLossPair:
    """The pair of an epoch, above or below; ``pair`` is that of one step with the record against one without.

    Raises ``ConvergenceError`` where it takes too much work.
    """
    plan = _Plan.of(pair, steps, upper)
    law = plan.ratios(pair, adding=adding, upper=upper)
    sums = ManyCopies(law.levels, steps, [-span if adding else span for span in _SPANS], upper)
    thin = max(math.isqrt(steps) // 2, 1)
    parts: list[tuple[Array, Array]] = []
    for part in sums.parts():
        # Sums with a jump vary on its scale, so that some ten thousand points are plenty.
        wide = int(part.place[-1] - part.place[0]) // _MOST_JUMPED if parts else 0
        parts.append(_thinned(part, max(thin, wide), upper))
    places, logs = (np.concatenate(rows) for rows in zip(*parts, strict=True))
    spend(8.0 * places.size)
    order = np.argsort(places, kind="stable")
    places, logs = places[order], logs[order]
    first = np.concatenate([[0], np.flatnonzero(np.diff(places)) + 1])
    logs = np.logaddexp.reduceat(logs, first)
    places = places[first]
    zero = math.exp(min(float(logs[0]), 0.0)) if places[0] == 0.0 else 0.0
    if places[0] == 0.0:
        places, logs = places[1:], logs[1:]
    log_s = np.log(places * (plan.step / steps))
    low, high = sums.ends()
    log_left, log_right = sums.log_tails(low, high)
    left = math.exp(log_left) if upper else 0.0
    right = math.exp(min(log_right + math.log(plan.step / steps), 0.0)) if upper else 0.0
    rest = _BEYOND_WINDOWS if upper else 0.0
    if adding:
        infinite = min(zero + left + rest, 1.0)
        losses = -log_s[::-1] - law.shift
        return FiniteLossPair.of_masses(
            losses, logs[::-1], infinite, law.escaped + right, attained=False, looked_up=True
        )
    infinite = min(law.escaped + right + rest, 1.0)
    if left > 0.0:
        logs[0] = np.logaddexp(logs[0], log_left)
    return FiniteLossPair.of_masses(
        log_s - law.shift, logs + log_s, infinite, max(zero, 0.0), attained=False, looked_up=True
    )


def _thinned(part: PartialSum, stride: int, upper: bool) -> tuple[Array, Array]:
    """Places and log-masses of a sum on fewer points: a sum is wider than its terms by the root of their number.

    From above masses between two multiples of the stride are shared by them, from below those of a block go to its mean.
    """
    held = part.log_mass > -math.inf
    place, log_mass = part.place[held], part.log_mass[held]
    if place.size < 2 or int(np.min(np.diff(place))) >= stride:
        return place.astype(np.float64), log_mass
    block = place // stride
    first = np.concatenate([[0], np.flatnonzero(np.diff(block)) + 1])
    peak = np.maximum.reduceat(log_mass, first)
    mass = np.exp(log_mass - np.repeat(peak, np.diff(np.append(first, place.size))))
    total, low = np.add.reduceat(mass, first), block[first].astype(np.float64) * stride
    beyond = np.add.reduceat(mass * (place - block * stride), first) / total  # the mean place in a block
    log_total = np.log(total) + peak
    if not upper:
        return low + beyond, log_total
    with np.errstate(divide="ignore"):
        left, right = log_total + np.log1p(-beyond / stride), log_total + np.log(beyond / stride)
    return np.concatenate([low, low + stride]), np.concatenate([left, right])


@dataclass(frozen=True, slots=True)
class _Ratios:
    """W' on the lattice, in levels; the mass of P at infinite ratios; and by how much all losses are to be lowered."""

    levels: tuple[Level, ...]
    escaped: float
    shift: float


@dataclass(frozen=True, slots=True)
class _Plan:
    """The lattice of ratios: ``step`` times whole places; level j ends at ``ends[j]`` and has ``strides[j]`` steps of it."""

    step: float
    ends: tuple[int, ...]
    strides: tuple[int, ...]

    @classmethod
    def of(cls, pair: DominatingPair, steps: int, upper: bool) -> _Plan:
        """A first look at the law says how far the ratios reach, and how wide their body is."""
        top = min(pair.max_loss, float(_LADDER[-1]))
        x = np.unique(np.clip(_LADDER, max(-pair.reversed().max_loss, _LADDER[0]), max(top, 1e-9)))
        masses = upper_masses(dots(x, excess(pair, x)))
        with np.errstate(over="ignore", under="ignore"):
            ratio, q = np.exp(masses.x), np.exp(masses.log_p - masses.x)
        log_tail = excess(pair, masses.x[masses.x > 0.0])
        faint = log_tail < _LOG_FAINT
        far = masses.x[masses.x > 0.0][np.argmax(faint)] if faint.any() else top
        top_ratio = math.exp(min(far, 690.0)) * (1.0 + 1e-9)
        cut, spread = 2.0, 1.0
        for _ in range(60):
            spread = math.sqrt(max(float(np.sum(q * (np.minimum(ratio, cut) - 1.0) ** 2)), 1e-12))
            wanted = max(_BODY * math.sqrt(steps) * spread, 1.0 + 3.0 * spread)
            if abs(wanted - cut) < 0.01 * cut:
                break
            cut = wanted
        if top_ratio - 1.0 <= _NO_JUMPS * math.sqrt(steps) * spread:
            cut = top_ratio
        # Sums near 0, which all t ratios must be small for, need a step that is small beside them.
        rare = np.cumsum(q) + masses.behind > math.exp(-30.0 / steps)
        smallest = float(ratio[np.argmax(rare)]) if rare.any() else 1.0
        step = max(
            min(spread / _POINTS_PER_SPREAD, smallest / 128.0), min(cut / _LONGEST_BODY, spread / _POINTS_PER_SPREAD)
        )
        step = max(step, 30.0 * spread * math.sqrt(steps) / _LONGEST_SUM)
        top_ratio = min(top_ratio, _FARTHEST_PLACE * step)
        places = 64 * math.ceil(min(cut, top_ratio) / step / 64.0) + 64
        if not places <= _MOST_PLACES:
            raise ConvergenceError("the ratios of one step are too close to 1 for a lattice that starts at 0.")
        ends, strides = [places], [1]
        while ends[-1] * step < top_ratio:
            if len(ends) >= _MOST_LEVELS:
                raise ConvergenceError("the ratios of one step reach too far.")
            strides.append(_STRIDES[len(strides)] if len(strides) < len(_STRIDES) else 4 * strides[-1])
            whole = 64 * strides[-1]
            ends.append(min(4 * ends[-1], whole * math.ceil(top_ratio / step / whole)))
        if not upper:
            # From below all levels have the same step, and ratios beyond what a transform holds are cut.
            last = min(ends[-1], max(places, _LONGEST_SUM // 2))
            ends = [end for end in ends[:3] if end < last] + [last]
            strides = [1] * len(ends)
        return cls(step, tuple(ends), tuple(strides))

    def ratios(self, pair: DominatingPair, *, adding: bool, upper: bool) -> _Ratios:
        """The law of W above or below, by the profile of the direction that is asked for."""
        places = [np.arange(1, self.ends[0] + 1, dtype=np.int64)]
        for j in range(1, len(self.ends)):
            # Ratios of a level need few points, for they vary on its own scale; its sums need the points of the body.
            stride = self.strides[j]
            while (self.ends[j] - self.ends[j - 1]) // stride > _MOST_RATIOS and self.ends[j - 1] % (2 * stride) == 0:
                stride *= 2
            places.append(np.arange(self.ends[j - 1] + stride, self.ends[j] + 1, stride, dtype=np.int64))
            if places[-1][-1] < self.ends[j]:
                places.append(np.array([self.ends[j]], dtype=np.int64))
        place = np.concatenate(places)
        x = np.log(place * self.step)
        if adding:
            place, x = place[::-1], -x[::-1]
        seen = pair.reversed() if adding else pair
        seen = seen.finite.in_table() if seen.finite is not None and seen.finite.support[0].size else seen
        spend(5.0 * place.size)
        points = dots(x, excess(seen, x), place.astype(np.float64))
        shift = 0.0
        if upper:
            masses = upper_masses(points)
        else:
            ends = end_slopes(seen, points)
            masses = lower_masses(points, seen.infinite_mass * (1.0 - seen.mass_error), ends)
            shift = ends.shift
        where, log_q, zero, escaped = _under_q(masses, adding, upper)
        log_q, zero, shift = self._balanced((where, log_q, zero, escaped), shift, adding, upper)
        order = np.argsort(where, kind="stable")
        where, log_q = where[order], log_q[order]
        levels = []
        low = 0
        for j, end in enumerate(self.ends):
            inside = (where > low) & (where <= end) & (log_q > -math.inf)
            at, logs = where[inside], log_q[inside]
            if j == 0:
                at = np.concatenate([[0], at])
                logs = np.concatenate([[math.log(zero) if zero > 0.0 else -math.inf], logs])
                held = logs > -math.inf
                at, logs = at[held], logs[held]
            levels.append(Level(at, logs, self.strides[j]))
            low = end
        return _Ratios(tuple(levels), escaped, shift)

    def _balanced(
        self, law: tuple[Places, Array, float, float], shift: float, adding: bool, upper: bool
    ) -> tuple[Array, float, float]:
        """The same with what rounding has left of the sums mended: t ratios multiply it.

        From above, E(S - y)_+ needs a mass of at least 1 under Q and a mean of at least 1, E(1 - yS)_+ a mean of at most 1.
        From below it is the other way round. Masses are scaled; means are mended by moving all losses to the safe side.
        """
        where, log_q, zero, escaped = law
        q = np.exp(log_q)
        total = math.fsum(q.tolist()) + zero
        if (total < 1.0) == upper and not (adding and not upper and total < 1.0):
            log_q, zero, q = log_q - math.log(total), zero / total, q / total
        mean = math.fsum((q * where).tolist()) * self.step + (0.0 if adding else escaped)
        off = (1.0 - mean if not adding else mean - 1.0) if upper else (mean - 1.0 if not adding else 0.0)
        moved = max(off, 0.0) + _ROUNDING
        return log_q, zero, shift - moved if upper else shift + moved


def _under_q(masses: LossMasses, adding: bool, upper: bool) -> tuple[Places, Array, float, float]:
    """Places, the logs of their masses under Q, the mass of Q at ratio 0, and that of P at infinite ratios."""
    where = np.rint(masses.place).astype(np.int64)
    if adding:
        return where, masses.log_p, masses.infinite, masses.behind
    log_q = masses.log_p - masses.x
    zero = masses.behind
    if not upper:
        # What is missing of Q may have the ratio 0: it adds nothing to E(W - y)_+.
        zero = max(1.0 - float(np.sum(np.exp(log_q))), 0.0) * (1.0 - 1e-9)
    return where, log_q, zero, masses.infinite


@remembered(maxsize=16, numbers=_LISTED_WORK)  # both relations, pairs and curves are made from it
def listed_epoch(base: FiniteLossPair, steps: int) -> FiniteLossPair | None:
    """The epoch of a pair with finitely many ratios, exactly, or None where the sums are too many.

    Outcomes are sums of ratios under Q, by repeated squaring; equal sums are merged.
    """
    kept = base.log_q > -math.inf
    ratio, q = np.exp(base.losses[kept]), np.exp(base.log_q[kept])
    if ratio.size > MOST_OUTCOMES or not np.all(np.isfinite(ratio)):
        return None
    if ratio.size > 2 and steps * (ratio.size - 1.0) > MOST_OUTCOMES:
        return None
    one = _merged(ratio, q)
    total: tuple[Array, Array] | None = one
    for digit in f"{steps:b}"[1:]:
        total = None if total is None else _added(total, total)
        if digit == "1":
            total = None if total is None else _added(total, one)
    if total is None:
        return None
    value, mass = total
    s = value / steps
    escaped = base.infinite_mass
    zero = float(np.sum(mass[s == 0.0]))
    s, mass = s[s > 0.0], mass[s > 0.0]
    with np.errstate(divide="ignore"):
        log_q = np.log(mass)
    held = log_q > -math.inf
    log_s = np.log(s[held])
    return FiniteLossPair.of_masses(log_s, log_q[held] + log_s, escaped, zero, attained=base.attained)


def _added(first: tuple[Array, Array], second: tuple[Array, Array]) -> tuple[Array, Array] | None:
    if first[0].size * second[0].size > 100 * MOST_OUTCOMES:
        return None
    spend(20.0 * first[0].size * second[0].size)
    total = _merged(np.add.outer(first[0], second[0]).ravel(), np.multiply.outer(first[1], second[1]).ravel())
    return total if total[0].size <= MOST_OUTCOMES else None


def _merged(value: Array, mass: Array) -> tuple[Array, Array]:
    """Values in rising order, those that are equal up to rounding merged."""
    order = np.argsort(value, kind="stable")
    value, mass = value[order], mass[order]
    first = np.concatenate([[0], np.flatnonzero(np.diff(value) > 1e-13 * value[1:]) + 1])
    return value[first], np.add.reduceat(mass, first)
