"""The exact accountant: two ends, whatever was composed, by the way that suits it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np

from renyi.accountants.accountant import Accountant, Answer
from renyi.accountants.rdp import Rdp
from renyi.accountants.total_variation import total_variation
from renyi.composing.closed import one_step_delta, one_step_epsilon
from renyi.composing.common.attempt import attempt
from renyi.composing.common.chernoff_lower import certain_delta
from renyi.composing.common.worst_loss import infinite_mass, largest_loss
from renyi.composing.contour.composition import Composition, composition
from renyi.composing.contour.contour import contour_delta, contour_epsilon, log_rough_delta
from renyi.composing.contour.tilt import (
    chernoff_exponent,
    delta_tilt,
    epsilon_tilt,
    log_chernoff_delta,
    saddle_epsilon,
    tilted_range,
)
from renyi.composing.grid.grid import FAINT, GAP, WORK, gap_for, grid_delta, grid_epsilon
from renyi.composing.grid.plan import SMALLEST
from renyi.composing.scales import scaled_delta, scaled_epsilon
from renyi.composing.steps import Part, event_parts
from renyi.composing.sums import MOST_OUTCOMES, FiniteRun, enumerated
from renyi.errors import ConvergenceError
from renyi.events.event import Event
from renyi.laws.interval import Interval
from renyi.laws.pair import DominatingPair
from renyi.laws.pairs.finite import FiniteLossPair
from renyi.laws.relation import Relation
from renyi.numerics.work import allowance

Pairs = Sequence[tuple[DominatingPair, int]]

_SHARE = 0.75
"""Of the work of a question, what a relation may take before there are others to ask about."""

SETTLED = 1e-11
"""A relative width of the interval below which no other method could improve it."""

SUMS = "sum over all outcomes"
SCALES = "sums on lattices of many scales"
CONTOUR = "contour integration"
CONTOUR_SETTLED = 1e-9
"""The same for a contour, whose bounds on its own errors are what is wide: the upper end is nearer to the truth than that."""

WIDE, LONG_WIDE = 1e-3, 0.03
"""Relative widths of the interval above which sums on lattices of many scales are tried; of long runs they take longer."""

LONG_GAP = 0.01
"""The relative width of epsilon that is asked of them there."""

HUGE = 1e12
"""An epsilon beyond which delta is bounded by its value there: sums of losses would lose their digits."""

NEARLY_NOTHING = 0.01
"""An epsilon below which it is worth to ask whether it is 0."""

FINE_GAP = 1e-9
"""What is then asked of the grid."""

TILTS = np.geomspace(1e-2, 1e7, 46)
"""For Chernoff's bound on what no contour reaches."""

NEAR = 1e-3
"""How near to the total variation, relatively, a grid leaves the question open."""

LONG = 20_000
"""Steps from which on a grid would be too large and a blurred contour is short enough."""


@dataclass(frozen=True, slots=True)
class Exact(Accountant):
    """Exact epsilon and delta with a lower and an upper end.

    The privacy loss of the whole run is composed per relation, from the dominating pairs of its parts: in closed form for one
    step and for Gaussians, by exact sums for finitely many losses, by contour integration for long or smooth
    compositions, on a tilted loss grid for the rest; by positive sums on lattices of many scales where those leave the ends
    far apart. The lower end is 0 where a pair only dominates.
    """

    def answer_epsilon(self, event: Event, delta: float, relations: tuple[Relation, ...]) -> Answer:
        """See ``Accountant``."""
        return _answer_epsilon(event, delta, relations)

    def answer_delta(self, event: Event, epsilon: float, relations: tuple[Relation, ...]) -> Answer:
        """See ``Accountant``."""
        return _answer_delta(event, epsilon, relations)


def _answer_epsilon(event: Event, delta: float, relations: tuple[Relation, ...]) -> Answer:
    answer = _epsilon_at(event, delta, relations)
    if not _vague(event, answer, 1.5):
        return answer
    return _raised(answer, event, relations, lambda pairs: _epsilon_of(pairs, delta, None, GAP))


def _answer_delta(event: Event, epsilon: float, relations: tuple[Relation, ...]) -> Answer:
    answer = _delta_at(event, epsilon, relations)
    if not _vague(event, answer, 100.0):
        return answer
    return _raised(answer, event, relations, lambda pairs: _delta_of(pairs, epsilon, None, GAP))


