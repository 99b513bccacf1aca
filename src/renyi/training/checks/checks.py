"""When a run looks whether units reach each other: at its 1st, 2nd, 4th, 8th, ... release.

A model may couple units from some step on (a flag, train mode, a warm-up), so one look is not enough; a look costs a few
forward passes on a few units, so it is not taken at every step.
"""

from __future__ import annotations

from typing import Any

from torch import nn

from renyi.training.checks import padding
from renyi.training.clipping.bounds import ClipBounds
from renyi.training.clipping.clipper import Clipper
from renyi.training.feeding.tickets import Ticket

PAIR, ENOUGH = 2, 4  # units that can be exchanged at all, and units after which a look counts as full


class Checks:
    """Looks at the first batch with enough units at or after each release that is due."""

    def __init__(self, model: nn.Module, losses: Any, clipper: Clipper) -> None:
        self._model, self._losses, self._clipper = model, losses, clipper
        self._due = 1
        self._most = 0

    def look(self, ticket: Ticket, bounds: ClipBounds) -> None:
        """Check this batch if it is due: by its release, or because none with as many units was seen so far."""
        release, units = ticket.step + 1, ticket.units
        due = units >= PAIR and release >= self._due
        if not due and not self._most < min(units, ENOUGH):
            return
        self._clipper.check(ticket.data, units, bounds)
        padding.check(self._model, self._losses, ticket)
        self._most = max(self._most, units)
        if units >= PAIR:
            self._due = 1 << release.bit_length()
