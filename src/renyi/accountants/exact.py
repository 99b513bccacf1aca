"""The exact accountant: two ends, whatever was composed, by the way that suits it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from renyi.accountants.accountant import Accountant, Answer
from renyi.accountants.contour import (
    Composition,
    composition,
    contour_delta,
    contour_epsilon,
    delta_tilt,
    epsilon_tilt,
    log_chernoff_delta,
    saddle_epsilon,
    tilted_range,
)
from renyi.accountants.finite_sums import MOST_OUTCOMES, FiniteRun, enumerated
from renyi.accountants.loss_grid import grid_delta, grid_epsilon
from renyi.accountants.one_step import one_step_delta, one_step_epsilon
from renyi.accountants.parts import Part, event_parts
from renyi.accountants.rdp import Rdp
from renyi.errors import ConvergenceError
from renyi.events.event import Event
from renyi.privacy.finite_pair import FiniteLossPair
from renyi.privacy.interval import Interval
from renyi.privacy.pair import DominatingPair
from renyi.privacy.relation import Relation

Pairs = Sequence[tuple[DominatingPair, int]]

GAP = 5e-5
"""The relative width that is asked of the loss grid; its upper end is about six times nearer to the truth."""

SETTLED = 1e-9
"""A relative width of the interval below which no other method could improve it."""

HUGE = 1e12
"""An epsilon beyond which delta is bounded by its value there: sums of losses would lose their digits."""

LONG = 20_000
"""Steps from which on a grid would be too large and a blurred contour is short enough."""


@dataclass(frozen=True, slots=True)
class Exact(Accountant):
    """Exact epsilon and delta with a lower and an upper end.

    The privacy loss of the whole run is composed per relation, from the dominating pairs of its parts: in closed form for one
    step and for Gaussians, by exact sums for finitely many losses, by contour integration for long or smooth
    compositions, on a tilted loss grid for the rest. The lower end is 0 where a pair only dominates.
    """

    def answer_epsilon(self, event: Event, delta: float, relations: tuple[Relation, ...]) -> Answer:
        """See ``Accountant``."""
        with np.errstate(all="ignore"):
            answer = _worst(event, relations, lambda parts, tilt, floor: _epsilon(parts, delta, tilt, floor))
        return _narrowed(event, answer, lambda: Rdp().answer_epsilon(event, delta, relations))

    def answer_delta(self, event: Event, epsilon: float, relations: tuple[Relation, ...]) -> Answer:
        """See ``Accountant``."""
        with np.errstate(all="ignore"):
            answer = _worst(event, relations, lambda parts, tilt, _: _delta(parts, epsilon, tilt))
        return _narrowed(event, answer, lambda: Rdp().answer_delta(event, epsilon, relations))


@dataclass(frozen=True, slots=True)
class _Found:
    """An interval, the way it was found, and the tilt where there was one."""

    interval: Interval
    way: str
    tilt: float | None = None


def _worst(
    event: Event, relations: tuple[Relation, ...], ask: Callable[[tuple[Part, ...], float | None, float], _Found]
) -> Answer:
    worst: _Found | None = None
    decided, lower, tilt = relations[0], 0.0, None
    seen: list[tuple[Part, ...]] = []
    for relation in relations:
        parts = event_parts(event, relation)
        if parts in seen:
            continue
        seen.append(parts)
        found = ask(parts, tilt, lower)
        tilt = found.tilt
        lower = max(lower, found.interval.lower)
        if worst is None or found.interval.upper > worst.interval.upper:
            worst, decided = found, relation
    assert worst is not None
    exact = worst.interval.lower > 0.0 or worst.interval.upper == 0.0
    method = f"{'exact composition' if exact else 'composition of dominating pairs'} ({worst.way})"
    return Answer(Interval(min(lower, worst.interval.upper), worst.interval.upper), method, decided)


def settled(ends: Interval) -> bool:
    """Whether the ends are so close that no other method could improve the upper one."""
    return ends.lower == ends.upper or ends.upper - ends.lower <= SETTLED * ends.upper < math.inf


def _narrowed(event: Event, answer: Answer, renyi: Callable[[], Answer]) -> Answer:
    """Where the ends are apart although the pairs are attained, the Renyi accountant's upper end may lie between them."""
    ends = answer.interval
    if settled(ends) or any(part.lower is None for part in event_parts(event, answer.relation)):
        return answer
    other = renyi()
    if other.interval.upper >= ends.upper:
        return answer
    upper = max(other.interval.upper, ends.lower)
    return Answer(Interval(ends.lower, upper), f"{answer.method}, above by {other.method}", answer.relation)


def _epsilon(parts: tuple[Part, ...], delta: float, tilt: float | None, floor: float) -> _Found:
    pairs = [(part.upper, part.count) for part in parts]
    if tilt is not None and _is_below(pairs, delta, floor, tilt):
        return _Found(Interval(0.0, floor), "Chernoff's bound")
    upper = _epsilon_of(pairs, delta, tilt)
    return _with_lower(parts, upper, lambda pairs: _epsilon_of(pairs, delta, upper.tilt))


def _delta(parts: tuple[Part, ...], epsilon: float, tilt: float | None) -> _Found:
    upper = _delta_of([(part.upper, part.count) for part in parts], epsilon, tilt)
    return _with_lower(parts, upper, lambda pairs: _delta_of(pairs, epsilon, upper.tilt))