def _vague(event: Event, answer: Answer, factor: float) -> bool:
    """Whether the ends are far apart although the pairs are attained."""
    ends = answer.interval
    if answer.exhausted or ends.upper <= max(factor * ends.lower, FAINT):
        return False
    return all(part.lower is not None for part in event_parts(event, answer.relation))


def _raised(answer: Answer, event: Event, relations: tuple[Relation, ...], ask: Callable[[Pairs], _Found]) -> Answer:
    """The answer, its lower end raised to that of some of the steps: the whole run reveals at least as much as any part."""
    lower = answer.interval.lower

    def raise_by(relation: Relation) -> None:
        nonlocal lower
        for pairs in _some_steps(event_parts(event, relation)):
            found = attempt(partial(ask, pairs), _Found(Interval(0.0, math.inf), "")).interval.lower
            lower = max(lower, found if found >= FAINT else 0.0)

    with allowance(WORK / 4.0), np.errstate(all="ignore"):
        for relation in relations:
            attempt(partial(raise_by, relation), None)
    return replace(answer, interval=Interval(min(lower, answer.interval.upper), answer.interval.upper))


def _some_steps(parts: tuple[Part, ...]) -> Iterator[Pairs]:
    """What a contour could integrate, each part by itself, and one step of each."""
    if any(part.lower is None for part in parts):
        return
    pairs = [(part.lower, part.count) for part in parts if part.lower is not None]
    known = [(pair, count) for pair, count in pairs if pair.transform() is not None]
    if 1 < len(known) < len(pairs):
        yield known
    if len(pairs) > 1:
        yield from ([one] for one in pairs)
    yield from ([(pair, 1)] for pair, count in pairs if count > 1)


@lru_cache(maxsize=16)
def _epsilon_at(event: Event, delta: float, relations: tuple[Relation, ...]) -> Answer:
    with allowance(WORK):
        answer = _worst(
            event,
            relations,
            lambda parts, tilt, floor: _epsilon(parts, delta, tilt, floor),
            Interval(0.0, math.inf),
        )
    return _narrowed(event, answer, lambda: Rdp().answer_epsilon(event, delta, relations))


@lru_cache(maxsize=16)
def _delta_at(event: Event, epsilon: float, relations: tuple[Relation, ...]) -> Answer:
    with allowance(WORK):
        answer = _worst(
            event, relations, lambda parts, tilt, floor: _delta(parts, epsilon, tilt, floor), Interval(0.0, 1.0)
        )
    if answer.interval.lower < FAINT:
        answer = replace(answer, interval=Interval(0.0, answer.interval.upper))
    return _narrowed(event, answer, lambda: Rdp().answer_delta(event, epsilon, relations))


@dataclass(frozen=True, slots=True)
class _Found:
    """An interval, the way it was found, and the tilt where there was one."""

    interval: Interval
    way: str
    tilt: float | None = None
    exhausted: bool = False


def _worst(
    event: Event,
    relations: tuple[Relation, ...],
    ask: Callable[[tuple[Part, ...], float | None, float], _Found],
    unknown: Interval,
) -> Answer:
    worst: _Found | None = None
    decided, lower, tilt = relations[0], 0.0, None
    seen: list[tuple[Part, ...]] = []
    unanswered = _Found(unknown, "more work than one question is given", exhausted=True)

    def answered(relation: Relation) -> _Found | None:
        """None where the relation's law is that of another one."""
        parts = event_parts(event, relation)
        if parts in seen:
            return None
        seen.append(parts)
        # What another relation's upper end covers need not be known more closely.
        return ask(parts, tilt, worst.interval.upper if worst else 0.0)

    for relation in relations:
        # The first may take more than half: the second is often seen not to matter.
        with allowance(_SHARE * WORK if relation is not relations[-1] else WORK), np.errstate(all="ignore"):
            found = attempt(partial(answered, relation), unanswered)
        if found is None:
            continue
        tilt = found.tilt
        lower = max(lower, found.interval.lower)
        if worst is None or found.interval.upper > worst.interval.upper:
            worst, decided = found, relation
    assert worst is not None
    exact = worst.interval.lower > 0.0 or worst.interval.upper == 0.0
    method = f"{'exact composition' if exact else 'composition of dominating pairs'} ({worst.way})"
    ends = Interval(min(lower, worst.interval.upper), worst.interval.upper)
    return Answer(ends, method, decided, exhausted=worst.exhausted)


