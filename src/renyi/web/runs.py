"""The event that a form describes, parsed as the command parses its options."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction

import typer

from renyi.accountants.guarantee import FORMAT as GUARANTEE
from renyi.accountants.guarantee import Guarantee
from renyi.cli import options
from renyi.cli.questions.steps import MOST_STEPS
from renyi.errors import InvalidInput
from renyi.events import Composed, Event, from_json
from renyi.events.document import parsed, short
from renyi.mechanisms import Gaussian
from renyi.report.statement import FORMAT as STATEMENT
from renyi.report.statement import Statement
from renyi.sampling.poisson.poisson import Poisson
from renyi.web.form import By, Form, Solve

MOST_LINES = 200
"""Lines of further releases; an event in JSON holds more."""


@dataclass(frozen=True, slots=True)
class Main:
    """The first line of the calculator: steps of Gaussian noise on Poisson samples."""

    noise: float
    sampling: Poisson | None
    steps: int

    @property
    def event(self) -> Event:
        """As an event."""
        return _steps(self.noise, self.sampling, self.steps)


@dataclass(frozen=True, slots=True)
class Unknown:
    """A run with one figure left open: ``make`` gives the event for its value."""

    make: Callable[[float], Event]
    name: str
    whole: bool
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked: a run, or one with a figure left open; notes for the reader; the first line if it is all there is."""

    run: Event | Unknown
    notes: tuple[str, ...] = ()
    alone: Main | None = None


def asked(form: Form) -> Asked:
    """The run that a form describes."""
    with _figures():
        solved = form.solved
        if form.event:
            if form.more:
                raise InvalidInput("an event in JSON is the whole run: leave the further releases empty.")
            if solved not in (Solve.EPSILON, Solve.DELTA):
                raise InvalidInput("an event in JSON has all its figures: solve for epsilon or delta.")
            return Asked(whole_event(form.event))
        more = releases(form.more)
        if not form.noise and solved is not Solve.NOISE:
            if not more.events:
                raise InvalidInput("say what was released: give a noise multiplier, or a line of further releases.")
            if solved in (Solve.RATE, Solve.STEPS):
                raise InvalidInput(f"to solve for {solved.value}, give the noise multiplier of the run.")
            return Asked(more)
        return _asked(form, solved, more)


def _asked(form: Form, solved: Solve, more: Composed) -> Asked:
    match solved:
        case Solve.EPSILON | Solve.DELTA:
            plan = _plan(form)
            main = Main(options.number(form.noise), _poisson(plan), plan.steps)
            return Asked(_with(main.event, more), plan.notes, None if more.events else main)
        case Solve.NOISE:
            plan = _plan(form)
            if plan.releases_nothing:
                raise InvalidInput("nothing is released without steps or at rate 0, so any noise meets the target.")
            sampling, steps = _poisson(plan), plan.steps
            return Asked(
                Unknown(lambda x: _with(_steps(x, sampling, steps), more), "noise_multiplier", False), plan.notes
            )
        case Solve.STEPS:
            noise = options.number(form.noise)
            rate, batch, dataset = _drawn(form)
            one = options.on_schedule(Gaussian(noise), options.schedule(rate, 1, None, batch, dataset))
            return Asked(Unknown(lambda n: _with(one * int(n), more), "steps", True, high=MOST_STEPS))
        case Solve.RATE:
            return Asked(_rate(form, more))


def _rate(form: Form, more: Composed) -> Unknown:
    """The sampling rate left open, or the batch size: then epochs are fixed, and larger batches make fewer steps."""
    noise = options.number(form.noise)
    if form.described_by is By.RATE:
        steps = options.whole(form.steps)
        return Unknown(lambda q: _with(_steps(noise, Poisson(q), steps), more), "rate", False, high=1.0)
    dataset, epochs = options.whole(form.dataset), options.fraction(form.epochs)

    def make(batch: float) -> Event:
        plan = options.schedule(None, None, epochs, int(batch), dataset)
        return _with(_steps(noise, _poisson(plan), plan.steps), more)

    return Unknown(make, "batch size", True, low=1.0, high=float(dataset))


def _plan(form: Form) -> options.Schedule:
    if form.described_by is By.RATE:
        return options.schedule(options.fraction(form.rate), options.whole(form.steps), None, None, None)
    return options.schedule(
        None, None, options.fraction(form.epochs), options.whole(form.batch), options.whole(form.dataset)
    )


def _drawn(form: Form) -> tuple[Fraction | None, int | None, int | None]:
    """The rate, or batch and dataset."""
    if form.described_by is By.RATE:
        return options.fraction(form.rate), None, None
    return None, options.whole(form.batch), options.whole(form.dataset)


def _poisson(plan: options.Schedule) -> Poisson | None:
    assert plan.sampling is None or isinstance(plan.sampling, Poisson)
    return plan.sampling


def _steps(noise: float, sampling: Poisson | None, steps: int) -> Event:
    release = Gaussian(noise)
    return (release if sampling is None else release.on(sampling)) * steps


def _with(event: Event, more: Composed) -> Event:
    return Composed((event, *more.events)) if more.events else event


def releases(text: str) -> Composed:
    """Further releases, one a line: ``MECHANISM [+ MECHANISM ...] [on SAMPLING] [times N]``, as the command writes both."""
    lines = [line for line in map(str.strip, text.splitlines()) if line and not line.startswith("#")]
    if len(lines) > MOST_LINES:
        raise InvalidInput(
            f"at most {MOST_LINES} lines of further releases; got {len(lines):,}. Give the event in JSON."
        )
    return Composed(tuple(map(_release, lines)))


def _release(line: str) -> Event:
    with _figures():
        rest, count = line.rsplit(" times ", 1) if " times " in line else (line, "1")
        drawn, on, sampling = rest.partition(" on ")
        parts = tuple(options.parse_mechanism(part.strip()) for part in drawn.split(" + "))
        release: Event = parts[0] if len(parts) == 1 else Composed(parts)
        return (release.on(options.parse_sampling(sampling.strip())) if on else release) * options.whole(count.strip())


def whole_event(text: str) -> Event:
    """An event in JSON, or that of a guarantee or a statement that was filed."""
    values = parsed(text)
    form = values.get("format") if isinstance(values, dict) else None
    if form == GUARANTEE:
        return Guarantee.from_json(text).event
    return Statement.from_json(text).guarantee.event if form == STATEMENT else from_json(text)


@contextmanager
def _figures() -> Iterator[None]:
    """Figures that the command line refuses are refused as input: what is said of them is the same."""
    try:
        yield
    except typer.BadParameter as error:
        raise InvalidInput(f"{error.message}.") from None


def figure(text: str, name: str) -> float:
    """A figure of the form as a float."""
    if not text:
        raise InvalidInput(f"{name} is empty: give a number such as 1e-5.")
    with _figures():
        found = options.number(text)
    if math.isnan(found):
        raise InvalidInput(f"{name} must be a number; got {short(text)}.")
    return found
