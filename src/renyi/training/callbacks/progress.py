"""A bar on the terminal: epsilon spent of what was planned, steps left, and the loss only if it is asked for."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Self

from renyi.numerics.printing import rounded_up
from renyi.training.callbacks.moment import Moment

if TYPE_CHECKING:
    import rich.progress


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
        self._planned = ""

    def __call__(self, moment: Moment) -> None:
        """Update the bar, unless it was updated a moment ago."""
        started = time.monotonic()
        if started < self._due and moment.left:
            return
        if self._bar is None:
            self._bar = self._started(moment.step + moment.left)
            self._planned = rounded_up(moment.record.plan.cost())
        loss = f"loss {moment.statistics.loss.reveal():.4f} (private)" if self._reveal_loss else ""
        spent = f"spent epsilon {rounded_up(moment.epsilon)} of {self._planned} at delta {moment.record.plan.delta:g}"
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
