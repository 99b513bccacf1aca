"""What every audit can be asked, whichever way it attacked."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from dataclasses import asdict
from typing import Any

from renyi.events.document import as_json
from renyi.events.event import Event
from renyi.laws.relation import Adjacency
from renyi.training.auditing.document import FORMAT, VERSION, Stamp
from renyi.training.auditing.trials import scaled
from renyi.training.planning.plan import Plan


class Attack(ABC):
    """An attack on what a plan claims, and what came of it. Everything that is said holds with probability ``confidence``."""

    __slots__ = ()

    plan: Plan
    confidence: float
    booked: str | None
    """If there were real people in the data, the hash of the last line of the journal that charges it."""
    stamp: Stamp

    def __str__(self) -> str:
        return self.words()

    @property
    def event(self) -> Event:
        """What the plan claims to release, in all its steps."""
        return self.plan.events()

    @property
    def adjacency(self) -> Adjacency:
        """Which datasets count as neighbours."""
        return self.plan.adjacency

    @property
    @abstractmethod
    def refuted(self) -> bool:
        """Whether the claim is refuted, without assumptions on the noise."""

    @abstractmethod
    def factor(self) -> float:
        """Within the claimed family of noise: the noise is at most this many times the claimed one.

        The family is the plan's own mechanism with its noise, and nothing else, made larger or smaller.
        """

    @abstractmethod
    def words(self) -> str:
        """What was tried, what was found, and what that does not show."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The same for machines."""

    def to_json(self) -> str:
        """As a JSON text."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False)

    def epsilon_within_family(self) -> float:
        """The epsilon of the whole plan to which what was seen corresponds within the claimed family of noise.

        With probability ``confidence`` the plan costs at least that much, if its noise is of this family. It says nothing of
        other noise; what holds of any is ``refuted``.
        """
        factor = self.factor()
        return 0.0 if factor == math.inf else scaled(self.plan, factor).cost()

    def claimed(self) -> float:
        """The epsilon of the whole plan at its delta."""
        return self.plan.cost()

    def _document(self, kind: str, findings: dict[str, Any]) -> dict[str, Any]:
        """The findings of a kind of audit, between what all kinds state."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "kind": kind,
            "plan": self.plan.to_dict(),
            "confidence": self.confidence,
            "refuted": self.refuted,
            **findings,
            "noise_factor_upper": as_json(self.factor()),
            "epsilon_within_family": self.epsilon_within_family(),
            "epsilon_claimed": as_json(self.claimed()),
            "booked": self.booked,
            "words": self.words(),
            "made": asdict(self.stamp),
        }

    def _data(self) -> str:
        """Which data were attacked."""
        return (
            "data that were made up"
            if self.booked is None
            else f"real data, booked in the journal that ends {self.booked}"
        )

    def _verdict(self) -> str:
        """How sure all of it is, and whether the claim still stands."""
        verdict = "THE CLAIM IS REFUTED" if self.refuted else "the claim is not refuted"
        return f"With {100.0 * self.confidence:.6g} % confidence in all of it, {verdict}"
