"""The privacy loss distribution, with two ends: dots above and below each profile, composed by a tilted transform.

The composed delta is M(c)^T e^(-c eps) times a sum over the tilted law, for every tilt c; with c at the saddle that sum is of
order one, however small delta is. The grid follows from the wanted accuracy: the gap between the laws above and below is known
before anything is composed (``Lattice.refined``), and points are added until it is small enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from renyi.accountants.accountant import Accountant, Answer
from renyi.accountants.parts import Part, event_parts
from renyi.events.event import Event
from renyi.numerics.logspace import log1mexp, log_expm1
from renyi.numerics.rounding import ULP
from renyi.numerics.tilted_fft import LatticeLaw, Moments, TiltedSum, moments, tail_points, tilted_sum
from renyi.privacy.dots import Dots, Lattice, LossMasses, dots, end_slopes, excess, lower_masses, upper_masses
from renyi.privacy.finite_pair import FiniteLossPair
from renyi.privacy.interval import Interval
from renyi.privacy.pair import DominatingPair
from renyi.privacy.relation import Relation

Array = NDArray[np.float64]

METHOD = "privacy loss distribution (connect the dots)"

_GAP = 5e-5
_LONGEST = 2**20  # points of a composed law
_MOST_POINTS = 150_000  # of a one-step law
_FAR = 1e15  # losses beyond are taken for infinite
_SMALLEST = 1e-6  # epsilon below which the gap is absolute
_MOST_ATOMS = 4000  # of a composed finite pair that is enumerated
_MOST_DOTS = 1500  # of a composed finite pair that is not
_SIZES = (0.5, 2.0, 6.0, 15.0, 35.0)  # tilts at which that pair is to be good, in reciprocal standard deviations
_STEEPEST = 1e9  # of the largest loss times a tilt, whose rounding is relative to delta
_FAINT = -740.0  # log of a mass that a float can just hold
_LADDER = np.geomspace(1e-12, _FAR, 325)


@dataclass(frozen=True, slots=True)
class LossGrid(Accountant):
    """The privacy loss distribution on a lattice, rigorous at both ends.

    Koskela, Jalko & Honkela (2020), arXiv:1906.03049v3, for the transform; Doroshenko et al. (2022), arXiv:2207.04380v1, for
    connecting the dots.
    """

    def answer_epsilon(self, event: Event, delta: float, relations: tuple[Relation, ...]) -> Answer:
        """See ``Accountant``."""
        return _worst(event, relations, lambda parts: grid_epsilon(parts, delta, _GAP))

    def answer_delta(self, event: Event, epsilon: float, relations: tuple[Relation, ...]) -> Answer:
        """See ``Accountant``."""
        return _worst(event, relations, lambda parts: grid_delta(parts, epsilon, _GAP))


def grid_epsilon(parts: Sequence[Part], delta: float, gap: float) -> Interval:
    """Epsilon at ``delta``; the ends differ by ``gap`` of it, where a million points allow."""
    parts = _telling(parts)
    if not parts or delta >= 1.0:
        return Interval(0.0, 0.0)
    if delta <= 0.0:
        return _pure(parts)
    if sum(part.count * math.exp(excess(part.upper, np.zeros(1))[0]) for part in parts) * (1.0 + 1e-11) <= delta:
        return Interval(0.0, 0.0)  # total variations add
    return _two_ends(parts, _Question(log_delta=math.log(delta)), gap)


def grid_delta(parts: Sequence[Part], epsilon: float, gap: float) -> Interval:
    """Delta at ``epsilon``; the ends differ by ``gap`` of it, where a million points allow."""
    parts = _telling(parts)
    if not parts:
        return Interval(0.0, 0.0)
    if epsilon >= sum(part.count * part.upper.max_loss for part in parts) * (1.0 + 8.0 * ULP):
        return Interval(0.0, 0.0)
    return _two_ends(parts, _Question(epsilon=epsilon), gap)


def grid_pair(parts: Sequence[Part], upper: bool) -> FiniteLossPair:
    """The composed law as a finite pair, for small counts: above the truth, or below it.

    Where all parts have few outcomes their products are enumerated; else each product of two laws is put on dots again,
    which keeps its relative accuracy at all levels.
    """
    pairs = [(part.upper if upper else part.lower, part.count) for part in parts if part.count > 0]
    laws = [(_enumerated(pair) if isinstance(pair, FiniteLossPair) else None, count) for pair, count in pairs]
    product: _SortedPair | None = _SortedPair(np.zeros(1), np.zeros(1), 0.0, 0.0)
    for law, count in laws:
        product = _power(product, law, count, lambda found: found if found.x.size <= _MOST_ATOMS else None)
    if product is None:
        product = _SortedPair(np.zeros(1), np.zeros(1), 0.0, 0.0)
        for pair, count in pairs:
            assert pair is not None
            one = _redotted(pair, upper)
            product = _power(product, one, count, lambda found: _redotted(found, upper))
    assert product is not None
    return product.finite(attained=not upper)


def _power(
    start: _SortedPair | None,
    law: _SortedPair | None,
    count: int,
    kept: Callable[[_SortedPair], _SortedPair | None],
) -> _SortedPair | None:
    """``start`` times the ``count``-th power of ``law``, each product made small by ``kept``; None where that fails."""
    while start is not None and law is not None and count:
        if count % 2:
            start = kept(start.times(law)) if start.x.size > 1 or start.infinite or start.behind else law
        count //= 2
        if count:
            law = kept(law.times(law))
    return start if law is not None or not count else None


def _redotted(pair: DominatingPair, upper: bool) -> _SortedPair:
    """A law of about a thousand points above or below a pair, as good for tails of both directions as for the middle."""
    source = _source(pair)
    ladder = source.ladder
    # Beyond these losses neither law has what a float can hold.
    seen = np.flatnonzero(ladder.log_v - np.minimum(ladder.x, 0.0) > _FAINT)
    if not seen.size:
        return _SortedPair(np.zeros(1), np.zeros(1), 0.0, 0.0)
    low, high = float(ladder.x[max(seen[0] - 1, 0)]), float(ladder.x[min(seen[-1] + 1, ladder.x.size - 1)])
    spread = math.sqrt(max(moments([_law(upper_masses(ladder), 1, 0.0)], 1e-9).variance, 1e-24))
    inside = [anchor for anchor in source.anchors if low <= anchor <= high]
    lattice = Lattice(inside[0] if inside else 0.0, (high - low) / 64.0, source.anchors)
    points = lattice.sampled(pair, low, high)
    for size in _SIZES:
        for tilt in (size / spread, -1.0 - size / spread):
            most = points.x.size + _MOST_DOTS // len(_SIZES) // 2
            points, _ = lattice.refined(pair, points, tilt=tilt, count=1, target=1e-5 * size, finest=0.0, most=most)
    masses = upper_masses(points) if upper else lower_masses(points, _infinite(pair))
    infinite, behind = masses.infinite, masses.behind
    if upper:
        # What underflowed is there all the same.
        infinite = max(infinite, 5e-324 if pair.max_loss > points.x[-1] else 0.0)
        behind = max(behind, 5e-324 if -pair.reversed().max_loss < points.x[0] else 0.0)
    kept = masses.log_p > -math.inf
    return _SortedPair(masses.x[kept], masses.log_p[kept], infinite, behind)


@dataclass(frozen=True, eq=False)
class _SortedPair(DominatingPair):
    """Masses of P at rising losses, ``infinite`` of P where Q has nothing, ``behind`` of Q where P has nothing."""

    x: Array
    log_p: Array
    infinite: float
    behind: float

    @property
    def attained(self) -> bool:
        return True

    @property
    def max_loss(self) -> float:
        return math.inf if self.infinite > 0.0 else float(self.x[-1])

    def reversed(self) -> _SortedPair:
        return self._mirror

    @cached_property
    def _mirror(self) -> _SortedPair:
        return _SortedPair(-self.x[::-1], (self.log_p - self.x)[::-1], self.behind, self.infinite)

    @cached_property
    def _tails(self) -> tuple[Array, Array]:
        """log of Q's mass from each loss on, and of D there.

        From the right, D grows by the Q-mass behind times the step in y: sums of positive terms.
        """
        tail = np.logaddexp.accumulate((self.log_p - self.x)[::-1])[::-1]
        grown = tail[1:] + self.x[:-1] + log_expm1(np.diff(self.x))
        start = math.log(self.infinite) if self.infinite > 0.0 else -math.inf
        return tail, np.logaddexp.accumulate(np.concatenate([[start], grown[::-1]]))[::-1]

    def log_profile(self, epsilon: Array) -> Array:
        tail, value = self._tails
        place = np.searchsorted(self.x, epsilon, side="right")
        at = np.minimum(place, self.x.size - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = np.logaddexp(value[at], tail[at] + epsilon + log_expm1(np.maximum(self.x[at] - epsilon, 0.0)))
        return np.where(place < self.x.size, inside, value[-1])

    def times(self, other: _SortedPair) -> _SortedPair:
        """The product: losses add, equal ones merge."""
        x = np.add.outer(self.x, other.x).ravel()
        log_p = np.add.outer(self.log_p, other.log_p).ravel()
        order = np.argsort(x, kind="stable")
        x, log_p = x[order], log_p[order]
        apart = np.diff(x) > 1e-14 * (np.abs(x[1:]) + np.max(np.abs(x)) * 0.1)
        first = np.concatenate([[0], np.flatnonzero(apart) + 1])
        return _SortedPair(
            x[first],
            np.logaddexp.reduceat(log_p, first),
            self.infinite + other.infinite - self.infinite * other.infinite,
            self.behind + other.behind - self.behind * other.behind,
        )

    def finite(self, *, attained: bool) -> FiniteLossPair:
        """The same as a pair on finitely many outcomes."""
        losses, log_p, log_q = self.x.tolist(), self.log_p.tolist(), (self.log_p - self.x).tolist()
        if self.infinite > 0.0:
            losses, log_p, log_q = [*losses, math.inf], [*log_p, math.log(self.infinite)], [*log_q, -math.inf]
        if self.behind > 0.0:
            losses, log_p, log_q = [*losses, -math.inf], [*log_p, -math.inf], [*log_q, math.log(self.behind)]
        return FiniteLossPair(tuple(losses), tuple(log_p), tuple(log_q), attained)


def _enumerated(pair: FiniteLossPair) -> _SortedPair | None:
    """A finite pair as it is; None if it has too many outcomes."""
    rows = list(zip(pair.losses, pair.log_p, pair.log_q, strict=True))
    finite = [(loss, p) for loss, p, _ in rows if math.isfinite(loss) and p > -math.inf]
    if not finite or len(finite) > _MOST_ATOMS:
        return None
    x, log_p = np.array(finite).T
    return _SortedPair(
        x,
        log_p,
        math.fsum(math.exp(p) for loss, p, _ in rows if loss == math.inf),
        math.fsum(math.exp(q) for loss, _, q in rows if loss == -math.inf),
    )


@dataclass(frozen=True, slots=True)
class _Question:
    """What is asked: epsilon at a delta in (0, 1), or delta at an epsilon."""

    log_delta: float = math.nan
    epsilon: float = math.nan

    @property
    def for_epsilon(self) -> bool:
        return math.isnan(self.epsilon)


@dataclass(frozen=True, slots=True)
class _Saddle:
    """The tilt, where it looks at, and about what delta is there."""

    tilt: float
    epsilon: float
    log_delta: float
    here: Moments


@dataclass(frozen=True, slots=True)
class _Source:
    """One part's pair, with its profile at the points of a coarse ladder."""

    pair: DominatingPair
    count: int
    ladder: Dots
    anchors: tuple[float, ...]
    even: int
    """Into how many equal steps all anchors divide their range; 0 if they do not, or are not all of the law."""
    exact: _SortedPair | None = None
    """The law itself where it is finite and even: on a lattice through its losses no dots are needed."""


