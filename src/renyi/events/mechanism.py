"""The base class of mechanisms: immutable values that state the law of their privacy loss."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, Self

from renyi.errors import UnsupportedError
from renyi.events.event import Event
from renyi.events.registry import Registry, snake_case
from renyi.events.trend import Trend
from renyi.laws.curves.curve import RenyiCurve
from renyi.laws.pair import DominatingPair
from renyi.laws.relation import Relation

__all__ = ["MECHANISMS", "Mechanism", "Trend"]


class Mechanism(Event):
    """Subclass it as a frozen dataclass of numbers, strings and tuples of them, and state the law of the privacy loss.

    Define ``pair`` (the Renyi curve then follows from its likelihood-ratio law), or ``renyi``, or both. JSON and the command
    line know the class by ``name`` (the class name in snake_case unless set). Raise ``version`` when the meaning of a parameter
    changes. ``examples`` feed the contract tests.
    """

    __slots__ = ()

    name: ClassVar[str]
    version: ClassVar[int] = 1
    monotone: ClassVar[Mapping[str, Trend]] = MappingProxyType({})
    words: ClassVar[str] = ""
    """The mechanism as a noun, for sentences: "Laplace noise (multiplier {noise_multiplier})". If empty, its name is used."""
    assumptions: ClassVar[tuple[str, ...]] = ()
    references: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        cls.name = cls.__dict__.get("name", snake_case(cls.__name__))
        MECHANISMS.add(cls.name, cls)

    @classmethod
    @abstractmethod
    def examples(cls) -> tuple[Self, ...]:
        """A few typical instances, of low and of high cost."""

    def renyi(self, relation: Relation) -> RenyiCurve:
        """An upper bound on the Renyi divergence at every order, for this relation."""
        return self.pair(relation).renyi()

    def pair(self, relation: Relation) -> DominatingPair:
        """A dominating pair for this relation."""
        raise UnsupportedError(
            f"{type(self).__name__} has no dominating pair for {relation.value}: it is known by its Renyi curve only. "
            "Use accountant=renyi.Rdp()."
        )

    def for_group(self, size: int) -> Mechanism | None:
        """The mechanism that describes a group of ``size`` records, if it is of the same kind; else None."""
        return None

    def trends(self) -> Mapping[str, Trend]:
        """The parameters in which the cost is monotone while the others stay fixed."""
        return self.monotone

    def canonical(self) -> Self:
        return self


MECHANISMS: Registry[type[Mechanism]] = Registry("mechanism", "renyi.mechanisms")
