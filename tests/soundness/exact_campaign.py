"""The half of `make soundness` that asks the accountants: random events over the whole domain, and Gaussians in closed form.

At every point: no exception, no warning, no NaN, lower <= upper; the default is never above another accountant; no lower
end of one accountant lies above the upper end of another; the exact answer is not above the Renyi accountant's where the
pairs are attained; the lower end of a cheaper event is not above the upper end of a dearer one; and the process stays small.
At a tenth of the points all accountants are asked about one relation by itself, too.
A point depends on the seed and its number alone: ``point(seed, number)`` is the one that failed.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import os
import pickle
import resource
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np

from renyi import Adjacency, Classical, Composed, Event, Exact, Gaussian, Interval, LossGrid, Rdp
from renyi.accountants.accountant import Accountant, Answer
from renyi.accountants.best import Best
from renyi.accountants.classical.classical import METHOD as CLASSICAL
from renyi.accountants.rdp import METHOD
from renyi.composing.common.accuracy import FAINTEST_DELTA as FAINT
from renyi.composing.common.accuracy import SMALLEST_EPSILON
from renyi.composing.question import DeltaAt, EpsilonAt
from renyi.composing.steps import event_steps
from renyi.errors import TooLarge
from renyi.laws.relation import Relation
from renyi.numerics import work
from tests import examples
from tests.soundness import random_events, reference
from tests.soundness.journal import CHANGED, Chunk, Journal, tree_of_accountants, tree_of_source
from tests.soundness.random_events import Term

POINTS, GAUSSIAN_POINTS = 20_000, 10_000
ROUNDING = 1e-11
ON_GRIDS = 1e-5
"""By which the default may be above the loss grid: both compose on grids to a gap of 5e-5, and from other forms of a law."""
CHUNK = 50
MOST_MEMORY = 200.0  # megabytes
MOST_SECONDS = 300.0  # of processor time, so that a busy machine hangs no point
ABOVE = 1e-9
TINY = 5e-324


@dataclass(frozen=True, slots=True)
class Question:
    """One random point: epsilon at a delta, or delta at an epsilon."""

    terms: tuple[Term, ...]
    adjacency: Adjacency
    delta: float | None
    epsilon: float | None
    relation: Relation | None = None
    """The only relation that is asked about; without one, all of the adjacency."""

    @property
    def relations(self) -> tuple[Relation, ...]:
        return self.adjacency.relations if self.relation is None else (self.relation,)

    def answer(self, accountant: Accountant, event: Event) -> Answer:
        if self.delta is not None:
            return accountant.answer(event.canonical(), EpsilonAt(self.delta), self.relations)
        assert self.epsilon is not None
        return accountant.answer(event.canonical(), DeltaAt(self.epsilon), self.relations)

    def __str__(self) -> str:
        given = f"delta={self.delta!r}" if self.delta is not None else f"epsilon={self.epsilon!r}"
        whose = self.adjacency.name if self.relation is None else self.relation.name
        return f"{examples.label(random_events.event_of(self.terms))}, {given}, {whose}"


class Outcome(NamedTuple):
    """What became of a point."""

    number: int
    point: str
    failures: list[str]
    seconds: float
    memory: float
    ratios: dict[str, float]
    moved: list[str]
    trivial: str = ""
    """Why an end of the exact answer is 0, 1 or inf without being so, if it is."""


def point(seed: int, number: int) -> Question:
    rng = np.random.default_rng([seed, number])
    adjacency = (Adjacency.ADD_OR_REMOVE, Adjacency.REPLACE_ONE, Adjacency.ZERO_OUT)[rng.choice(3, p=[0.8, 0.1, 0.1])]
    parts = random_events.terms(rng, adjacency)
    delta = random_events.log_uniform(rng, *random_events.DELTAS)
    if number % 2 == 0:
        return Question(parts, adjacency, delta, None)
    share, anywhere = rng.uniform(0.2, 1.0), random_events.log_uniform(rng, 1e-6, 1e4)
    if rng.random() < 0.3:
        return Question(parts, adjacency, None, anywhere)
    try:  # an epsilon at which something happens
        epsilon = share * Rdp().epsilon(random_events.event_of(parts), delta=delta, adjacency=adjacency).upper
    except Exception:  # is found again, as a failure, by the check
        epsilon = math.inf
    return Question(parts, adjacency, None, epsilon if epsilon < 1e300 else anywhere)


def check(seed: int, number: int) -> Outcome:
    """Everything that is claimed of one point; failures in words."""
    question = point(seed, number)
    found = judged(
        question,
        np.random.default_rng([seed, number, 1]),
        grid=number % 20 in (4, 13),
        again=number % 20 in (3, 14),
        levels=number % 20 in (5, 12),
        apart=number % 20 in (1, 6, 10, 15),
        moved=number % 20 in (2, 8, 11, 17),
        alone=number % 20 in (7, 16),
    )
    return Outcome(
        number, str(question), found.failures, found.seconds, peak_memory(), found.ratios, found.moved, found.trivial
    )


class _CountedTooLarge(TooLarge):
    """Counts how often work ran out in this process."""

    raised = 0

    def __init__(self, *words: object) -> None:
        super().__init__(*words)
        _CountedTooLarge.raised += 1


work.TooLarge = _CountedTooLarge  # type: ignore[attr-defined]


@dataclass(slots=True)
class Findings:
    """What was found out about one question."""

    failures: list[str] = field(default_factory=list)
    ratios: dict[str, float] = field(default_factory=dict)
    moved: list[str] = field(default_factory=list)
    trivial: str = ""
    seconds: float = 0.0
    exhausted: bool = False
    """Whether a method was given up for its work: then answers still hold, but need not be the best there are."""

    def asked(self, name: str, question: Question, accountant: Accountant, event: Event) -> Answer | None:
        """The answer; what is raised instead of one is a failure, but for an accountant that has not the work for one."""
        before = _CountedTooLarge.raised
        try:
            return question.answer(accountant, event)
        except TooLarge as error:
            if name == "default":
                self.failures.append(f"{name}: {raised_at(error)}")
            return None
        except Exception as error:
            self.failures.append(f"{name}: {raised_at(error)}")
            return None
        finally:
            self.exhausted |= _CountedTooLarge.raised > before


def judged(
    question: Question,
    rng: np.random.Generator,
    *,
    grid: bool,
    again: bool,
    levels: bool,
    apart: bool,
    moved: bool,
    alone: bool,
) -> Findings:
    """Ask the default and the Renyi accountant; ``grid`` the loss grid too; ``again`` the exact one; ``levels`` the classical.

    ``apart`` asks the exact one about a part, ``alone`` all of them about one relation.

    Where pairs only dominate, every lower end is 0 and a moved parameter shows nothing: it is tried if ``moved`` says so.
    """
    found = Findings()
    event = random_events.event_of(question.terms)
    try:
        started = time.process_time()
        default = found.asked("default", question, Best(), event)
        found.seconds = time.process_time() - started
        answers = {"default": default, "Rdp": found.asked("Rdp", question, Rdp(), event)}
        if default is not None:
            # Where the default took the exact answer it is that answer.
            other = again or default.method == METHOD or default.method.startswith(CLASSICAL)
            answers["Exact"] = found.asked("Exact", question, Exact(), event) if other else default
        if grid:
            answers["LossGrid"] = found.asked("LossGrid", question, LossGrid(), event)
        if levels:
            answers["Classical"] = found.asked("Classical", question, Classical(), event)
        intervals = {name: answer.interval for name, answer in answers.items() if answer is not None}
        found.failures += _sane(question, intervals)
        found.failures += _ordered(intervals, found)
        if "Exact" in intervals and intervals["Exact"].lower == 0.0 < intervals["Exact"].upper:
            found.trivial = _why_trivial(question, event, intervals["Exact"])
        if default is not None:
            found.failures += _below_renyi(question, event, intervals, found)
            if apart:
                found.failures += _above_a_part(question, default.interval, rng, found)
            if alone:
                found.failures += _in_one_relation(question, event, default.interval, rng, found)
            if moved or attained(question, event):
                found.failures += _monotone(question, default.interval, rng, found)
    except Exception as error:
        found.failures.append(raised_at(error))
    return found


def raised_at(error: Exception) -> str:
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {where.filename.rsplit('/', 1)[-1]}:{where.lineno}: {error}"


def _sane(question: Question, answers: dict[str, Interval]) -> Iterator[str]:
    largest = math.inf if question.delta is not None else 1.0
    for name, answer in answers.items():
        if not 0.0 <= answer.lower <= answer.upper <= largest:
            yield f"{name} says {answer!r}"


def _ordered(answers: dict[str, Interval], found: Findings) -> Iterator[str]:
    """The default is the smallest, and no lower end lies above an upper one."""
    for name, answer in answers.items():
        for other, beside in answers.items():
            slack = ON_GRIDS if other == "LossGrid" else ROUNDING
            if name == "default" and not found.exhausted and not answer.upper <= beside.upper * (1.0 + slack):
                yield f"default above {other}: {answer!r} and {beside!r}"
            if not answer.lower <= beside.upper * (1.0 + ROUNDING):
                yield f"lower end of {name} above upper end of {other}: {answer!r} and {beside!r}"


def attained(question: Question, event: Event) -> bool:
    """Whether every part's pair is attained, so that lower ends are not 0."""
    canonical = event.canonical()
    return all(event_steps(canonical, relation).below is not None for relation in question.relations)