# ---------------------------------------------------------------- ends


def _two_ends(parts: Sequence[Part], question: _Question, gap: float) -> Interval:
    same = all(part.lower == part.upper for part in parts)
    known = all(part.lower is not None for part in parts)
    lower, upper = _ends(_sources([(part.upper, part.count) for part in parts]), question, gap, True, same)
    if known and not same:
        below = [(part.lower, part.count) for part in parts if part.lower is not None]
        lower, _ = _ends(_sources(below), question, gap, False, True)
    return Interval(min(lower, upper), upper)


def _ends(
    sources: Sequence[_Source], question: _Question, gap: float, wants_upper: bool, wants_lower: bool
) -> tuple[float, float]:
    """The best valid ends: the lattice is refined until they are close enough, or it is as long as it may be."""
    lower, upper = 0.0, math.inf if question.for_epsilon else 1.0
    saddle = _saddle(
        [_law(upper_masses(points), source.count, 0.0) for source, points in _cut(sources, question)], question
    )
    budget = 1.0
    for _ in range(4):
        if saddle is None:
            break
        plan = _planned(sources, question, saddle, gap * budget)
        saddle = plan.saddle
        if wants_upper:
            upper = min(upper, plan.answer(question, True))
        if wants_lower:
            lower = max(lower, plan.answer(question, False))
        if not (wants_upper and wants_lower):
            reached = plan.error
            wanted = plan.target
        else:
            reached = upper - lower
            wanted = gap * (max(upper, _SMALLEST) if question.for_epsilon else upper)
        if reached <= max(wanted, 1e-300) or plan.longest or not math.isfinite(reached):
            break
        budget *= min(0.5, max(0.7 * wanted / reached, 1e-2))
    return lower, upper


