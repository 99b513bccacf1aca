"""The options that the commands share, and the event that they describe."""

from __future__ import annotations

import dataclasses
import math
import sys
import typing
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from renyi import check
from renyi.accountants.guarantee import FORMAT as GUARANTEE
from renyi.accountants.guarantee import Guarantee, large_delta
from renyi.errors import InvalidInput
from renyi.events import Composed, Event, Mechanism, Sampling, from_json
from renyi.events.document import parsed
from renyi.events.limits import MOST_CHARACTERS
from renyi.events.mechanism import MECHANISMS
from renyi.events.registry import Registry
from renyi.events.sampling import SAMPLINGS
from renyi.laws.relation import Adjacency
from renyi.mechanisms import Gaussian
from renyi.report.statement import FORMAT as STATEMENT
from renyi.report.statement import Statement
from renyi.sampling.poisson.poisson import Poisson
from renyi.signatures import meant

Kind = TypeVar("Kind", bound=type)
Made = TypeVar("Made", Mechanism, Sampling)


def fraction(text: str) -> Fraction:
    """A number such as 0.01, 1e-3 or 256/60000."""
    try:
        top, slash, bottom = text.replace(" ", "").partition("/")
        return _exact(top) / (_exact(bottom) if slash else 1)
    except (ValueError, ZeroDivisionError, ArithmeticError):
        raise typer.BadParameter(f"{text!r} is not a number such as 0.01 or 256/60000") from None


def number(text: str) -> float:
    """A number as a float; nan and inf are passed on to the checks of the library, whose errors say what is possible."""
    return (
        float(text)
        if text.strip().lower() in ("nan", "inf", "-inf", "infinity", "-infinity")
        else float(fraction(text))
    )


