"""Several training runs, and other releases, on the same data: what they promise together, and what they have spent."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from renyi import check
from renyi.accountants import Guarantee, guarantee
from renyi.errors import InvalidInput, UnsupportedError
from renyi.events import Event
from renyi.events.nodes import Composed
from renyi.laws.interval import Interval
from renyi.laws.relation import Adjacency
from renyi.ledger import Journal, Ledger, Payer
from renyi.mechanisms.approximate_dp import ApproximateDP
from renyi.signatures import Taught
from renyi.training.errors import TrainingError
from renyi.training.planning.plan import Plan
from renyi.training.recording import assumptions
from renyi.training.recording.branches import Branch, branches
from renyi.training.recording.declaration import FILE, Declaration
from renyi.training.recording.record import flagged
from renyi.training.recording.reserving import key_of

FIXED = (
    "study: this covers the {plans} declared runs together ({runs} journals were read) and the other releases that were "
    "declared with them, all fixed before the first of them; anything else that is released from the same data costs extra"
)
UNRECORDED = (
    ". Of those other releases nothing is recorded, and each was made once at most: that one was made again, such as a search "
    "that was run twice, would not be noticed"
)
FILTERED = (
    "study: this covers everything that the ledger has charged to the dataset {dataset!r}, chosen one after another, under its "
    "budget; what is released without being charged costs extra. {runs} journals were read, and no others looked at for leaks"
)
UNCOVERED = "NOT COVERED: the run {name} {why}, so epsilon of the study has no upper end"
SPENT = (
    "study: this is what was released so far, each release once; it is a guarantee only if all of it, and the moment of "
    "asking, was fixed beforehand"
)
FILTER = "Feldman & Zrnic (2021), arXiv:2008.11193: Renyi filters, for releases that are chosen one after another"


@dataclass(frozen=True, slots=True)
class Study(metaclass=Taught):
    """The runs on one dataset, by their journals: those in a directory, or those that a ledger pays for.

    ``Study.declare(directory, [plan, ...])`` fixes plans before the first run. Then their events add up, and ``guarantee`` is
    one exact answer for all. ``Study(ledger, journals=...)`` is for runs that are planned one after another, ``Run(...,
    ledger=ledger)``: there the guarantee is the budget of the ledger's dataset. In both cases a run that is not covered, or in
    which a leak was found, leaves no upper end. ``spent`` shows what was released so far. Where a journal was copied and both
    copies were continued, their common beginning counts once and both tails count.

    A study is a value: it shows the journals as they were when it was made.
    """

    where: Ledger | Payer | str | os.PathLike[str]
    journals: Iterable[str | os.PathLike[str]] | str | os.PathLike[str] | None = None
    declared: Declaration | None = field(init=False)
    payer: Payer | None = field(init=False)
    branches: tuple[Branch, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        payer = declared = None
        if isinstance(self.where, Ledger | Payer):
            payer = Payer.of(self.where)
            paths = _paths(() if self.journals is None else self.journals)
        elif self.journals is not None:
            raise InvalidInput("journals=... goes with a ledger; a directory is the place of its journals.")
        else:
            paths = _paths(self.where)
            file = Path(self.where) / FILE
            declared = Declaration.read(file) if file.exists() else None
            if not paths and declared is None:
                raise InvalidInput(f"there is no journal (*.jsonl) in {self.where}: a study is about runs.")
        for name, value in {"payer": payer, "declared": declared, "branches": branches(paths)}.items():
            object.__setattr__(self, name, value)
        if payer is not None:
            for plan in self._plans():
                payer.expect(unit=plan.unit, adjacency=plan.adjacency)
        _alike(self._plans())

    @classmethod
    def declare(
        cls,
        directory: str | os.PathLike[str],
        plans: Sequence[Plan],
        *,
        others: Event | None = None,
        delta: float | None = None,
    ) -> Study:
        """Fix the plans of all runs, and other releases, before the first of them; the journals go into this directory.

        ``delta`` is that of the plans unless said. A declaration is never changed. Runs have journals; that each of the others,
        such as the event of a ``Search``, is made once at most is for you to see to.
        """
        made, folder = tuple(plans), Path(directory)
        if not made or not all(isinstance(plan, Plan) for plan in made):
            raise InvalidInput("a study is declared by its plans: Study.declare(directory, [Plan(...), ...]).")
        if others is not None and not isinstance(others, Event):
            raise InvalidInput(f"others must be an event, such as Laplace(10) * 3; got {others!r}.")
        _alike(made)
        declared = Declaration(made, Composed(()) if others is None else others, _delta(made, delta))
        folder.mkdir(parents=True, exist_ok=True)
        if begun := _paths(folder):
            raise TrainingError(
                f"runs were begun in {folder} before the study was declared ({begun[0].name}): that they were fixed beforehand "
                "can no longer be shown. Declare a study in a new directory; or charge runs to a ledger."
            )
        with Journal(folder / FILE) as journal:
            if len(journal):
                raise TrainingError(
                    f"the study in {folder} was declared before, and is closed: what was fixed stays fixed. A further run is "
                    "another study's, and both cost; or it is charged to a ledger."
                )
            journal.append(declared.to_dict())
        return cls(folder)

    @property
    def released(self) -> Event:
        """Everything that was released, each release once."""
        return _sum(branch.released for branch in self.branches)

    def guarantee(self) -> Guarantee:
        """What everything in the study promises together; no upper end if a run is not covered, or a leak was found."""
        return self._exact() if self.payer is None else self._budgeted(self.payer)

    def spent(self, *, delta: float | None = None) -> Guarantee:
        """The cost of what was released so far. It is a guarantee only if all of it was fixed beforehand.

        ``delta`` is that of the declaration, of the budget, or of the plans, unless said.
        """
        return self._stated(self._spent(delta), SPENT, {})

    def _spent(self, delta: float | None) -> Guarantee:
        if self.payer is None:
            delta = self.declared.delta if delta is None and self.declared else _delta(self._plans(), delta)
            events = [_sum([self.released, *([self.declared.others] if self.declared else [])])]
        else:
            charged, part = self.payer.charged, self.payer.part
            delta = charged.filter.delta if delta is None else check.delta(delta=delta)
            beside = [branch.released for branch, _ in self._uncharged(self.payer)]
            parts = charged.parts if charged.parts and part is None else (part,)
            events = [_sum([self.payer.ledger.released(charged.name, part=each), *beside]) for each in parts]
        answers = [guarantee(event, delta=delta, adjacency=self.adjacency) for event in events]
        return max(answers, key=lambda answer: answer.epsilon.upper)

    @property
    def unit(self) -> str:
        """Whom the study protects."""
        return self.payer.charged.unit if self.payer is not None else self._plans()[0].unit

    @property
    def adjacency(self) -> Adjacency:
        """The neighbours that the study is about."""
        return self.payer.charged.filter.adjacency if self.payer is not None else self._plans()[0].adjacency

    def __str__(self) -> str:
        count, spent = len(self.branches), self.spent()
        try:
            promise = str(self.guarantee())
        except UnsupportedError as reason:  # a budget of rho or mu
            promise = str(reason)
        released = "Nothing was released so far."
        if spent.event != _sum(()):
            released = (
                f"What counts as released so far, which is a guarantee only if all of it was fixed beforehand: {spent}"
            )
        return f"A study of {count} {'journal' if count == 1 else 'journals'}. What it promises: {promise} {released}"

    def _runs(self) -> list[Branch]:
        """The branches that add something."""
        return [branch for branch in self.branches if not branch.copy]

    def _plans(self) -> tuple[Plan, ...]:
        declared = () if self.declared is None else self.declared.plans
        return (*declared, *(branch.record.plan for branch in self.branches))

    def _exact(self) -> Guarantee:
        """The exact answer for the declared runs: what they released and will, and the plans of those that have not begun."""
        declared = self.declared or Declaration((), Composed(()), max(plan.delta for plan in self._plans()))
        waiting, uncovered = list(declared.plans), {}
        for branch in self._runs():
            if branch.record.plan in waiting:
                waiting.remove(branch.record.plan)
            else:
                uncovered[branch.path] = "was not declared before the first run"
        event = _sum([*(run.promised for run in self._runs()), *(plan.events() for plan in waiting), declared.others])
        answer = guarantee(event, delta=declared.delta, adjacency=self.adjacency)
        words = FIXED.format(plans=len(declared.plans), runs=len(self.branches))
        return self._stated(answer, words + (UNRECORDED if declared.others != _sum(()) else ""), uncovered)

    def _budgeted(self, payer: Payer) -> Guarantee:
        """The budget of the ledger's dataset, whatever was charged to it."""
        budget = payer.charged.filter
        if budget.kind != "epsilon":
            raise UnsupportedError(f"the guarantee of this study is its budget, which has no single epsilon: {budget}.")
        # About the promise itself, not about what was released: whatever follows from its event then follows from the promise.
        promise = ApproximateDP(budget.budget, budget.delta, adjacency=budget.adjacency)
        answer = guarantee(promise, delta=budget.delta, adjacency=budget.adjacency)
        ends, sources = Interval(0.0, answer.epsilon.upper), (FILTER, *answer.references)
        answer = replace(answer, answer=ends, method="the budget of a filter", references=sources)
        words = FILTERED.format(dataset=payer.dataset, runs=len(self.branches))
        return self._stated(answer, words, {branch.path: why for branch, why in self._uncharged(payer)})

    def _uncharged(self, payer: Payer) -> Iterator[tuple[Branch, str]]:
        """The runs whose releases the ledger has not, or not all, and why. A reservation pays for each step once."""
        used: set[tuple[str | None, int]] = set()
        for branch in self._runs():
            paid = {(reserved, branch.shared + step) for step, reserved in enumerate(branch.payers)}
            keys = {key_of(branch.record.plan, reserved) for reserved in set(branch.payers) if reserved is not None}
            if None in branch.payers:
                yield branch, "was not charged to the ledger"
            elif any(payer.ledger.find(key, dataset=payer.dataset) is None for key in keys):
                yield branch, "has its reservation in another ledger or dataset"
            elif paid & used:
                yield branch, "was continued from a copy of a journal whose run went on, under one reservation"
            used |= paid

    def _stated(self, answer: Guarantee, words: str, uncovered: dict[Path, str]) -> Guarantee:
        """The guarantee with the assumptions of all runs, and with what is wrong in any of them."""
        records = [branch.record for branch in self.branches]
        plans = dict.fromkeys(text for plan in self._plans() for text in assumptions.of_plan(plan))
        plans.pop(assumptions.ONE_RUN, None)
        if uncovered:
            answer = replace(
                answer, answer=Interval(0.0, math.inf), method=f"{answer.method} (NOT COVERED: no upper end)"
            )
        said = [
            *(text for record in records for text in record.found()),
            *(UNCOVERED.format(name=path.name, why=why) for path, why in uncovered.items()),
            *(words, *plans),
            *(text for record in records for text in record.assumed()),
            *answer.assumptions,
        ]
        answer = replace(answer, unit=self.unit, assumptions=tuple(dict.fromkeys(said)))
        leaking, seeded = any(record.tainted for record in records), not all(record.private for record in records)
        return flagged(answer, leaking=leaking, seeded=seeded)