def _is_below(pairs: Pairs, delta: float, floor: float, tilt: float) -> bool:
    """Whether Chernoff's bound shows at once that epsilon is at most ``floor``, which another relation reaches."""
    escaped = _escaped(pairs)
    if not 0.0 < floor < math.inf or delta <= escaped:
        return False
    run = _composition(pairs, escaped)
    if run is None:
        return False
    try:
        return log_chernoff_delta(run, floor, tilt) <= math.log(delta - escaped) - 1e-6
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


def _epsilon_of(pairs: Pairs, delta: float, tilt: float | None) -> _Found:
    if not pairs:
        return _Found(Interval(0.0, 0.0), "nothing was released")
    if delta == 0.0:
        pure = math.fsum(count * pair.max_loss for pair, count in pairs)
        return _Found(Interval(pure * (1.0 - 1e-15), pure * (1.0 + 1e-15)), "sum of the largest losses")
    if len(pairs) == 1 and pairs[0][1] == 1:
        return _Found(one_step_epsilon(pairs[0][0], delta), "closed form")
    escaped = _escaped(pairs)
    if delta <= escaped:
        return _Found(Interval(math.inf, math.inf), "a loss that is infinite with probability delta or more")
    run = _composition(pairs, escaped)
    finite = _finite_run(
        pairs, lambda: tilted_range(run, epsilon_tilt(run, math.log(delta - escaped))) if run else None
    )
    if finite is not None:
        return _Found(finite.epsilon(delta), "sum over all outcomes")
    blurred: Interval | None = None
    if run is not None:
        for attempt, cutting in _attempts(pairs, run, lambda: _blur_for_delta(run, math.log(delta - escaped))):
            try:
                interval, tilt = contour_epsilon(attempt, delta, tilt, cutting)
                if attempt.blur == 0.0:
                    return _Found(interval, "contour integration", tilt)
                blurred = interval
            except (ConvergenceError, ArithmeticError, ValueError):  # no line there, or its numbers overflow
                continue
    if blurred is not None and blurred.lower > 0.0 and any(pair.finite() is None for pair, _ in pairs):
        return _Found(blurred, "contour integration", tilt)
    grid = grid_epsilon(_as_parts(pairs), delta, GAP)
    return _Found(grid if blurred is None else _both(grid, blurred), "tilted loss grid")


def _delta_of(pairs: Pairs, epsilon: float, tilt: float | None) -> _Found:
    if not pairs:
        return _Found(Interval(0.0, 0.0), "nothing was released")
    escaped = _escaped(pairs)
    pure = math.fsum(count * pair.max_loss for pair, count in pairs)
    if epsilon >= pure * (1.0 + 1e-15):
        return _Found(Interval(escaped * (1.0 - 1e-14), escaped), "sum of the largest losses")
    if len(pairs) == 1 and pairs[0][1] == 1:
        return _Found(one_step_delta(pairs[0][0], epsilon), "closed form")
    if escaped >= 1.0:
        return _Found(Interval(1.0, 1.0), "a loss that is infinite for certain")
    if epsilon > HUGE:
        upper = _delta_of(pairs, HUGE, tilt)
        return _Found(Interval(min(escaped * (1.0 - 1e-14), upper.interval.upper), upper.interval.upper), upper.way)
    run = _composition(pairs, escaped)
    finite = _finite_run(pairs, lambda: tilted_range(run, delta_tilt(run, epsilon)) if run else None)
    if finite is not None:
        return _Found(finite.delta(epsilon), "sum over all outcomes")
    blurred: Interval | None = None
    if run is not None:
        for attempt, cutting in _attempts(pairs, run, lambda: _blur(epsilon, delta_tilt(run, epsilon))):
            try:
                interval, tilt = contour_delta(attempt, epsilon, tilt, cutting)
                if attempt.blur == 0.0:
                    return _Found(interval, "contour integration", tilt)
                blurred = interval
            except (ConvergenceError, ArithmeticError, ValueError):  # no line there, or its numbers overflow
                continue
    if blurred is not None and blurred.lower > 0.0 and any(pair.finite() is None for pair, _ in pairs):
        return _Found(blurred, "contour integration", tilt)
    grid = grid_delta(_as_parts(pairs), epsilon, GAP)
    return _Found(grid if blurred is None else _both(grid, blurred), "tilted loss grid")


def _escaped(pairs: Pairs) -> float:
    """The probability of an infinite loss, rounded up."""
    masses = [(pair.infinite_mass, count) for pair, count in pairs]
    if any(mass >= 1.0 for mass, _ in masses):
        return 1.0
    return 0.0 - math.expm1(math.fsum(count * math.log1p(-mass) for mass, count in masses)) * (1.0 + 4e-16)


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
        yield run.blurred(blur()), False


def _blur_for_delta(run: Composition, log_delta: float) -> float:
    tilt = epsilon_tilt(run, log_delta)
    return _blur(max(saddle_epsilon(run, tilt, log_delta), 1e-6), tilt)


def _blur(epsilon: float, tilt: float) -> float:
    """A blur v moves epsilon by about v (1 + tilt)/2: half a unit of the fifth digit."""
    return 1e-5 * max(epsilon, 1e-6) / (1.0 + tilt)


def _both(first: Interval, second: Interval) -> Interval:
    """What two valid intervals have in common; rounding may leave them apart by a digit."""
    lower, upper = max(first.lower, second.lower), min(first.upper, second.upper)
    return Interval(min(lower, upper), upper)


def _as_parts(pairs: Pairs) -> tuple[Part, ...]:
    """For the grid, which has finitely many losses without error where they are evenly spaced."""
    simple = [(pair.finite() or pair, count) for pair, count in pairs]
    return tuple(Part(pair, pair if pair.attained else None, count) for pair, count in simple)
