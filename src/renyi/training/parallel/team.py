"""The processes that train one run, as the run sees them: one process by itself is the smallest team.

All of them hold the whole model, draw the same units from the same key, clip their own part of a draw, add up the clipped sums
over all, and add the same noise, once, to that sum. One of them, the leader, writes the journal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import torch

Made = TypeVar("Made")

Finding = dict[str, object]
"""The line of a leak that a look has found."""


def nothing_found(_: BaseException) -> Finding | None:
    """Of an error that no look has raised."""
    return None


class Team:
    """One process that trains by itself: it leads, and there is nobody to agree with."""

    rank = 0
    size = 1
    finding: Finding | None = None
    """The leak that was found, here or in another process, when a reported block last failed: all know the same one."""

    @property
    def leads(self) -> bool:
        """Whether this process writes the journal."""
        return self.rank == 0

    @contextmanager
    def meeting(self, **facts: object) -> Iterator[None]:
        """Run the block; go on only if it succeeded in every process, and all of them state the same facts.

        Facts are compared by their text; an error quotes their names.
        """
        yield

    @contextmanager
    def reporting(self, finding: Callable[[BaseException], Finding | None] = nothing_found) -> Iterator[None]:
        """Run the block; if it fails, tell the others at the meeting where they wait, with the leak that was found."""
        try:
            yield
        except BaseException as error:
            self.finding = finding(error)
            raise

    def led(self, work: Callable[[], bytes]) -> bytes:
        """What the leader's ``work`` returns, in every process, once it has returned; if it fails, all do."""
        return work()

    def add_up(self, tensors: Sequence[torch.Tensor]) -> None:
        """Replace each tensor by its sum over all processes: the same bits in each of them."""

    def add_up_own(self, parts: torch.Tensor) -> torch.Tensor:
        """Of as many parts, one after the other, as there are processes, the sum over all processes of this one's."""
        return parts

    def spread(self, tensors: Sequence[torch.Tensor]) -> None:
        """Give every process the leader's values."""

    def together(self, what: str, work: Callable[[], Made]) -> Made:
        """What ``work`` returns, which all processes do together by collectives of its own."""
        return work()