def _cut(sources: Sequence[_Source], question: _Question) -> Iterator[tuple[_Source, Dots]]:
    """Each ladder without what is negligible next to delta, for a far and faint mode of a law would attract every tilt.

    Where epsilon is given, delta is at least that of any one part.
    """
    log_delta = question.log_delta
    if not question.for_epsilon:
        log_delta = max(float(excess(source.pair, np.array([question.epsilon]))[0]) for source in sources)
    for source in sources:
        points = source.ladder
        enough = (points.x > 0.0) & (
            _above(points.log_v, points.log_v[-1]) + math.log(source.count) <= log_delta - 28.0
        )
        last = int(np.argmax(enough)) if enough.any() else points.x.size - 1
        yield source, points.kept(np.arange(last + 1))


# ---------------------------------------------------------------- plan


@dataclass(frozen=True, slots=True)
class _Plan:
    """Refined dots of every part on lattices of one step, and the saddle of their laws."""

    sources: Sequence[_Source]
    dots: Sequence[Dots]
    lattices: Sequence[Lattice]
    saddle: _Saddle
    error: float
    target: float
    longest: bool

    def laws(self, upper: bool) -> tuple[list[LossMasses], list[LatticeLaw], float]:
        """The masses of each part, their laws, and the step."""
        steps = [
            lattice.step / _denominator(points.place) for lattice, points in zip(self.lattices, self.dots, strict=True)
        ]
        step = min(steps)
        masses, laws = [], []
        for source, points, lattice in zip(self.sources, self.dots, self.lattices, strict=True):
            if source.exact is not None and _fits(source.exact, lattice):
                one = _placed(source.exact, lattice)
            else:
                one = upper_masses(points) if upper else _below(source.pair, points)
            masses.append(one)
            laws.append(_law(one, source.count, lattice.step / step))
        return masses, laws, step

    def answer(self, question: _Question, upper: bool) -> float:
        """One end; the tilt is chosen anew as long as the answer lies elsewhere than the saddle said."""
        masses, laws, step = self.laws(upper)
        saddle, best = self.saddle, (math.inf if upper else 0.0) if question.for_epsilon else float(upper)
        for _ in range(3):
            composed = self._composed(upper, masses, laws, step, saddle)
            if composed is None:
                return best
            found = composed.answer(question)
            best = min(best, found) if upper else max(best, found)
            if not question.for_epsilon or composed.law is None or not math.isfinite(found):
                break
            new = _saddle([law for law in laws if law.x.size], _Question(epsilon=found), saddle.tilt, 0.1)
            if new is None or abs(math.log(new.tilt / saddle.tilt)) < 0.2:
                break
            saddle = replace(new, log_delta=question.log_delta)
        return best

    def _composed(
        self, upper: bool, masses: Sequence[LossMasses], laws: Sequence[LatticeLaw], step: float, saddle: _Saddle
    ) -> _Composed | None:
        """The composed law above or below, or None where nothing is left of it."""
        log_kept = math.fsum(
            source.count * (math.log1p(-one.infinite) if one.infinite < 1.0 else -math.inf)
            for source, one in zip(self.sources, masses, strict=True)
        )
        infinite = -math.expm1(log_kept) * (1.0 + 8.0 * ULP if upper else 1.0 - 8.0 * ULP)
        laws = [law.kept(law.log_mass > -math.inf) for law in laws]
        if any(law.x.size == 0 for law in laws):
            return None if infinite == 0.0 else _Composed(None, step, min(infinite, 1.0), upper, 0.0, 0.0, 0.0, 0.0)
        tilt = min(saddle.tilt, 40.0 / step)
        log_pay = tilt * math.log(tilt / (1.0 + tilt)) - math.log1p(tilt)
        # The payoff at the saddle is of the size of delta undone; a wrapped mass is worth at most the largest payoff.
        here = moments(laws, tilt)
        log_worth = max(saddle.log_delta, -2000.0) - here.log + tilt * saddle.epsilon - log_pay
        log_tail = min(log_worth, 0.0) - 28.0
        low, high = tail_points(laws, tilt, log_tail)
        if (high - low) / step > 2.0 * _LONGEST:
            return None
        length = scipy.fft.next_fast_len(max(int((high - low) / step) + 4, 16), real=True)
        law = tilted_sum(laws, step, tilt, low - step, length)
        support = [sum(one.count * float(one.x[end]) for one in laws) for end in (0, -1)]
        if low <= support[0] and high >= support[1]:
            log_tail = -math.inf  # nothing is wrapped
        slack = 8.0 * ULP * sum(one.count * float(np.max(np.abs(one.x))) for one in laws)
        return _Composed(
            law, step, min(infinite, 1.0), upper, log_tail + log_pay, slack, saddle.epsilon, support[1] + 0.5 * step
        )


