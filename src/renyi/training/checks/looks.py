"""When a run looks whether units reach each other: at its 1st, 2nd, 4th, 8th, ... release, and when its losses change.

A model may couple units from some step on (a flag, train mode, a warm-up), so one look is not enough; a look costs as much as
a few steps, so it is not taken at every step. But a loss that calls a torch function, or calls it in a way, that no step has
called before may do something new: then a look is taken at once.
"""

from __future__ import annotations

import os
import random
import time
from typing import Any

from torch import nn

from renyi.training.checks.look import Look
from renyi.training.clipping.clipper import Clipper
from renyi.training.errors import Coupled, Misclipped, Unrepeatable
from renyi.training.feeding.tickets import Ticket

FINDINGS = (Coupled, Misclipped, Unrepeatable)
"""Errors of a look that cast doubt on what was released since the last one."""

PAIR, ENOUGH = 2, 4
"""Units that can be exchanged at all, and units after which a look counts as full."""


class Looks:
    """Looks at the first batch with enough units at or after each release that is due."""

    def __init__(self, model: nn.Module, losses: Any, clipper: Clipper) -> None:
        self._model, self._losses, self._clipper = model, losses, clipper
        self._due = 1
        self._most = 0
        self._owed = False
        self._looked: tuple[int, int] | None = None
        self.last_clean = 0
        self.taken, self.doubts, self.seconds = 0, 0, 0.0
        self.unexamined: dict[str, None] = {}

    def before(self, ticket: Ticket) -> None:
        """Look at this batch if it is due: by its release, or because none with as many units was seen so far."""
        release, units = ticket.step + 1, ticket.units
        due = units >= PAIR and (release >= self._due or self._owed)
        if due or self._most < min(units, ENOUGH):
            self._at(ticket)

    def after(self, ticket: Ticket) -> None:
        """Look at this batch if its losses did something new; at the next one, if this one has a single unit."""
        if self._clipper.met_something_new and self._looked != (ticket.step, ticket.chunk):
            self._owed = True
            if ticket.units >= PAIR:
                self._at(ticket)

    def _at(self, ticket: Ticket) -> None:
        started = time.process_time()
        look = Look(self._model, self._losses, random.Random(os.urandom(16)))
        self._clipper.looked_at_by(look, ticket.data, ticket.units)
        look.at_padding(ticket)
        self.taken, self.seconds = self.taken + 1, self.seconds + time.process_time() - started
        self.doubts += look.doubts
        self.unexamined.update(dict.fromkeys(look.unexamined))
        self._looked = ticket.step, ticket.chunk
        self._most = max(self._most, ticket.units)
        if ticket.units >= PAIR:
            self.last_clean = ticket.step + 1
            self._due, self._owed = 1 << self.last_clean.bit_length(), False
