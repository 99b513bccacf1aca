"""What an event consists of, counted for the items of a statement: noises, samplers, steps, searches."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from renyi.events.event import Event
from renyi.events.mechanism import Mechanism
from renyi.events.nodes import Composed, Grouped, Repeated, Sampled, Tuned
from renyi.events.sampling import Sampling
from renyi.events.words import MOST_PARTS, filled, number

EVERYBODY = "all records in every release, without sampling"


@dataclass
class Parts:
    """The unlike parts of an event, in the order in which they are met; filled by one walk over the event."""

    noises: dict[Mechanism, None] = field(default_factory=dict)
    samplers: dict[Sampling | None, None] = field(default_factory=dict)
    turns: dict[tuple[str, str], int] = field(default_factory=dict)
    """How often, by what one turn is called and where it stands."""
    searches: dict[str, None] = field(default_factory=dict)

    @classmethod
    def of(cls, event: Event) -> Parts:
        """The parts of an event."""
        found = cls()
        found._walk(event.canonical(), 1, None)
        return found

    def noise(self) -> tuple[str, ...]:
        """Every mechanism in words."""
        return _few(map(filled, self.noises), len(self.noises), "other mechanisms")

    def sampler(self) -> str:
        """How records were drawn."""
        words = (EVERYBODY if one is None else filled(one) for one in self.samplers)
        return "; ".join(_few(words, len(self.samplers), "other samplers")) or "nothing was released"

    def steps(self) -> str:
        """How often, by kind of step."""
        counted = (f"{count:,} {turn}{'' if count == 1 else 's'}{where}" for (turn, where), count in self.turns.items())
        return "; ".join(counted) or "no steps"

    def search(self) -> tuple[str, ...]:
        """Every search in words."""
        return _few(self.searches, len(self.searches), "other searches")

    def _walk(self, event: Event, count: int, sampling: Sampling | None) -> None:
        match event:
            case Mechanism():
                self.noises[event] = None
                if sampling is None:
                    self.samplers[None] = None
                    self._count("release", " without sampling", count)
            case Sampled(inner, drawn):
                self.samplers[drawn] = None
                self._count(drawn.turn, "", count)
                self._walk(inner, count, drawn)
            case Repeated(inner, times):
                self._walk(inner, count * times, sampling)
            case Composed(events):
                for part in events:
                    self._walk(part, count, sampling)
            case Grouped(inner, _):
                self._walk(inner, count, sampling)
            case Tuned(inner, mean, shape):
                how = "Poisson" if shape == math.inf else f"truncated negative binomial of shape {number(shape)}"
                several = "" if count == 1 else f"{count:,} searches, each with "
                self.searches[f"{several}a secret random number of runs, {number(mean)} on average ({how})"] = None
                inside = Parts.of(inner)
                self.noises |= inside.noises
                self.samplers |= inside.samplers
                for (turn, where), often in inside.turns.items():
                    self._count(turn, f"{where} in every run of the search", count * often)

    def _count(self, turn: str, where: str, count: int) -> None:
        self.turns[turn, where] = self.turns.get((turn, where), 0) + count


def _few(words: Iterable[str], count: int, others: str) -> tuple[str, ...]:
    """The first words, and how many more there are: a list of thousands is not read."""
    shown = tuple(text for text, _ in zip(words, range(MOST_PARTS), strict=False))
    return shown if count <= MOST_PARTS else (*shown, f"{count - MOST_PARTS:,} {others}")
