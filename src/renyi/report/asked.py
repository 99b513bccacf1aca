"""What a subject of a statement can be asked for. Runs and studies are known by this, not by their classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from renyi.accountants.guarantee import Guarantee
from renyi.events.event import Event
from renyi.laws.relation import Adjacency


@runtime_checkable
class Accountable(Protocol):
    """Anything that can say what it costs: a training run, its record, a study of several runs."""

    def guarantee(self) -> Guarantee:
        """What is promised."""
        ...


@runtime_checkable
class Audited(Protocol):
    """An attack on what was released, and what it has shown."""

    @property
    def event(self) -> Event:
        """The claim that was attacked."""
        ...

    @property
    def adjacency(self) -> Adjacency:
        """Which datasets count as neighbours."""
        ...

    def words(self) -> str:
        """What was tried and found, and what that does not show."""
        ...


class Worded(Protocol):
    """How gradients were clipped, or how a run looked for leaks, in words."""

    def words(self) -> str:
        """The words."""
        ...


class Finding(Protocol):
    """A leak that was found, and what was said against it."""

    def words(self) -> tuple[str, ...]:
        """The leak, then its rebuttals."""
        ...


class Planned(Protocol):
    """The plan of a training run."""

    @property
    def steps(self) -> int:
        """The number of planned steps."""
        ...

    @property
    def clip(self) -> Worded:
        """How gradients are clipped."""
        ...


@runtime_checkable
class Recorded(Protocol):
    """The record of a training run, from which alone its guarantee is computed."""

    steps: int
    lines: int
    head: str
    private: bool
    looks: Worded | None
    leaks: Sequence[Finding]

    @property
    def plan(self) -> Planned:
        """The plan of the run."""
        ...


@dataclass(frozen=True, slots=True)
class Facts:
    """What a record says beyond its guarantee."""

    clipping: str
    record: tuple[str, ...]
    private: bool


def facts(subject: Accountable) -> Facts | None:
    """The facts of a run, or of its record; None of a subject that has no record."""
    record = getattr(subject, "record", subject)
    if not isinstance(record, Recorded):
        return None
    released = f"{record.steps:,} of {record.plan.steps:,} planned steps were released"
    journal = f"the journal has {record.lines:,} lines, and its last hash is {record.head}"
    looks = (record.looks.words(),) if record.looks else ("looks: the journal does not say that any were taken",)
    leaks = tuple(text for leak in record.leaks for text in leak.words()) or ("no leak was found",)
    return Facts(record.plan.clip.words(), (*leaks, *looks, released, journal), record.private)
