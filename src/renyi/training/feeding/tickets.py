"""Batches as single-use tickets: what a run will clip, in the order in which it was drawn.

One Poisson draw is one step. It comes in chunks of bounded size; with the last one the step is complete, and noise is added. A
ticket that comes twice, late, or from elsewhere would be clipped or counted wrongly, so it is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, Self
from weakref import WeakKeyDictionary

import torch

from renyi.training.errors import LeakError, TrainingError
from renyi.training.feeding.units import Source, tensors


@dataclass(frozen=True, slots=True, eq=False, repr=False, weakref_slot=True)
class Ticket:
    """One chunk of one draw. How many units were drawn is private, so neither that nor the chunk's number is printed.

    It is passed to ``run.step`` whole, and may go through the hands of a trainer before, which wants to move it to a device.
    """

    step: int
    chunk: int
    chunks: int
    units: int
    data: Any
    source: Source

    @property
    def last(self) -> bool:
        """Whether the step is complete with this chunk."""
        return self.chunk + 1 == self.chunks

    def __repr__(self) -> str:
        return f"Ticket(step={self.step})"

    def to(self, *_: Any, **__: Any) -> Self:
        """The ticket itself: the run moves its data to the model when it computes the losses."""
        return self

    def _refuse(self, *_: object) -> NoReturn:
        raise TrainingError(
            f"{self} is not taken apart: a loss, and its backward(), of a whole batch would be neither clipped nor recorded. "
            "Pass it to run.step(batch) as it is; the run calls losses(model, data) with what is in it, and steps."
        )

    # What `batch["labels"]`, `x, y = batch` and `model(**batch)` ask for.
    __getitem__ = keys = _refuse


Issued = WeakKeyDictionary[Ticket, list[tuple[torch.Tensor, int]]]
"""Tickets, and the tensors that each was issued with, with their version counters."""


class Turnstile:
    """Admits each ticket of the current issue once, in order."""

    def __init__(self) -> None:
        self._issued: Issued = WeakKeyDictionary()
        self._next = (0, 0)

    def open(self, step: int) -> Callable[[Ticket], Ticket]:
        """Begin a new issue of tickets at a step; all earlier tickets become void, and an unfinished draw is dropped.

        The returned function issues a ticket. Tickets are recognised by identity, so a copy is not valid.
        """
        issued: Issued = WeakKeyDictionary()
        self._issued = issued
        self._next = (step, 0)

        def issue(ticket: Ticket) -> Ticket:
            issued[ticket] = [(leaf, _version(leaf)) for leaf in tensors(ticket.data)]
            return ticket

        return issue

    def admit(self, ticket: object) -> Ticket:
        """Return the ticket if it is the next one; raise ``TrainingError`` otherwise."""
        if not isinstance(ticket, Ticket):
            raise TrainingError(
                "run.step takes the batches of run.batches(dataset, ...), drawn by Poisson sampling; got "
                f"{type(ticket).__name__}. Batches made elsewhere, shuffled for instance, are another scheme: no "
                "Poisson guarantee covers them."
            )
        if ticket not in self._issued:
            raise TrainingError(
                f"{ticket} is void: it belongs to another run, or to a loop that ended, or is a copy, or its draw was "
                "dropped after an error. Start again with: for batch in run.batches(dataset, ...)."
            )
        if (ticket.step, ticket.chunk) != self._next:
            raise TrainingError(
                f"{ticket} is not next: the run waits for another batch of step {self._next[0]}. Each batch is "
                "taken once, in order; leaving one out, or taking it twice, would change who was drawn."
            )
        if not _as_issued(tensors(ticket.data), self._issued[ticket]):
            raise LeakError(
                f"the data of {ticket} was changed between run.batches and run.step (MixUp, CutMix, normalisation over the "
                "batch, a write in place). What mixes units makes clipping bound nobody's influence. Transform each item by "
                "itself in the dataset, or the whole batch, unit by unit, in the loss function."
            )
        self._next = (ticket.step + 1, 0) if ticket.last else (ticket.step, ticket.chunk + 1)
        return ticket

    def shut(self) -> None:
        """Void every ticket."""
        self._issued = WeakKeyDictionary()


def _version(tensor: torch.Tensor) -> int:
    """How often a tensor has been written; tensors of inference mode do not count."""
    return 0 if tensor.is_inference() else tensor._version


def _as_issued(now: list[torch.Tensor], issued: list[tuple[torch.Tensor, int]]) -> bool:
    """Whether these are the tensors that were issued, unwritten, or equal ones (on another device, say)."""
    return len(now) == len(issued) and all(
        _version(old) == version and (new is old or (new.shape == old.shape and torch.equal(new.to(old), old)))
        for new, (old, version) in zip(now, issued, strict=True)
    )