def settled(answer: Answer) -> bool:
    """Whether the ends are so close that no other method could improve the upper one."""
    ends, width = answer.interval, CONTOUR_SETTLED if CONTOUR in answer.method else SETTLED
    return ends.lower == ends.upper or ends.upper - ends.lower <= width * ends.upper < math.inf


def _narrowed(event: Event, answer: Answer, renyi: Callable[[], Answer]) -> Answer:
    """Where the ends are apart although the pairs are attained, the Renyi accountant's upper end may lie between them."""
    ends = answer.interval
    if not answer.exhausted and (
        settled(answer) or any(part.lower is None for part in event_parts(event, answer.relation))
    ):
        return answer
    other = attempt(renyi, answer)
    if other.interval.upper >= ends.upper:
        return answer
    upper = max(other.interval.upper, ends.lower)
    return Answer(Interval(ends.lower, upper), f"{answer.method}, above by {other.method}", answer.relation)


def _epsilon(parts: tuple[Part, ...], delta: float, tilt: float | None, floor: float) -> _Found:
    pairs = [(part.upper, part.count) for part in parts]
    if tilt is not None and _is_below(pairs, delta, floor, tilt):
        return _Found(Interval(0.0, floor), "Chernoff's bound")
    gap = gap_for(parts)
    upper = _epsilon_of(pairs, delta, tilt, gap, floor)
    return _with_lower(parts, upper, lambda pairs: _epsilon_of(pairs, delta, upper.tilt, gap))


def _delta(parts: tuple[Part, ...], epsilon: float, tilt: float | None, floor: float) -> _Found:
    gap = gap_for(parts)
    upper = _delta_of([(part.upper, part.count) for part in parts], epsilon, tilt, gap, floor)
    return _with_lower(parts, upper, lambda pairs: _delta_of(pairs, epsilon, upper.tilt, gap))


def _is_below(pairs: Pairs, delta: float, floor: float, tilt: float) -> bool:
    """Whether Chernoff's bound or a short line shows that epsilon is at most ``floor``, which another relation reaches."""
    escaped = infinite_mass(pairs).upper
    if not 0.0 < floor < math.inf or delta <= escaped:
        return False
    run = _composition(pairs, escaped)
    if run is None:
        return False
    try:
        enough = math.log(delta - escaped) - 1e-6
        return log_chernoff_delta(run, floor, tilt) <= enough or log_rough_delta(run, floor, tilt) <= enough
    except (ConvergenceError, ArithmeticError, ValueError):
        return False


def _with_lower(parts: tuple[Part, ...], upper: _Found, ask: Callable[[Pairs], _Found]) -> _Found:
    """The lower end: the upper pairs' own where they are attained, the lower pairs' where those are others, else 0."""
    if all(part.lower is part.upper for part in parts):
        return upper
    lower = 0.0
    if all(part.lower is not None for part in parts):
        pairs = [(part.lower, part.count) for part in parts if part.lower is not None]
        lower = min(ask(pairs).interval.lower, upper.interval.upper)
    return _Found(Interval(lower, upper.interval.upper), upper.way, upper.tilt)