def whole(text: str) -> int:
    """A whole number such as 10000 or 1e4; whether it is too small or too large is left to the library."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        value = _exact(text)
    except (ValueError, ArithmeticError):
        value = None
    if value is None or value.denominator != 1:
        raise typer.BadParameter(f"{text!r} is not a whole number such as 10000 or 1e4")
    return value.numerator


def _exact(text: str) -> Fraction:
    # Floats end at 1e308; far larger exponents would make a Fraction of millions of digits.
    value = Decimal(text)
    if not value.is_finite() or abs(value.adjusted()) > 330:
        raise ValueError(text)
    return Fraction(value)


NoiseMultiplier = Annotated[
    float | None,
    typer.Option(
        parser=number,
        metavar="NUMBER",
        help="Gaussian noise: standard deviation / largest L2 norm of one record's contribution.",
    ),
]
MechanismText = Annotated[
    list[str] | None,
    typer.Option(
        "--mechanism",
        help="Any mechanism, as NAME:param=value,...; several share each draw. An unknown NAME lists the known ones.",
    ),
]
OneMechanismText = Annotated[
    str | None,
    typer.Option("--mechanism", help="The mechanism, with ? for the parameter to find: laplace:noise_multiplier=?"),
]
EventFile = Annotated[
    Path | None,
    typer.Option(
        "--event", help="A whole event as JSON, or a guarantee or statement that was filed; - reads standard input."
    ),
]
Rate = Annotated[
    Fraction | None, typer.Option(parser=fraction, metavar="RATE", help="Poisson sampling rate, e.g. 256/60000.")
]
SamplingText = Annotated[
    str | None,
    typer.Option(
        "--sampling",
        help="A sampling other than Poisson, as NAME:param=value,...: without_replacement:batch=256,dataset=60000. "
        "An unknown NAME lists the known ones.",
    ),
]
Steps = Annotated[
    int | None,
    typer.Option(parser=whole, metavar="INTEGER", help="Number of steps (of epochs, for random_allocation)."),
]
Epochs = Annotated[
    Fraction | None,
    typer.Option(
        parser=fraction, metavar="EPOCHS", help="Passes over the data; steps = epochs x dataset / batch, rounded up."
    ),
]
BatchSize = Annotated[
    int | None, typer.Option(parser=whole, metavar="INTEGER", help="Expected batch size; rate = batch / dataset.")
]
DatasetSize = Annotated[int | None, typer.Option(parser=whole, metavar="INTEGER", help="Number of records.")]
Delta = Annotated[float, typer.Option(parser=number, metavar="NUMBER", help="Probability of failure, e.g. 1e-5.")]
Epsilon = Annotated[float, typer.Option(parser=number, metavar="NUMBER", help="Privacy loss.")]
AdjacencyOption = Annotated[Adjacency, typer.Option(help="Which datasets count as neighbours.")]


@dataclasses.dataclass(frozen=True, slots=True)
class Schedule:
    """The sampling of each step (None: all records are used), the number of steps, and notes for the user."""

    sampling: Sampling | None
    steps: int
    notes: tuple[str, ...] = ()

    @property
    def releases_nothing(self) -> bool:
        """Whether no record ever takes part."""
        return self.steps == 0 or self.sampling == Poisson(0.0)


def schedule(
    rate: Fraction | None,
    steps: int | None,
    epochs: Fraction | None,
    batch_size: int | None,
    dataset_size: int | None,
    sampling: str | None = None,
) -> Schedule:
    """Sampling and steps, given directly or by epochs, batch size and dataset size."""
    if sampling is not None and any(given is not None for given in (rate, epochs, batch_size, dataset_size)):
        raise InvalidInput(
            "--sampling says how records are drawn, and goes with --steps alone: --rate, --batch-size, --dataset-size and "
            "--epochs describe Poisson sampling."
        )
    if (batch_size is None) != (dataset_size is None):
        raise InvalidInput("--batch-size and --dataset-size belong together: rate = batch size / dataset size.")
    notes: tuple[str, ...] = ()
    if batch_size is not None and dataset_size is not None:
        if rate is not None:
            raise InvalidInput("give either --rate, or --batch-size and --dataset-size, not both.")
        check.whole(1, batch_size=batch_size)
        check.whole(1, dataset_size=dataset_size)
        rate = Fraction(batch_size, dataset_size)
    if epochs is not None:
        if steps is not None or batch_size is None or dataset_size is None:
            raise InvalidInput("--epochs goes with --batch-size and --dataset-size, and without --steps.")
        if epochs < 0:
            raise InvalidInput(f"--epochs must be >= 0; got {float(epochs):g}.")
        exact = epochs * Fraction(dataset_size, batch_size)
        steps = math.ceil(exact)
        if steps != exact:
            notes = (f"{float(epochs):g} epochs are {float(exact):g} steps, rounded up to {steps}.",)
    drawn = (
        Poisson(check.rate(rate=1.0 if rate is None else float(rate))) if sampling is None else parse_sampling(sampling)
    )
    if steps is None and (rate is not None or sampling is not None):
        raise InvalidInput(_how_many(by_name=sampling is not None, by_sizes=batch_size is not None))
    return Schedule(None if drawn == Poisson(1.0) else drawn, check.count(steps=1 if steps is None else steps), notes)


def _how_many(*, by_name: bool, by_sizes: bool) -> str:
    """The error for a sampling without a number of steps: a run of one step is rarely what is meant."""
    if by_name:
        described, wanted = "--sampling describes one step (one epoch, for random_allocation)", "--steps N"
    elif by_sizes:
        described, wanted = "--batch-size and --dataset-size describe one step", "--epochs N or --steps N"
    else:
        described, wanted = "--rate describes one step", "--steps N, or give --batch-size, --dataset-size and --epochs"
    return f"how long was the run? {described}, and every one costs: add {wanted}. For a single one, --steps 1."


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """The options that describe a run, the same for every command that asks about one."""

    noise_multiplier: NoiseMultiplier = None
    mechanism: MechanismText = None
    event_file: EventFile = None
    rate: Rate = None
    sampling: SamplingText = None
    steps: Steps = None
    epochs: Epochs = None
    batch_size: BatchSize = None
    dataset_size: DatasetSize = None

    @property
    def given(self) -> tuple[object, ...]:
        """What was given of them."""
        values = (getattr(self, field.name) for field in dataclasses.fields(self))
        return tuple(value for value in values if value is not None and value != [])

    def event(self) -> tuple[Event, tuple[str, ...]]:
        """The event that the options describe, and notes on it."""
        if self.event_file is not None:
            if len(self.given) > 1:
                raise InvalidInput("--event holds the whole event; give no other option that describes one.")
            return event_of(self.event_file), ()
        release = one_release(self.noise_multiplier, self.mechanism)
        plan = schedule(self.rate, self.steps, self.epochs, self.batch_size, self.dataset_size, self.sampling)
        return on_schedule(release, plan), plan.notes


NO_RUN = Run()
"""None of the options."""


def remarks(delta: float, dataset_size: int | None) -> tuple[str, ...]:
    """Notes on a delta, if the number of records is given."""
    found = None if dataset_size is None else large_delta(delta, dataset_size)
    return () if found is None else (found,)


def on_schedule(release: Event, plan: Schedule) -> Event:
    """The release on a sample, repeated for every step."""
    return (release if plan.sampling is None else release.on(plan.sampling)) * plan.steps


def in_epochs(batch_size: int, dataset_size: int, epochs: Fraction) -> tuple[int, int]:
    """Batches of an epoch, the last of which may be smaller, and epochs, the last of which counts in full.

    If the smaller batch is left out instead, the upper end of shuffled batches stays, and the lower end holds all the more.
    """
    return math.ceil(Fraction(dataset_size, batch_size)), math.ceil(epochs)


def one_release(noise_multiplier: float | None, mechanism: list[str] | None) -> Event:
    """Everything that is released from one draw."""
    parts: list[Event] = [] if noise_multiplier is None else [Gaussian(noise_multiplier)]
    parts += [parse_mechanism(text) for text in mechanism or []]
    if not parts:
        raise InvalidInput(
            "say what was released: --noise-multiplier 1.1, --mechanism laplace:noise_multiplier=10, or --event run.json."
        )
    return Composed(tuple(parts)).canonical()


def parse_mechanism(text: str) -> Mechanism:
    """laplace:noise_multiplier=10 -> Laplace(10.0)."""
    return make(*split_mechanism(text))


def parse_sampling(text: str) -> Sampling:
    """without_replacement:batch=256,dataset=60000 -> WithoutReplacement(256, 60000)."""
    return make(*_split(text, SAMPLINGS))


def split_mechanism(text: str) -> tuple[type[Mechanism], dict[str, Any]]:
    """The class and its parameters, converted to numbers where they are numeric."""
    return _split(text, MECHANISMS)


def _split(text: str, registry: Registry[Kind]) -> tuple[Kind, dict[str, Any]]:
    name, colon, rest = text.partition(":")
    bare, equals, value = name.partition("=")
    cls = registry.get((bare if equals and not colon else name).strip())
    types = typing.get_type_hints(cls)
    allowed = [field.name for field in dataclasses.fields(cls)]
    if equals and not colon and allowed:
        raise InvalidInput(
            f"{text!r} names no parameter: write {bare.strip()}:{allowed[0]}={value.strip() or 'VALUE'}."
        )
    given: dict[str, Any] = {}
    for item in filter(None, (part.strip() for part in rest.split(","))):
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals or key not in allowed or key in given:
            near = meant(key, allowed) if key not in allowed else None
            hint = f" Did you mean {near}={value or 'VALUE'}?" if near else ""
            raise InvalidInput(
                f"{item!r} is not a parameter of {name}.{hint} Write {name}:{allowed[0]}=VALUE, with {', '.join(allowed)}."
            )
        given[key] = value if value == "?" else _number(value, key, types[key])
    return cls, given


def make(cls: type[Made], given: dict[str, Any]) -> Made:
    """The mechanism or sampling, or an error that lists its parameters."""
    required = [f.name for f in dataclasses.fields(cls) if f.default is dataclasses.MISSING]  # type: ignore[arg-type]
    missing = [name for name in required if name not in given]
    if missing or "?" in given.values():
        example = ",".join(f"{name}=VALUE" for name in required)
        raise InvalidInput(
            f"{cls.name} needs a value for {', '.join(missing or ['each parameter'])}: {cls.name}:{example}."
        )
    build: Callable[..., Made] = cls
    return build(**given)


def _number(text: str, name: str, kind: object) -> Any:
    if kind is str:
        return text
    if ";" in text:
        return tuple(_number(part, name, float) for part in text.split(";") if part)
    if kind not in (int, float):
        return text  # a choice by name, which the mechanism checks
    try:
        return whole(text) if kind is int else number(text)
    except (ValueError, typer.BadParameter):
        raise InvalidInput(f"{name} must be {'an integer' if kind is int else 'a number'}; got {text!r}.") from None


def event_of(path: Path) -> Event:
    """The event in a file: an event document, or that of a guarantee or of a statement that was filed."""
    text = _read(path)
    values = parsed(text)
    form = values.get("format") if isinstance(values, dict) else None
    if form == GUARANTEE:
        return Guarantee.from_json(text).event
    return Statement.from_json(text).guarantee.event if form == STATEMENT else from_json(text)


def _read(path: Path) -> str:
    """The text of a file, or enough of it to show that it is too large."""
    try:
        if str(path) == "-":
            return sys.stdin.read(MOST_CHARACTERS + 1)
        with path.open(encoding="utf-8") as file:
            return file.read(MOST_CHARACTERS + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"cannot read the event from {path}: {error}.") from None
