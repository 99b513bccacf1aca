"""The best of several runs, at a price below that of all of them, for a search that keeps its secrets.

The price (``Tuned``) is that of a random number of runs, K, of which only the best is ever seen. So K is drawn from a stated
law before the first run; every run trains a candidate that is drawn anew; the journals of all runs are removed; nothing that
is printed, logged or warned of on the way gets out; and the caller is given the best run, or nothing, and neither K nor the
others.

*Why an error may end a search.* Count "the search failed" as the outcome of a run that fails, and let it beat every score.
The best of K runs is then a failure whenever any of them fails, and which of those that fail is told of makes no difference,
because runs are alike: the first will do. So an error, too, is the best run's outcome and nothing else, as long as it depends
only on what that run has released. Whenever a search has begun it has spent everything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

from torch import nn

from renyi import check
from renyi.accountants import Guarantee, guarantee
from renyi.errors import InvalidInput
from renyi.events import Event
from renyi.events.nodes import Composed, Tuned
from renyi.ledger import Ledger, Payer
from renyi.signatures import Taught
from renyi.training.feeding.placing import Losses
from renyi.training.hiding.hidden import without_values
from renyi.training.hiding.silence import silence
from renyi.training.parallel.joining import expect_alone
from renyi.training.planning.plan import Plan
from renyi.training.randomness.chance import Chance
from renyi.training.recording import assumptions
from renyi.training.searching.contest import Build, Contest, Score, Winner
from renyi.training.searching.covering import what_exceeds
from renyi.training.searching.number import expect_drawable, number_of_runs

ONE_SEARCH = (
    "one search: this covers the best run of one search, whose candidates were not chosen by looking at the private data, and "
    "nothing else of it; further runs and searches cost extra. No candidate's plan reveals more than the plan that is priced"
)
ALIKE = (
    "runs: functions that build, compute losses and score do the same at every call. They keep nothing from one run to the "
    "next and send nothing elsewhere (files, trackers, other processes), and whether they fail depends only on what their run "
    "released"
)
UNSEEN = (
    "unseen: the time that a search takes, its use of memory and processors, and what a killed process leaves behind (the "
    "journal of the run under way, among temporary files) tell of the number of runs, and are not covered"
)
PUBLIC = "score: the best run is chosen by its model and public data only"
PRIVATE = (
    "score: what a score reveals of private data is part of the event, with noise that its author has drawn: {event!r}"
)
DURING = "in a search, which has ended and counts as spent whole"


@dataclass(frozen=True, slots=True)
class Best:
    """The best run of a search. Its model, its score and which candidate it was may be published together.

    There is no journal: it would state what one run costs, and this one was chosen.
    """

    candidate: Any
    model: nn.Module
    score: float
    _search: Search = field(repr=False)
    _assumed: tuple[str, ...] = field(repr=False)

    def guarantee(self) -> Guarantee:
        """What the whole search costs."""
        answer = self._search.guarantee()
        return replace(answer, assumptions=(*self._assumed, *answer.assumptions))


@dataclass(frozen=True, slots=True)
class Search(metaclass=Taught):
    """The best of K runs, K random and secret: what it costs, before anything is trained::

        search = Search(plan, mean=5)
        print(search.guarantee())
        best = search.run([0.1, 0.3, 1.0], build, data, losses, score=accuracy_on_public_data)

    Every run is one of ``plan``, or of another that reveals no more. K has mean ``mean`` and the law that ``Tuned`` states
    for this ``shape``: 1 is geometric, ``math.inf`` is Poisson, under which K may be 0. ``scoring`` is the event of a score
    that looks at private data; without it the score must be public. ``delta`` is that of the plan unless said.
    """

    plan: Plan
    _: KW_ONLY
    mean: float
    shape: float = 1.0
    scoring: Event | None = None
    delta: float | None = None
    event: Tuned = field(init=False, repr=False)
    """What the search releases, for a ledger, or for a study that declares it beside its runs."""

    def __post_init__(self) -> None:
        if not isinstance(self.plan, Plan):
            raise InvalidInput(f"a search needs the Plan that its runs have; got {self.plan!r}.")
        if self.scoring is not None and not isinstance(self.scoring, Event):
            raise InvalidInput(
                f"scoring must be the event of a score on private data, such as Laplace(20); got {self.scoring!r}. Leave it "
                "out for a score from public data."
            )
        delta = self.plan.delta if self.delta is None else check.delta(delta=self.delta)
        run = self.plan.events() if self.scoring is None else Composed((self.plan.events(), self.scoring))
        event = Tuned(run, self.mean, self.shape)
        expect_drawable(event)
        for name, value in {"delta": delta, "event": event, "mean": event.mean, "shape": event.shape}.items():
            object.__setattr__(self, name, value)

    def guarantee(self) -> Guarantee:
        """What the search costs, whatever comes of it."""
        answer = guarantee(self.event, delta=self.delta, adjacency=self.plan.adjacency)
        score = PUBLIC if self.scoring is None else PRIVATE.format(event=self.scoring)
        of_plan = (text for text in assumptions.of_plan(self.plan) if text != assumptions.ONE_RUN)
        words = (ONE_SEARCH, ALIKE, score, UNSEEN, *of_plan, *answer.assumptions)
        return replace(answer, unit=self.plan.unit, assumptions=words)

    def run(
        self,
        candidates: Iterable[Any],
        build: Build,
        data: Any,
        losses: Losses,
        score: Score,
        *,
        plans: Callable[[Any], Plan] | None = None,
        ledger: Ledger | Payer | None = None,
        **feeding: Any,
    ) -> Best | None:
        """Train as often as the law says, and return the best run; nothing if K is 0.

        ``build(candidate)`` makes a new model and its optimizer, ``losses(model, batch)`` is that of a ``Run``, and
        ``score(model)`` a number, the higher the better, NaN the lowest. A candidate is anything; each run draws one, all
        equally likely. ``plans(candidate)`` is its plan if it is not that of the search. ``ledger``, a ledger or a ``Payer``,
        is charged for the whole search before the first run, or refuses. Other arguments are those of ``Run.batches``.

        Every candidate is built, and the first one's untrained model scored, before anything is charged; mistakes show then.
        From then on the process prints nothing, and an error ends the search without its message.
        """
        if isinstance(candidates, str) or not isinstance(candidates, Iterable):
            raise InvalidInput(f"candidates must be a list of whatever build is to be given; got {candidates!r}.")
        expect_alone("a search")
        known = tuple(candidates)
        contest = Contest(known, self._plans(known, plans), build, losses, score, data, feeding)
        payer = None if ledger is None else Payer.of(ledger)
        if payer is not None:
            payer.expect(unit=self.plan.unit, adjacency=self.plan.adjacency)
        contest.rehearse(scoring=self.scoring is None)
        if payer is not None:
            law = "Poisson" if self.shape == math.inf else f"shape {self.shape:g}"
            why = f"search: best of a number of runs (mean {self.mean:g}, {law}) of plan {self.plan.hash[:16]}"
            payer.spend(self.event, why=why)
        winner, failure = _sealed(contest, self.event)
        if failure is not None:
            raise failure  # from here, where no variable knows how far the search had come
        if winner is None:
            return None
        return Best(known[winner.candidate], winner.model, winner.score, self, winner.assumed)

    def _plans(self, candidates: tuple[Any, ...], plans: Callable[[Any], Plan] | None) -> tuple[Plan, ...]:
        """The plan of every candidate, none of which reveals more than that of the search."""
        if plans is None:
            return (self.plan,) * len(candidates)
        made = tuple(plans(candidate) for candidate in candidates)
        for candidate, plan in zip(candidates, made, strict=True):
            if not isinstance(plan, Plan):
                raise InvalidInput(f"plans(candidate) must return a Plan; got {plan!r} for {candidate!r}.")
            if (reason := what_exceeds(plan, self.plan)) is not None:
                raise InvalidInput(
                    f"the plan of the candidate {candidate!r} is not covered by that of the search, at which every run is "
                    f"priced: {reason}. Give the search a plan that covers all: most steps, highest rate, least noise."
                )
        return made


def _sealed(contest: Contest, event: Tuned) -> tuple[Winner | None, BaseException | None]:
    """The best run or the error that ended the search, and no other trace."""
    chance = Chance()
    try:
        with silence():
            return contest.best(number_of_runs(event, chance), chance), None
    except BaseException as error:  # an interrupt, too, must not leave with what its frames hold
        return None, without_values(error, during=DURING)