def _planned(sources: Sequence[_Source], question: _Question, saddle: _Saddle, gap: float) -> _Plan:
    finest = 0.0
    longest = False
    plan = None
    for _ in range(6):
        tilt = saddle.tilt
        size = gap * max(saddle.epsilon, _SMALLEST) * tilt if question.for_epsilon else gap
        if question.for_epsilon and saddle.epsilon * tilt < 0.1 and saddle.log_delta < question.log_delta - 0.1:
            # Epsilon is about to be 0: only whether delta is that small has to be decided.
            size = max(size, 0.5 * (question.log_delta - saddle.log_delta))
        target = min(0.9 * size, 0.3)
        lattices, grids, error = _refined(sources, saddle, target, finest)
        plan = _Plan(sources, grids, lattices, saddle, error, target, longest)
        masses, laws, step = plan.laws(True)
        laws = [law.kept(law.log_mass > -math.inf) for law in laws]
        found = _saddle(laws, question, tilt, 0.1) if all(law.x.size for law in laws) else None
        if found is None:
            break
        moved = abs(math.log(found.tilt / tilt)) if tilt else 0.0
        lost = sum(source.count * one.infinite for source, one in zip(sources, masses, strict=True))
        cut = lost > 0.0 and math.log(lost) > found.log_delta - 20.0 and found.log_delta < saddle.log_delta - 1.0
        saddle = found
        plan = replace(plan, saddle=saddle)
        low, high = tail_points(laws, min(saddle.tilt, 40.0 / step), -40.0)
        if (high - low) / step > 1.5 * _LONGEST:
            longest = True
            finest = max(step * 1.5, 0.75 * (high - low) / _LONGEST)
        elif moved < 0.3 and not cut:
            break
    assert plan is not None
    return plan