def _paths(journals: Iterable[str | os.PathLike[str]] | str | os.PathLike[str]) -> list[Path]:
    """The journals in a directory, its declaration apart; or those that are named."""
    if not isinstance(journals, str | os.PathLike):
        return [Path(path) for path in journals]
    folder = Path(journals)
    if not folder.is_dir():
        raise InvalidInput(f"{folder} is not a directory: name the one in which the journals of the runs are.")
    return sorted(path for path in folder.glob("*.jsonl") if path.name != FILE and path.stat().st_size)


def _sum(events: Iterable[Event]) -> Event:
    return Composed(tuple(events)).canonical()


def _delta(plans: Sequence[Plan], delta: float | None) -> float:
    if delta is not None:
        return check.delta(delta=delta)
    found = {plan.delta for plan in plans}
    if len(found) != 1:
        raise InvalidInput(f"the plans of this study have several deltas, {sorted(found)}: say at which, by delta=...")
    return found.pop()


def _alike(plans: Sequence[Plan]) -> None:
    """Refuse runs about different neighbours."""
    for what, values in (
        ("unit", {plan.unit for plan in plans}),
        ("adjacency", {plan.adjacency.value for plan in plans}),
    ):
        if len(values) > 1:
            raise InvalidInput(
                f"the runs of a study have one {what}; these have {' and '.join(sorted(values))}: their numbers do not add up."
            )
