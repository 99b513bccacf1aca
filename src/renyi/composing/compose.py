"""From an event to what is known of the answer: methods are asked in order, for both ends, for the relation that costs most."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from renyi.composing.common.accuracy import FAINTEST_DELTA
from renyi.composing.method import REFUSALS, Found, Method, check_refusal
from renyi.composing.question import DeltaAt, EpsilonAt, Question
from renyi.composing.steps import Steps, any_infinite, event_steps
from renyi.errors import TooLarge
from renyi.events.event import Event
from renyi.laws.relation import Relation
from renyi.numerics.work import allowance, share

WORK = 2e8
"""Numbers that a question may compute: at 70 to 150 million a second, as measured, up to three seconds of them."""

_FIRST_SHARE = 0.75
"""The share of a question's work that a relation other than the last may use; later ones are often ruled out cheaply."""

_METHOD_SHARE = 0.8
"""The share of what is left that one method may use: the last one, by Renyi divergences, finds a bound with the rest."""

_PARTS_SHARE = 0.5
"""The share of a question's work that may be spent on lower ends from parts of the run."""

_LARGEST_EPSILON = 1e12
"""Beyond it delta is bounded by its value there: sums of losses would lose their digits."""


@dataclass(frozen=True, slots=True)
class Decided:
    """What is known of the worst relation, and which one that is.

    ``exhausted`` says that nothing was found because the work that a question is given came to its end.
    """

    found: Found
    relation: Relation
    exhausted: bool = False

    def is_greatest(self, question: Question) -> bool:
        """Whether the answer is known to be as large as any answer can be: an infinite epsilon, or a delta of 1."""
        return self.found.is_settled and self.found.interval.upper >= question.unknown.upper

    def or_worse(self, other: Decided) -> Decided:
        """The one with the larger upper end; the lower end of either holds."""
        worse = other if other.found.interval.upper > self.found.interval.upper else self
        lower = max(self.found.interval.lower, other.found.interval.lower)
        return replace(worse, found=worse.found.with_lower(lower))


def decide(methods: Sequence[Method], event: Event, question: Question, relations: tuple[Relation, ...]) -> Decided:
    """The largest upper end of all relations, and the largest lower end."""
    worst: Decided | None = None
    unlike: list[Steps] = []
    with allowance(WORK), np.errstate(all="ignore"):
        for relation in relations:
            if worst is not None and worst.is_greatest(question):
                break  # no relation can cost more
            with allowance(WORK if relation is relations[-1] else _FIRST_SHARE * WORK):
                try:
                    steps = event_steps(event, relation)
                    if steps in unlike:
                        continue  # noise, for one, has the same law both ways round
                    unlike.append(steps)
                    if worst is not None and _is_ruled_out(methods, steps, question, worst.found):
                        continue
                    found = Decided(_two_ends(methods, steps, question, worst), relation)
                except TooLarge:
                    unknown = Found(question.unknown, "more work than one question is given", answered=False)
                    found = Decided(unknown, relation, exhausted=True)
            worst = found if worst is None else worst.or_worse(found)
    assert worst is not None
    return _claimed(question, _raised_by_parts(methods, unlike, question, worst))


def _is_ruled_out(methods: Sequence[Method], steps: Steps, question: Question, worst: Found) -> bool:
    """Whether some method sees at little cost that this relation does not exceed the worst one so far."""
    for method in methods:
        try:
            if method.rules_out(steps, question, worst.interval.upper, worst.tilt):
                return True
        except REFUSALS as error:
            check_refusal(error)
    return False


def _two_ends(methods: Sequence[Method], steps: Steps, question: Question, worst: Decided | None) -> Found:
    """The upper end of the pairs that dominate, and the lower end of those below them.

    A relation whose upper end is seen to be no larger than that of the worst so far need not be known better: it could only
    raise the lower end, which is close already, or has no law that would.
    """
    enough = -math.inf
    if worst is not None and (steps.below is None or worst.found.is_close):
        enough = worst.found.interval.upper
    found = compose(methods, steps, question, None if worst is None else worst.found.tilt, enough)
    if steps.below is steps:
        return found
    if steps.below is not None and found.interval.upper <= enough:
        return found.with_lower(question.unknown.lower)
    if steps.below is not None:
        return found.with_lower(compose(methods, steps.below, question, found.tilt).interval.lower)
    # Steps without a known lower law can only add to the loss: the infinite mass of the others is still a lower end.
    mass = any_infinite(steps.counted_below).lower
    if isinstance(question, EpsilonAt):
        return found.with_lower(math.inf if question.delta < mass else 0.0)
    return found.with_lower(mass)


def compose(
    methods: Sequence[Method],
    steps: Steps,
    question: Question,
    tilt: float | None = None,
    enough: float = -math.inf,
) -> Found:
    """What the methods know of the product of these steps; raises ``TooLarge`` where they know nothing for want of work.

    No further method is asked once the upper end is ``enough`` or less.
    """
    if isinstance(question, DeltaAt) and _LARGEST_EPSILON < question.epsilon < steps.largest_loss.upper:
        found = compose(methods, steps, DeltaAt(_LARGEST_EPSILON), tilt, enough)
        return found.with_lower(steps.infinite_mass.lower)
    found = Found.bound(question.unknown, tilt)
    exhausted: TooLarge | None = None
    for method in methods:
        try:
            if method.covers(steps, question, found):
                with share(_METHOD_SHARE):
                    found = found.narrowed(method.answer(steps, question, found))
        except REFUSALS as error:
            check_refusal(error)
            exhausted = error if isinstance(error, TooLarge) else exhausted
        if found.is_settled or (found.answered and found.interval.upper <= enough):
            break
    if exhausted is not None and not found.answered:
        raise exhausted
    return found


def _raised_by_parts(methods: Sequence[Method], runs: Sequence[Steps], question: Question, known: Decided) -> Decided:
    """The answer, its lower end raised to that of parts of the run where its ends are far apart although the law is attained.

    Post-processing: the whole run reveals at least as much as any part of it, so a part's lower end holds for the whole.
    """
    if known.exhausted or known.found.is_close:
        return known
    if any(steps.below is None for steps in runs):
        return known
    lower = known.found.interval.lower
    with allowance(_PARTS_SHARE * WORK), np.errstate(all="ignore"), suppress(TooLarge):
        for steps in runs:
            for part in steps.below.parts() if steps.below else ():
                lower = max(lower, compose(methods, part, question).interval.lower)
    return Decided(known.found.with_lower(lower), known.relation)


def _claimed(question: Question, known: Decided) -> Decided:
    """The answer, without a lower end that only a mass below FAINTEST_DELTA gives it.

    Finite laws charge what they leave out as an infinite loss: that is right from above, and no lower end.
    """
    lower = known.found.interval.lower
    if isinstance(question, DeltaAt):
        faint = lower < FAINTEST_DELTA
    else:
        faint = lower == math.inf and 0.0 < question.delta < FAINTEST_DELTA
    return replace(known, found=known.found.with_lower(0.0)) if faint else known
