"""What looks for leaks have found in a run, as its journal states it and as its guarantee says it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from torch import Tensor

UNITS_BY_SIZE = ((1 << 20, 8), (1 << 22, 4))
"""Most parameters of a model, and how many units of a batch are then looked at one by one; two of a larger model."""

LOOKS = (
    "looks: that no unit's gradient depends on the others in its batch was tried, not proved: at releases 1, 2, 4, 8, ... and "
    "whenever the losses called functions that they had not called before, with {units} units one by one, the number for a "
    "model of {parameters} trainable parameters; doubts were decided in float64, where the model runs in it. What couples "
    "units only between looks, rarely, or in half precision alone may be missed"
)
LEAK = (
    "LEAK FOUND by the look before release {release}: {what} The last look that found nothing was before release {last_clean} "
    "(0: there was none); from there on data may have left without noise, so epsilon has no upper end"
)
LEAK_IN_TIME = (
    "a leak was found by the look before release {release}, and nothing had been released since the last look that found "
    "none: {what}"
)
REBUTTAL = "rebuttal of the leak found before release {release}, attested by {who} and not checked: {why}"


@dataclass(frozen=True, slots=True)
class Looks:
    """How a run looks for leaks: how many units are compared one by one, of a model with so many trainable parameters."""

    parameters: int
    units: int

    @classmethod
    def at_model(cls, parameters: Iterable[Tensor]) -> Self:
        """The looks at a model with these trainable parameters: the larger it is, the fewer units, but at least two."""
        count = sum(p.numel() for p in parameters)
        return cls(count, next((units for most, units in UNITS_BY_SIZE if count <= most), 2))

    def words(self) -> str:
        """What was tried, and what it may miss."""
        return LOOKS.format(parameters=self.parameters, units=self.units)


@dataclass(frozen=True, slots=True)
class Leak:
    """A leak that a look found before this release, the last release before which a look had found none, and what was said."""

    release: int
    last_clean: int
    what: str
    rebuttals: tuple[tuple[str, str], ...] = ()

    @property
    def covered(self) -> bool:
        """Whether nothing was released since the last look that found nothing."""
        return self.release == 1 or self.last_clean == self.release

    def words(self) -> tuple[str, ...]:
        """The leak, and what was said against it."""
        text = LEAK_IN_TIME if self.covered else LEAK
        return (
            text.format(release=self.release, last_clean=self.last_clean, what=self.what),
            *(REBUTTAL.format(release=self.release, who=who, why=why) for who, why in self.rebuttals),
        )