def _epsilon_of(pairs: Pairs, delta: float, tilt: float | None, gap: float, floor: float = 0.0) -> _Found:
    if not pairs:
        return _Found(Interval(0.0, 0.0), "nothing was released")
    if delta == 0.0:
        return _Found(largest_loss(pairs), "sum of the largest losses")
    if delta == 1.0:
        return _Found(Interval(0.0, 0.0), "a delta of 1 promises nothing")
    if len(pairs) == 1 and pairs[0][1] == 1:
        found = _Found(one_step_epsilon(pairs[0][0], delta), "closed form")
        nothing = attempt(lambda: _is_nothing(found, pairs, delta), False)
        return _Found(Interval(0.0, 0.0), found.way) if nothing else found
    mass = infinite_mass(pairs)
    escaped = mass.upper
    if delta <= escaped:
        return _Found(
            Interval(math.inf if delta < mass.lower else 0.0, math.inf),
            "a loss that is infinite with probability delta or more",
        )
    log_delta = math.log(delta - escaped)
    ways = _Ways(
        tilt=lambda run: epsilon_tilt(run, log_delta),
        near=lambda run, tilt: saddle_epsilon(run, tilt, log_delta),
        by_sums=lambda run: run.epsilon(delta),
        by_contour=lambda run, tilt, cutting: contour_epsilon(run, delta, tilt, cutting),
        by_grid=lambda parts: grid_epsilon(parts, delta, gap, floor),
        by_scales=lambda known, long: scaled_epsilon(pairs, delta, known, LONG_GAP if long else GAP, floor),
        floor=floor,
        covered=lambda run: 0.0 < floor < math.inf and _log_least_delta(run, floor) <= log_delta - 1e-6,
        enough=SMALLEST,
    )
    found = _composed(pairs, escaped, ways, tilt)
    if attempt(lambda: _is_nothing(found, pairs, delta), False):
        return _Found(Interval(0.0, 0.0), found.way)
    # No loss exceeds the largest, which is known without rounding where the last digit of a method is not.
    upper = min(found.interval.upper, largest_loss(pairs).upper)
    return _Found(Interval(min(found.interval.lower, upper), upper), found.way, found.tilt)


def _is_nothing(found: _Found, pairs: Pairs, delta: float) -> bool:
    """Whether epsilon, found to be nearly 0, is 0: ``delta`` is not below the total variation."""
    ends = found.interval
    if not 0.0 < ends.upper < NEARLY_NOTHING or (ends.lower > 0.0 and all(pair.attained for pair, _ in pairs)):
        return False
    total = _delta_of(pairs, 0.0, None, FINE_GAP).interval.upper
    if total <= delta or delta < (1.0 - NEAR) * total:
        return total <= delta
    finer = total_variation(pairs, delta)
    return finer is not None and finer.upper <= delta


def _delta_of(pairs: Pairs, epsilon: float, tilt: float | None, gap: float, floor: float = 0.0) -> _Found:
    if not pairs:
        return _Found(Interval(0.0, 0.0), "nothing was released")
    if len(pairs) == 1 and pairs[0][1] == 1:
        return _Found(one_step_delta(pairs[0][0], epsilon), "closed form")
    mass, pure = infinite_mass(pairs), largest_loss(pairs)
    escaped = mass.upper
    if epsilon >= pure.upper:
        return _Found(mass, "sum of the largest losses")
    if escaped >= 1.0:
        return _Found(Interval(mass.lower, 1.0), "a loss that is infinite for certain")
    if epsilon > HUGE:
        huge = _delta_of(pairs, HUGE, tilt, gap)
        return _Found(Interval(min(mass.lower, huge.interval.upper), huge.interval.upper), huge.way)
    certain = certain_delta(pairs, epsilon)
    if certain >= 1.0 - SETTLED:
        return _Found(Interval(certain, 1.0), "Chernoff's bound")
    ways = _Ways(
        tilt=lambda run: delta_tilt(run, epsilon),
        near=lambda *_: epsilon,
        by_sums=lambda run: run.delta(epsilon),
        by_contour=lambda run, tilt, cutting: contour_delta(run, epsilon, tilt, cutting),
        by_grid=lambda parts: grid_delta(parts, epsilon, gap, floor),
        by_scales=lambda known, long: scaled_delta(pairs, epsilon, known, LONG_WIDE if long else WIDE, floor),
        floor=floor,
        covered=lambda run: floor > escaped and _log_least_delta(run, epsilon) <= math.log(floor - escaped) - 1e-6,
    )
    found = _composed(pairs, escaped, ways, tilt)
    lower, upper = found.interval.lower, found.interval.upper
    return _Found(Interval(min(max(lower, certain), upper), upper), found.way, found.tilt)


@dataclass(frozen=True, slots=True)
class _Ways:
    """One question, asked in several ways."""

    tilt: Callable[[Composition], float]
    near: Callable[[Composition, float], float]
    """About where epsilon is, given the tilt."""
    by_sums: Callable[[FiniteRun], Interval]
    by_contour: Callable[[Composition, float | None, bool], tuple[Interval, float]]
    by_grid: Callable[[tuple[Part, ...]], Interval]
    by_scales: Callable[[Interval, bool], Interval]
    """Within an interval that is known already; of a long run less closely."""
    floor: float
    """An upper end that another relation has already."""
    covered: Callable[[Composition], bool]
    """Whether it is seen at once that this one is not larger."""
    enough: float = 0.0
    """A width of the interval below which it need not be known more closely."""

    def blur(self, run: Composition) -> float:
        """A blur v moves epsilon by about v (1 + tilt)/2: half a unit of the fifth digit."""
        tilt = self.tilt(run)
        return 1e-5 * max(self.near(run, tilt), 1e-6) / (1.0 + tilt)