def _why_trivial(question: Question, event: Event, exact: Interval) -> str:
    if not attained(question, event):
        return "not attained"
    if question.delta is None:
        if exact.upper <= FAINT:
            return "delta is at most 1e-300"
        canonical = event.canonical()
        unseen = max(event_steps(canonical, relation).infinite_mass.upper for relation in question.relations)
        if exact.upper <= 1.001 * unseen:
            return "all of delta is what densities do not show"
    return "although attained"


def _below_renyi(question: Question, event: Event, answers: dict[str, Interval], found: Findings) -> Iterator[str]:
    """Where all pairs are attained the exact answer is not above the Renyi accountant's; how wide it is."""
    if not (attained(question, event) and "Exact" in answers and "Rdp" in answers):
        return
    exact, renyi = answers["Exact"], answers["Rdp"]
    # An epsilon next to 0 is only asked for to an absolute error; the default takes the smaller one all the same.
    enough = 0.0 if question.delta is None else SMALLEST_EPSILON
    if not found.exhausted and not exact.upper <= max(renyi.upper * (1.0 + ROUNDING), enough):
        yield f"Exact above Rdp: {exact!r} and {renyi!r}"
    if question.delta is not None and exact.upper < math.inf:
        found.ratios["width of epsilon over max(epsilon, 1e-6)"] = (exact.upper - exact.lower) / max(exact.upper, 1e-6)
    if question.delta is None and exact.upper > 1e-300:
        found.ratios["width of delta over delta"] = (exact.upper - exact.lower) / exact.upper


