"""The base class of samplings: maps from the laws of an event to the laws of the same event on a random draw."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, Protocol, Self

from renyi.events.registry import Registry, snake_case
from renyi.events.trend import Trend
from renyi.laws.curves.curve import RenyiCurve
from renyi.laws.pair import DominatingPair
from renyi.laws.relation import Relation
from renyi.signatures import Taught


class Laws(Protocol):
    """What is known about an event: its Renyi curve, and its dominating pair, None if only the curve is known."""

    def renyi(self, relation: Relation) -> RenyiCurve:
        """The Renyi curve for a relation."""

    def pair(self, relation: Relation) -> DominatingPair | None:
        """The dominating pair for a relation."""


class Sampling(metaclass=Taught):
    """How the records of one release are drawn; an immutable value, registered by name like a mechanism."""

    __slots__ = ()

    name: ClassVar[str]
    version: ClassVar[int] = 1
    monotone: ClassVar[Mapping[str, Trend]] = MappingProxyType({})
    words: ClassVar[str] = ""
    """How the records are drawn, for sentences: "on Poisson samples of rate {rate}". If empty, the name is used."""
    turn: ClassVar[str] = "step"
    """What one draw is called: a step, or an epoch."""
    assumptions: ClassVar[tuple[str, ...]] = ()
    references: ClassVar[tuple[str, ...]] = ()
    curve_only: ClassVar[bool] = False
    """Whether a draw has only a Renyi curve here. Its profile is then bounded by that of the inner event on all records."""

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        cls.name = cls.__dict__.get("name", snake_case(cls.__name__))
        SAMPLINGS.add(cls.name, cls)

    @classmethod
    @abstractmethod
    def examples(cls) -> tuple[Self, ...]:
        """A few typical instances, for the contract tests."""

    def trends(self) -> Mapping[str, Trend]:
        """The parameters in which the cost is monotone while the others stay fixed."""
        return self.monotone

    @abstractmethod
    def renyi(self, inner: Laws, relation: Relation) -> RenyiCurve:
        """The Renyi curve of the inner event on one draw."""

    @abstractmethod
    def pair(self, inner: Laws, relation: Relation) -> DominatingPair | None:
        """The dominating pair of the inner event on one draw; None if the inner event has none."""

    def blocks(self) -> tuple[tuple[Sampling, int], ...]:
        """Other samplings, with counts, of which one draw each costs at least as much as one draw here; empty if unknown."""
        return ()

    def grouped_pair(self, inner: Laws, relation: Relation, size: int) -> DominatingPair | None:
        """The dominating pair for a group of ``size`` records; None if only the general group bound is known."""
        return None


SAMPLINGS: Registry[type[Sampling]] = Registry("sampling", "renyi.samplings")
