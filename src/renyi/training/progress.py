"""Progress of a run: epsilon spent and steps left, and the loss only if it is asked for."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from renyi.numerics.printing import rounded_up
from renyi.training.clipping.accumulator import Statistics
from renyi.training.recording.record import Record

if TYPE_CHECKING:
    import rich.progress


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
        """Epsilon spent so far at the plan's delta, rounded up; computed only when asked for."""
        return self.record.spent().epsilon.upper


class Progress:
    """A bar on the terminal, as a run's callback: ``Run(..., callback=Progress())``.

    ``reveal_loss=True`` shows the loss of the last draw, which is private: use it to debug, not in a log.
    """

    def __init__(self, *, reveal_loss: bool = False, every: float = 0.5, console: Any = None) -> None:
        self._reveal_loss = reveal_loss
        self._every = every
        self._console = console
        self._bar: rich.progress.Progress | None = None
        self._task: Any = None
        self._due = 0.0

    def __call__(self, moment: Moment) -> None:
        """Update the bar, unless it was updated a moment ago."""
        started = time.monotonic()
        if started < self._due and moment.left:
            return
        if self._bar is None:
            self._bar = self._started(moment.step + moment.left)
        loss = f"loss {moment.statistics.loss.reveal():.4f} (private)" if self._reveal_loss else ""
        spent = f"epsilon {rounded_up(moment.epsilon)} at delta {moment.record.plan.delta:g}"
        self._bar.update(self._task, completed=moment.step, spent=spent, left=f"{moment.left} left", loss=loss)
        now = time.monotonic()
        self._due = now + max(
            self._every, 10 * (now - started)
        )  # spend at most a tenth of the time on accounting, which is slow for long schedules
        if not moment.left:
            self.close()

    def close(self) -> None:
        """Stop the bar, leaving its last state on the terminal."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _started(self, steps: int) -> rich.progress.Progress:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = [TextColumn("training"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[left]}")]
        columns += [TextColumn("{task.fields[spent]}"), TextColumn("{task.fields[loss]}"), TimeRemainingColumn()]
        bar = Progress(*columns, console=self._console)
        bar.start()
        self._task = bar.add_task("training", total=steps, left="", spent="", loss="")
        return bar
