"""The state of a run just after a release: what a callback is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from renyi.training.clipping.accumulator import Statistics
from renyi.training.recording.record import Record


@dataclass(frozen=True, slots=True)
class Moment:
    """The state of a run just after a release, as passed to a callback.

    It has public numbers, and private statistics that are shown only by ``reveal()``.
    """

    record: Record
    statistics: Statistics

    @property
    def step(self) -> int:
        """How many releases are recorded."""
        return self.record.steps

    @property
    def left(self) -> int:
        """How many planned steps are left."""
        return self.record.plan.steps - self.record.steps

    @property
    def epsilon(self) -> float:
        """Epsilon spent so far at the plan's delta, rounded up; computed only when asked for.

        It is no guarantee: that is of all planned steps, until the run has ended.
        """
        return self.record.spent().epsilon.upper


Callback = Callable[[Moment], object]
"""Called after every release, in the thread that trains; a ``Stop`` that it returns ends the run."""