def _log_least_delta(run: Composition, epsilon: float) -> float:
    try:
        return float(np.min(chernoff_exponent(run, epsilon, TILTS)))
    except (ConvergenceError, ArithmeticError, ValueError):
        return math.inf


def _composed(pairs: Pairs, escaped: float, ways: _Ways, tilt: float | None) -> _Found:
    """By the way that suits the run; where its ends are apart although the pairs are attained, by positive sums too."""
    found = _first_found(pairs, escaped, ways, tilt)
    ends = found.interval
    long = sum(count for _, count in pairs) > LONG
    width = ends.upper - ends.lower
    close = width <= ways.enough or width <= (LONG_WIDE if long else WIDE) * ends.upper < math.inf
    if close or found.way == SUMS or ends.upper <= ways.floor or not all(pair.attained for pair, _ in pairs):
        return found
    ends = ways.by_scales(ends, long)
    return _Found(ends, SCALES if ends.upper < found.interval.upper else found.way, found.tilt)


def _first_found(pairs: Pairs, escaped: float, ways: _Ways, tilt: float | None) -> _Found:
    run = _composition(pairs, escaped)
    finite = _finite_run(pairs, lambda: tilted_range(run, ways.tilt(run)) if run else None)
    if finite is not None:
        return _Found(ways.by_sums(finite), SUMS)
    blurred: Interval | None = None
    if run is not None:
        for attempt, cutting in _attempts(pairs, run, lambda: ways.blur(run)):
            try:
                interval, tilt = ways.by_contour(attempt, tilt, cutting)
                if attempt.blur == 0.0:
                    return _Found(interval, CONTOUR, tilt)
                blurred = interval
            except (ConvergenceError, ArithmeticError, ValueError):  # no line there, or its numbers overflow
                continue
        if ways.covered(run):
            return _Found(Interval(0.0, ways.floor), "Chernoff's bound")
    grid = ways.by_grid(_as_parts(pairs))
    if blurred is not None and blurred.upper - blurred.lower < 0.1 * (grid.upper - grid.lower):
        return _Found(_both(blurred, grid), CONTOUR, tilt)
    return _Found(grid if blurred is None else _both(grid, blurred), "tilted loss grid")


def _finite_run(pairs: Pairs, window: Callable[[], tuple[float, float] | None]) -> FiniteRun | None:
    finite: list[tuple[FiniteLossPair, int]] = []
    for pair, count in pairs:
        found = pair.finite()
        if not isinstance(found, FiniteLossPair):
            return None
        finite.append((found, count))
    long = len(finite) == 1 and finite[0][1] >= MOST_OUTCOMES
    return enumerated(finite, window() if long else None)


def _composition(pairs: Pairs, escaped: float) -> Composition | None:
    parts = []
    for pair, count in pairs:
        transform = pair.transform()
        if transform is None:
            return None
        parts.append((transform, count))
    return composition(parts, escaped)


def _attempts(pairs: Pairs, run: Composition, blur: Callable[[], float]) -> Iterator[tuple[Composition, bool]]:
    """The composition as it is; then without its lump; then, for long runs, with a blur (short ones are for the grid)."""
    yield run, False
    yield run, True
    if sum(count for _, count in pairs) > LONG:
        with suppress(ConvergenceError):  # no cumulants, no contour
            yield run.blurred(blur()), False


def _both(first: Interval, second: Interval) -> Interval:
    """What two valid intervals have in common; rounding may leave them apart by a digit."""
    lower, upper = max(first.lower, second.lower), min(first.upper, second.upper)
    return Interval(min(lower, upper), upper)


def _as_parts(pairs: Pairs) -> tuple[Part, ...]:
    """For the grid, which has finitely many losses without error where they are evenly spaced."""
    simple = [(pair.finite() or pair, count) for pair, count in pairs]
    return tuple(Part(pair, pair if pair.attained else None, count) for pair, count in simple)