def _above_a_part(question: Question, default: Interval, rng: np.random.Generator, found: Findings) -> Iterator[str]:
    """The whole costs no less than one of its parts alone, or than one repetition of it."""
    part = question.terms[rng.integers(len(question.terms))]
    if len(question.terms) == 1:
        part = dataclasses.replace(part, count=1)
    alone = found.asked(f"part alone ({part})", question, Exact(), part.event())
    if alone is not None and not alone.interval.lower <= default.upper * (1.0 + ROUNDING):
        yield f"below its part: {default!r}, and {part} has {alone.interval!r}"


def _in_one_relation(
    question: Question, event: Event, default: Interval, rng: np.random.Generator, found: Findings
) -> Iterator[str]:
    """One relation by itself, by every accountant: behind a worse one a wrong answer would not be seen."""
    relation = question.relations[rng.integers(len(question.relations))]
    single = dataclasses.replace(question, relation=relation)
    accountants = {"default": Best(), "Rdp": Rdp(), "Exact": Exact(), "LossGrid": LossGrid(), "Classical": Classical()}
    asked = {name: found.asked(f"{name}, {relation.name}", single, each, event) for name, each in accountants.items()}
    intervals = {name: answer.interval for name, answer in asked.items() if answer is not None}
    wrong = [*_sane(single, intervals), *_ordered(intervals, found), *_below_renyi(single, event, intervals, found)]
    wrong += [
        f"lower end of {name} above the worst relation's default: {one!r} and {default!r}"
        for name, one in intervals.items()
        if not one.lower <= default.upper * (1.0 + ROUNDING)
    ]
    yield from (f"{relation.name} alone: {text}" for text in wrong)


def _monotone(question: Question, default: Interval, rng: np.random.Generator, found: Findings) -> Iterator[str]:
    """One of the parameters that are declared monotone, drawn at random: over all points, all of them."""
    moves = [(index, *move) for index, part in enumerate(question.terms) for move in part.neighbours(rng)]
    index, name, rising, moved = moves[rng.integers(len(moves))]
    parts = (*question.terms[:index], moved, *question.terms[index + 1 :])
    other = found.asked(f"default with another {name} ({moved})", question, Best(), random_events.event_of(parts))
    if other is None:
        return
    cheap, dear = (default, other.interval) if rising else (other.interval, default)
    found.moved.append(name)
    if not cheap.lower <= dear.upper * (1.0 + ROUNDING):
        yield f"not monotone in {name}: cheaper {cheap!r}, dearer {dear!r}, moved to {moved}"
    if 0.0 < dear.upper < math.inf:
        found.ratios["lower of the cheaper over upper of the dearer"] = cheap.lower / dear.upper


