"""Epsilon spent, to the logger or the bar that a training script already has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from renyi import check
from renyi.errors import InvalidInput
from renyi.training.callbacks.moment import Moment

Write = Callable[[dict[str, float], int], object]


class LogTo:
    """Writes ``epsilon_spent`` and ``epsilon_planned`` to a logger: ``Run(..., callback=LogTo(SummaryWriter()))``.

    The logger is TensorBoard's ``SummaryWriter``, a logger of Lightning, an ``Accelerator`` or a run of Weights & Biases
    (whatever has ``log(values, step=...)``), a bar of tqdm, or a function of a dict and a step. It is written to after every
    ``every`` releases and the last, because an exact epsilon takes milliseconds; a bar advances with each.

    What is spent is no guarantee while the run can go on: that is what was planned.
    """

    def __init__(self, logger: Any, *, every: int = 10) -> None:
        self._write = _write(logger)
        self._bar = logger if hasattr(logger, "set_postfix") else None
        self._every = check.whole(1, every=every)
        self._planned: float | None = None

    def __call__(self, moment: Moment) -> None:
        """Write, if it is time to."""
        if self._bar is not None:
            self._bar.update(moment.step - self._bar.n)
        if moment.step % self._every and moment.left:
            return
        if self._planned is None:
            self._planned = moment.record.plan.cost()
        self._write({"epsilon_spent": moment.epsilon, "epsilon_planned": self._planned}, moment.step)


def _write(logger: Any) -> Write:
    """How values are written to this logger."""
    if hasattr(logger, "add_scalar"):
        return lambda values, step: [logger.add_scalar(name, value, step) for name, value in values.items()]
    if hasattr(logger, "log_metrics"):
        return lambda values, step: logger.log_metrics(values, step=step)
    if hasattr(logger, "set_postfix"):
        return lambda values, step: logger.set_postfix({name: f"{value:.3g}" for name, value in values.items()})
    if hasattr(logger, "log"):
        return lambda values, step: logger.log(values, step=step)
    if callable(logger):
        return logger
    raise InvalidInput(
        f"LogTo writes to what has add_scalar, log_metrics, log or set_postfix, or to a function of a dict and a step; got "
        f"{logger!r}."
    )
