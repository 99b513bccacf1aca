"""Batches as single-use tickets: what a run will clip, in the order in which it drew it.

One Poisson draw is one step. It comes in chunks of bounded size; the step is complete, and noise is added, with the
last one. A ticket that comes twice, late, or from elsewhere would be clipped or counted wrongly, so it is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from renyi.training.errors import TrainingError


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ticket:
    """One chunk of one draw. How many were drawn is private, so it does not show."""

    issue: object
    step: int
    chunk: int
    chunks: int
    units: int
    data: Any

    @property
    def last(self) -> bool:
        """Whether the step is complete with this chunk."""
        return self.chunk + 1 == self.chunks

    def __repr__(self) -> str:
        return f"Ticket(step={self.step}, chunk={self.chunk})"


class Turnstile:
    """Lets each ticket of the current issue through once, in order."""

    def __init__(self) -> None:
        self._issue: object = None
        self._next = (0, 0)

    def open(self, step: int) -> object:
        """Begin a new issue of tickets at a step; all earlier tickets are void, and an unfinished draw is dropped."""
        self._issue = object()
        self._next = (step, 0)
        return self._issue

    def admit(self, ticket: object) -> Ticket:
        """The ticket, if its turn has come."""
        if not isinstance(ticket, Ticket):
            raise TrainingError(
                "run.step takes the batches of run.batches(dataset, ...), drawn by Poisson sampling; got "
                f"{type(ticket).__name__}. Batches made elsewhere, shuffled for instance, are another scheme: no "
                "Poisson guarantee covers them."
            )
        if ticket.issue is not self._issue:
            raise TrainingError(
                f"{ticket} is void: it belongs to another run, or to a loop that ended, or its draw was dropped after "
                "an error. Start again with: for batch in run.batches(dataset, ...)."
            )
        if (ticket.step, ticket.chunk) != self._next:
            raise TrainingError(
                f"{ticket} is not next: the run waits for chunk {self._next[1]} of step {self._next[0]}. Each batch "
                "is taken once, in order; leaving one out, or taking it twice, would change who was drawn."
            )
        self._next = (ticket.step + 1, 0) if ticket.last else (ticket.step, ticket.chunk + 1)
        return ticket

    def shut(self) -> None:
        """Void every ticket."""
        self._issue = None