def check_gaussian(seed: int, number: int) -> Outcome:
    """Epsilon at delta, and delta at that epsilon, of a composition of Gaussians, against the closed form in balls."""
    rng = np.random.default_rng([seed, number, 2])
    parts = random_events.gaussians(rng)
    delta = random_events.log_uniform(rng, *random_events.DELTAS)
    runs = [Gaussian(noise) * count for noise, count in parts]
    event = runs[0] if len(runs) == 1 else Composed(tuple(runs))
    failures: list[str] = []
    ratios: dict[str, float] = {}
    seconds = 0.0
    try:
        started = time.process_time()
        found = Exact().epsilon(event, delta=delta)
        seconds = time.process_time() - started
        slack = ABOVE * max(found.upper, 1e-6)
        if reference.gaussian_exceeds(parts, found.upper, delta):
            failures.append(f"epsilon below the truth: {found!r}")
        if found.upper > slack and not reference.gaussian_exceeds(parts, found.upper - slack, delta):
            failures.append(f"epsilon more than {ABOVE} above the truth: {found!r}")
        if found.lower > 0.0 and not reference.gaussian_exceeds(parts, found.lower, delta):
            failures.append(f"lower end above the truth: {found!r}")
        ratios["epsilon above the truth"] = reference.gaussian_excess(parts, found.upper, delta)
        back = Exact().delta(event, epsilon=found.upper)
        if reference.gaussian_exceeds(parts, found.upper, back.upper):
            failures.append(f"delta below the truth: {back!r} at epsilon {found.upper!r}")
        if back.lower > 0.0 and not reference.gaussian_exceeds(parts, found.upper, back.lower):
            failures.append(f"lower end of delta above the truth: {back!r} at epsilon {found.upper!r}")
        # An epsilon of 1e10 is known to 1e-6, and delta falls fast with it: there the ends say how far they may be off.
        width = max(ABOVE, 2.0 * (back.upper - back.lower) / back.upper)
        if back.upper > 1e-300 and not reference.gaussian_exceeds(parts, found.upper, back.upper / (1.0 + width)):
            failures.append(f"delta more than {ABOVE} above the truth: {back!r} at epsilon {found.upper!r}")
    except Exception as error:
        failures.append(raised_at(error))
    return Outcome(number, f"{event!r}, delta={delta!r}", failures, seconds, peak_memory(), ratios, ["Gaussian"])


def peak_memory() -> float:
    """The largest size that this process has had, in megabytes."""
    unit = 1024.0 if sys.platform != "darwin" else 1.0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


CHECKS = {"points": check, "Gaussian compositions": check_gaussian}
"""What is checked, by the name under which it is reported."""


class Hung(BaseException):
    """A point took too long; nobody on the way catches it."""


def _hung(*_: object) -> None:
    raise Hung


def within_time(kind: str, seed: int, number: int) -> Outcome:
    """One check, ended where it takes too long; warnings are errors."""
    signal.signal(signal.SIGPROF, _hung)
    signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return CHECKS[kind](seed, number)
    except Hung:
        text = f"no answer within {MOST_SECONDS:.0f} s of processor time"
        return Outcome(number, f"number {number} of seed {seed}", [text], MOST_SECONDS, peak_memory(), {}, [])
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)


Task = tuple[str, int, int, int]
"""What is checked, with which seed, from which number on, up to which."""


def work(task: Task) -> list[Outcome]:
    kind, seed, first, last = task
    return [alone(kind, seed, number) for number in range(first, last)]


def warm() -> None:
    """What first calls load, once, for all processes that fork from this one."""
    for number in (4, 5, 6):
        check(0, number)