def _refined(
    sources: Sequence[_Source], saddle: _Saddle, target: float, finest: float
) -> tuple[list[Lattice], list[Dots], float]:
    """Each part's dots on its own lattice, all steps binary multiples of one base."""
    share = target / len(sources)
    windows = [_window(source, saddle, share) for source in sources]
    aligned = [i for i, source in enumerate(sources) if len(source.anchors) > 1]
    base = 1.0
    main: tuple[float, ...] = ()
    if aligned:
        chosen = max(aligned, key=lambda i: sources[i].count)
        main = sources[chosen].anchors
        base = (main[-1] - main[0]) / max(sources[chosen].even, 1)
    lattices, grids, total = [], [], 0.0
    for source, (low, high) in zip(sources, windows, strict=True):
        step = base * 2.0 ** math.floor(math.log2((high - low) / 48.0 / base))
        exact = source.exact is not None and base >= finest and main == source.anchors
        if exact:
            step = base
        if step < finest:
            step *= 2.0 ** math.ceil(math.log2(finest / step))
        inside = [anchor for anchor in source.anchors if low - step <= anchor <= high + step]
        lattice = Lattice(inside[0] if inside else 0.0, step, tuple(source.anchors))
        if exact:
            lattices.append(Lattice(source.anchors[0], step))
            grids.append(lattices[-1].sampled(source.pair, source.anchors[0], source.anchors[-1]))
            continue
        points = lattice.sampled(source.pair, low, high)
        points, error = lattice.refined(
            source.pair,
            points,
            tilt=saddle.tilt,
            count=source.count,
            target=share,
            finest=finest,
            most=max(_MOST_POINTS // len(sources), 2000),
        )
        lattices.append(lattice)
        grids.append(points)
        total += error
    return lattices, grids, total


def _window(source: _Source, saddle: _Saddle, share: float) -> tuple[float, float]:
    """What matters of one law at the tilt: outside of it the mass may move up to the first point, or to infinity."""
    x, v, middle = source.ladder.x, source.ladder.log_v, source.ladder.middle
    # A law below starts with V = 0, from where convexity reaches far: so no tilt above 1 may cut the window short.
    log_count, tilt = math.log(source.count), min(saddle.tilt, 1.0)
    # What either law has at infinite loss stays there wherever the window ends.
    right = _above(v[middle:], v[-1]) + log_count <= saddle.log_delta - 28.0
    high = float(x[middle:][np.argmax(right)]) if right.any() else float(x[-1])
    moved = _above(v[:middle] - x[:middle], v[0] - x[0]) + (1.0 + tilt) * x[:middle]
    left = moved + math.log1p(tilt) + log_count <= math.log(1e-3 * share)
    low = float(x[:middle][np.flatnonzero(left)[-1]]) if left.any() else float(x[0])
    high, low = min(high, max(source.pair.max_loss, 1e-12)), max(low, min(-source.pair.reversed().max_loss, -1e-12))
    return low, high


def _above(log_values: Array, log_floor: float) -> Array:
    """log of values minus a floor that is known to about ten digits."""
    if log_floor == -math.inf:
        return log_values
    gap = log_values - log_floor
    return np.where(gap > 1e-10, log_values + log1mexp(np.maximum(gap, 0.0)), -math.inf)


# ---------------------------------------------------------------- sources


def _telling(parts: Sequence[Part]) -> list[Part]:
    """Parts that reveal anything at all: two laws are equal where the profile is 0 at 0."""
    zero = np.zeros(1)
    return [part for part in parts if part.count > 0 and excess(part.upper, zero)[0] > -math.inf]


def _sources(pairs: Sequence[tuple[DominatingPair, int]]) -> list[_Source]:
    seen: dict[int, _Source] = {}
    found = []
    for pair, count in pairs:
        if id(pair) not in seen:
            seen[id(pair)] = _source(pair)
        found.append(replace(seen[id(pair)], count=count))
    return found


def _source(pair: DominatingPair) -> _Source:
    x = np.concatenate([-_LADDER[::-1], [0.0], _LADDER])
    bottom, top = -pair.reversed().max_loss, pair.max_loss
    x = np.unique(np.clip(x, max(bottom, -_FAR), min(max(top, 1e-12), _FAR)))
    if isinstance(pair, FiniteLossPair):
        losses = sorted({loss for loss in pair.losses if math.isfinite(loss)})
        anchors, even = tuple(losses), _even(losses)
        if not even:
            anchors = (anchors[0], anchors[-1])
    else:
        anchors, even = tuple(end for end in (bottom, top) if abs(end) < _FAR), 0
        if len(anchors) > 1 and anchors[0] >= anchors[1]:
            anchors = ()
    exact = _enumerated(pair) if even and isinstance(pair, FiniteLossPair) else None
    return _Source(pair, 1, dots(x, excess(pair, x)), anchors, even, exact)


def _fits(law: _SortedPair, lattice: Lattice) -> bool:
    """Whether all losses of a law are places of a lattice, up to rounding."""
    place = (law.x - lattice.offset) / lattice.step
    return bool(np.all(np.abs(place - np.rint(place)) < 1e-9))


def _placed(law: _SortedPair, lattice: Lattice) -> LossMasses:
    return LossMasses(law.x, law.log_p, np.rint((law.x - lattice.offset) / lattice.step), law.infinite, law.behind)


def _even(values: Sequence[float]) -> int:
    """The smallest number of equal steps in which the values divide their range; 0 if none up to 4096 does."""
    if len(values) < 2:
        return 0
    parts = (np.array(values) - values[0]) / (values[-1] - values[0])
    for number in range(len(values) - 1, 4097):
        places = parts * number
        if np.all(np.abs(places - np.rint(places)) < 1e-11 * number):
            return number
    return 0


def _infinite(pair: DominatingPair) -> float:
    """A true mass at infinite loss, from below."""
    if pair.max_loss < _FAR:
        return 0.0
    value = float(excess(pair, np.array([_FAR]))[0])
    return math.exp(value) * (1.0 - 1e-11) if value > -700.0 else 0.0


def _below(pair: DominatingPair, points: Dots) -> LossMasses:
    return lower_masses(points, _infinite(pair), end_slopes(pair, points))


def _law(masses: LossMasses, count: int, scale: float) -> LatticeLaw:
    return LatticeLaw(masses.x, masses.log_p, np.rint(masses.place * scale).astype(np.int64), count)


def _denominator(place: Array) -> float:
    """The smallest power of two that makes all places whole: the lowest bit that is set in any of them, of 40."""
    bits = int(np.bitwise_or.reduce(np.rint(place * 2.0**40).astype(np.int64)))
    return 2.0**40 / min(bits & -bits, 2**40) if bits else 1.0


# ---------------------------------------------------------------- saddle


def _saddle(laws: Sequence[LatticeLaw], question: _Question, start: float = 1.0, step: float = 2.0) -> _Saddle | None:
    """The minimum over c of K(c) - eps c - log c - log(1 + c); None where every law is infinite loss alone.

    With eps = K'(c) - 1/c - 1/(1 + c) it is a curve in c along which delta falls, so either question finds its c by bisection.
    """
    if any(not np.any(law.log_mass > -math.inf) for law in laws):
        return None

    def at(log_c: float) -> _Saddle:
        c = math.exp(log_c)
        here = moments(laws, c)
        epsilon = here.mean - 1.0 / c - 1.0 / (1.0 + c)
        curvature = here.variance + c**-2.0 + (1.0 + c) ** -2.0
        log_delta = here.log - c * epsilon - log_c - math.log1p(c) - 0.5 * math.log(2.0 * math.pi * curvature)
        return _Saddle(c, epsilon, log_delta, here)

    def miss(point: _Saddle) -> float:
        """Positive where a larger c is needed."""
        if question.for_epsilon:
            return max(point.log_delta - question.log_delta, -point.epsilon)
        return question.epsilon - point.epsilon

    reach = sum(law.count * float(np.max(np.abs(law.x[law.log_mass > _FAINT]), initial=1e-300)) for law in laws)
    most = math.log(_STEEPEST / reach)
    low = high = min(math.log(start), most)
    found = at(high)
    first = miss(found)
    while high > -80.0 and (high < most or first <= 0.0):
        low, high = high, min(high + math.copysign(step, first), most)
        found = at(high)
        step *= 2.0
        if (miss(found) > 0.0) != (first > 0.0):
            break
    else:
        return _settled(found, question)
    if low > high:
        low, high = high, low
    while high - low > 3e-3:
        middle = 0.5 * (low + high)
        found = at(middle)
        if miss(found) > 0.0:
            low = middle
        else:
            high = middle
    return _settled(found, question)


def _settled(found: _Saddle, question: _Question) -> _Saddle:
    if question.for_epsilon:
        return replace(found, epsilon=max(found.epsilon, 0.0), log_delta=min(found.log_delta, question.log_delta))
    return replace(found, epsilon=question.epsilon)


# ---------------------------------------------------------------- answers


@dataclass(frozen=True, slots=True)
class _Composed:
    """A composed law with all its errors, ready to be asked."""

    law: TiltedSum | None
    step: float
    infinite: float
    upper: bool
    log_wrapped: float
    slack: float
    focus: float
    top: float
    """Beyond it the law has no mass but noise."""

    def answer(self, question: _Question) -> float:
        return self._epsilon(question.log_delta) if question.for_epsilon else self._delta(question.epsilon)

    def _profile(self) -> tuple[Array, Array, Array, float, float]:
        """Points x, D and minus its slope in y there, scaled; the logarithms of what one unit of D, and a wrapped mass, are.

        From the right, D grows by the Q-mass behind times the step in y: sums of positive terms.
        """
        law = self.law
        assert law is not None
        c, ref = law.tilt, self.focus
        near = (law.x - ref >= -max(30.0 / (1.0 + c), 3.0 * self.step)) & (law.x - ref <= 600.0)
        noise = law.noise if self.upper else -law.noise
        mass = np.where(law.x <= self.top, np.maximum(law.mass + noise, 0.0), 0.0)
        beyond = law.x - ref > 600.0
        rest = float(np.sum(mass[beyond] * np.exp(-c * (law.x[beyond] - ref)))) if beyond.any() else 0.0
        first = int(np.argmax(near)) if near.any() else law.x.size
        last = first + int(np.count_nonzero(near))
        x = law.x[first:last]
        gap = x - ref
        with np.errstate(under="ignore"):
            q = mass[first:last] * np.exp(-(1.0 + c) * gap)
            behind = np.cumsum(q[::-1])[::-1]  # Q-mass at and right of each point
            rise = behind[1:] * np.exp(gap[:-1]) * math.expm1(self.step)
        value = np.empty(x.shape)
        if x.size:
            value[-1] = rest
            value[:-1] = rest + np.cumsum(rise[::-1])[::-1]
        relative = law.relative if self.upper else -law.relative
        return x, value, behind, law.log_moment - c * ref + relative, self.log_wrapped

    def _epsilon(self, log_delta: float) -> float:
        """Where the profile crosses delta, outward."""
        spent = _less(log_delta, self.infinite)
        if spent == -math.inf:
            return math.inf if self.upper else (math.inf if self.infinite > 0.0 else 0.0)
        if self.law is None:
            return 0.0
        x, value, behind, log_unit, log_wrapped = self._profile()
        if not x.size:
            return math.inf if self.upper else 0.0
        target = math.exp(min(spent - log_unit, 700.0))
        found = self._crossing(x, value, behind, target)
        # A wrapped mass is worth e^(log_wrapped - c (eps - focus)); below, allow for a factor e.
        sign = -1.0 if self.upper else 2.0 * math.e
        wrapped = (
            math.exp(min(log_wrapped - self.law.tilt * (found - self.focus), 700.0)) if math.isfinite(found) else 0.0
        )
        moved = self._crossing(x, value, behind, target + sign * wrapped)
        if not self.upper and moved < found - 1.0 / self.law.tilt:
            return 0.0
        if self.upper:
            return max(moved + self.slack, 0.0)
        return max(moved - self.slack, 0.0)

    def _crossing(self, x: Array, value: Array, behind: Array, target: float) -> float:
        if target <= 0.0 and self.upper:
            return math.inf
        index = int(np.searchsorted(-value, -max(target, 0.0)))  # the first point with value <= target
        if index == 0:
            return float(x[0]) if self.upper else -math.inf
        if index >= x.size:
            return math.inf if self.upper else float(x[-1])
        y = math.exp(float(x[index]) - self.focus)
        drop = (target - float(value[index])) / (float(behind[index]) * y) if behind[index] > 0.0 else 0.0
        return max(float(x[index]) + math.log1p(-min(drop, 1.0 - 1e-16)), float(x[index - 1]))

    def _delta(self, epsilon: float) -> float:
        fails = self.infinite
        if self.law is not None:
            x, value, behind, log_unit, log_wrapped = self._profile()
            at = epsilon - self.slack if self.upper else epsilon + self.slack
            index = int(np.searchsorted(x, at, side="right"))
            if x.size and index == 0 and self.upper:
                return 1.0
            worth = 0.0
            if 0 < index < x.size:
                worth = float(value[index]) + float(behind[index]) * math.exp(at - self.focus) * math.expm1(
                    float(x[index]) - at
                )
            wrapped = math.exp(min(log_wrapped - self.law.tilt * (at - self.focus), 700.0))
            worth = worth + wrapped if self.upper else max(worth - 2.0 * wrapped, 0.0)
            if worth > 0.0:
                finite = math.exp(min(log_unit + math.log(worth), 0.0))
                fails += max(finite, 5e-324) if self.upper else finite
        return min(fails * (1.0 + 4.0 * ULP), 1.0) if self.upper else max(fails * (1.0 - 4.0 * ULP), 0.0)


def _less(log_delta: float, infinite: float) -> float:
    """log(delta - infinite), -inf if that is not positive."""
    if infinite == 0.0:
        return log_delta
    rest = 1.0 - infinite * math.exp(min(-log_delta, 700.0))
    return log_delta + math.log(rest) if rest > 0.0 else -math.inf


def _pure(parts: Sequence[Part]) -> Interval:
    """Epsilon at delta 0: the sum of the largest losses, or of losses that are certainly reached."""
    upper = sum(part.count * part.upper.max_loss for part in parts) * (1.0 + 8.0 * ULP)
    lower = sum(part.count * _reached(part.lower) for part in parts) * (1.0 - 8.0 * ULP)
    return Interval(min(lower, upper), upper)


def _reached(pair: DominatingPair | None) -> float:
    if pair is None:
        return 0.0
    if pair.max_loss < math.inf:
        return max(pair.max_loss, 0.0)
    if excess(pair, np.array([1e300]))[0] > -math.inf:
        return math.inf
    reached = _LADDER[excess(pair, _LADDER) > -math.inf]
    return math.inf if reached.size == _LADDER.size else float(np.max(reached, initial=0.0))


def _worst(event: Event, relations: tuple[Relation, ...], answer: Callable[[Sequence[Part]], Interval]) -> Answer:
    best: Answer | None = None
    for relation in relations:
        found = answer(event_parts(event, relation))
        if best is None:
            best = Answer(found, METHOD, relation)
        else:
            decided = relation if found.upper > best.interval.upper else best.relation
            worst = Interval(max(found.lower, best.interval.lower), max(found.upper, best.interval.upper))
            best = Answer(worst, METHOD, decided)
    assert best is not None
    return best