def alone(kind: str, seed: int, number: int) -> Outcome:
    """One check in a process of its own, whose size is what this point took."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            with os.fdopen(writing, "wb") as file:
                pickle.dump(within_time(kind, seed, number), file)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        data = file.read()
    os.waitpid(child, 0)
    if data:
        outcome: Outcome = pickle.loads(data)
        return outcome
    return Outcome(number, f"number {number} of seed {seed}", ["its process died"], 0.0, 0.0, {}, [])


def quantiles(values: list[float]) -> dict[str, float]:
    shares = {"median": 0.5, "90 %": 0.9, "99 %": 0.99, "largest": 1.0}
    return {name: float(np.quantile(values, share)) for name, share in shares.items()}


def summary(outcomes: list[Outcome]) -> dict[str, object]:
    """Counts, failures, the worst of each ratio, times and memory."""
    failed = [outcome for outcome in outcomes if outcome.failures]
    failures = [
        {"number": one.number, "point": one.point, "failures": [text[:500] for text in one.failures]} for one in failed
    ]
    failures += [
        {"number": one.number, "point": one.point, "failures": [f"{one.memory:.0f} MB"]}
        for one in outcomes
        if one.memory > MOST_MEMORY
    ]
    slowest = max(outcomes, key=lambda one: one.seconds)
    ratios: dict[str, list[tuple[float, str]]] = {}
    for outcome in outcomes:
        for name, value in outcome.ratios.items():
            ratios.setdefault(name, []).append((value, outcome.point))
    return {
        "points": len(outcomes),
        "failed": len(failures),
        "failures": failures[:50],
        "parameters moved": dict(sorted(Counter(name for one in outcomes for name in one.moved).items())),
        "ratios": {
            name: {**quantiles([value for value, _ in found]), "worst point": max(found)[1]}
            for name, found in sorted(ratios.items())
        },
        "seconds of the default": {
            **quantiles([outcome.seconds for outcome in outcomes]),
            "slowest point": slowest.point,
            "above 2 s": sum(outcome.seconds > 2.0 for outcome in outcomes),
        },
        "trivial lower ends": dict(sorted(Counter(one.trivial for one in outcomes if one.trivial).items())),
        "trivial although attained": [one.point for one in outcomes if one.trivial == "although attained"][:200],
        "peak memory in MB": max(outcome.memory for outcome in outcomes),
    }


def known(journal: Journal, tree: str) -> dict[Task, list[Outcome]]:
    """What this tree was asked already."""
    return {chunk.task: [Outcome(*row) for row in chunk.rows] for chunk in journal if chunk.tree == tree}


def run(seed: int, share: float, processes: int, journal: Journal, tree: str) -> dict[str, object]:
    """Both parts of the campaign; what is known already is not asked again."""
    wanted = {"points": round(POINTS * share), "Gaussian compositions": round(GAUSSIAN_POINTS * share)}
    tasks: list[Task] = [
        (kind, seed, first, min(first + CHUNK, total))
        for kind, total in wanted.items()
        for first in range(0, total, CHUNK)
    ]
    done = known(journal, tree)
    left = [task for task in tasks if task not in done]
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # two processes with two threads each stand in each other's way
    with get_context("spawn").Pool(processes, initializer=warm) as pool:
        for task, batch in zip(left, pool.imap(work, left), strict=True):
            done[task] = batch
            journal.add(Chunk(task, tree, batch))
            for one in batch:
                if one.failures:
                    print(f"\r{task[0]} {one.number}: {one.point[:300]} {one.failures}", file=sys.stderr)
            print(f"\r{len(done)}/{len(tasks)}", end="", file=sys.stderr, flush=True)
    found = {kind: [one for task in tasks if task[0] == kind for one in done[task]] for kind in wanted}
    return {"seed": seed, **{kind: summary(outcomes) for kind, outcomes in found.items()}}


def failures(result: dict[str, object]) -> list[object]:
    """What went wrong, of all parts."""
    return [failure for kind in CHECKS for failure in result[kind]["failures"]]  # type: ignore[index]


def main() -> int:
    """The accountants' half alone: its result replaces the one in the document."""
    from tests.soundness.campaign import RESULT, origin

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=20261120)
    parser.add_argument("--share", type=float, default=1.0)
    arguments = parser.parse_args()
    started = time.time()
    code, tree = {**origin(), "tree of src": tree_of_source()}, tree_of_accountants()
    if tree.endswith(CHANGED):
        print("src/ differs from what is committed: commit it first, so that the result has a name.", file=sys.stderr)
        return 2
    journal = Journal.of("accountants", arguments.seed)
    result = run(arguments.seed, arguments.share, 2, journal, tree)
    document = json.loads(RESULT.read_text(encoding="utf-8"))
    document["accountants"] = {**code, "tree of what was asked": tree, **result}
    RESULT.write_text(json.dumps(document, indent=1, default=float) + "\n", encoding="utf-8")
    wrong = failures(result)
    print(f"\n{time.time() - started:.0f} s, {len(wrong)} failures", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
