"""Whether the loss of a unit depends on how far it is filled up: its neighbours decide that, so it must not.

The longest unit of a batch decides how many rows or tokens the others get on top. A loss, or a gradient, that sees these
changes with the company, and clipping no longer bounds what one unit moves. Batches of another length go through other
kernels, so two runs may differ by the rounding of those: 1e-4 in float32, percents in half precision.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from renyi.training.checks.quiet import without_dropout
from renyi.training.checks.trial import Seen, Trial
from renyi.training.checks.two_sample_test import told_apart
from renyi.training.clipping.rounding import Precision
from renyi.training.errors import LeakError
from renyi.training.feeding.tickets import Ticket
from renyi.training.feeding.units import Rows, Source, longer, tensors

COMPANY, FEW = 32, 4  # units that are put together, and those of them that are tried alone

Losses = Callable[[nn.Module, Any], torch.Tensor]

FILLERS = (
    "the loss of a person changes with the rows that only fill up, whose number the longest person of the batch decides: one "
    "person would move the gradients of the others. Multiply by present: (loss_per_row * present).sum(1) / present.sum(1)."
)
NEIGHBOURS = (
    "the loss of a unit depends on how its neighbours are padded: collated alone it has another loss, or another gradient, "
    "than in a batch filled up to the longest unit, so one unit would move the gradients of the others. Mask the padding (in "
    "means, sums, attention and norms), or pad every unit to one fixed length in the dataset."
)


def check(model: nn.Module, losses: Losses, ticket: Ticket) -> None:
    """Raise if the loss or gradient of a unit of this batch moves with the padding; random losses are compared by their law."""
    source = ticket.source
    with torch.random.fork_rng(), without_dropout(model):
        look = _Look(model, losses)
        if source.units.owned and isinstance(ticket.data, Rows):
            look.at_fillers(ticket.data)
        if source.collate.custom and ticket.units > 1:
            look.at_neighbours(source)


class _Look:
    """Runs of one model on the same units, filled up more or less."""

    def __init__(self, model: nn.Module, losses: Losses) -> None:
        self._trial = Trial(model, losses)
        self._precision = Precision(model)
        self._choice = random.Random(os.urandom(16))

    def at_fillers(self, rows: Rows) -> None:
        """Compare with the same batch where everybody has more rows that are not present."""
        units = len(rows.present)
        more = longer(rows, rows.present.shape[1] + 1)
        signs = [self._choice.choice((-1.0, 1.0)) for _ in range(units)]
        seed, base = self._base(rows, units, signs)
        if base.drew:
            place = self._choice.randrange(units)
            self._expect_one_law(rows, units, place, more, units, place, FILLERS)
            return
        found = self._trial.run(more, units, seed, signs)
        rounding = self._precision.other_size(self._trial.device)
        if base.moved(found, range(units), rounding) or base.turned(found, rounding, length=base.length()):
            raise LeakError(FILLERS)

    def at_neighbours(self, source: Source) -> None:
        """Compare the losses and gradients of a few units in company with those they have when collated alone."""
        items = source.items(COMPANY)
        torch.manual_seed(self._seed())
        singles = [(source.collate([item]), place) for place, item in enumerate(items)]
        singles.sort(
            key=lambda single: sum(leaf.numel() for leaf in tensors(single[0]))
        )  # the shortest get most padding
        singles = singles[:FEW]
        batch, units = source.collate(items), len(items)
        seed, base = self._base(batch, units, None)
        if base.drew:
            alone, place = singles[0]
            self._expect_one_law(batch, units, place, alone, 1, 0, NEIGHBOURS)
            return
        rounding = self._precision.other_size(self._trial.device)
        if base.moved(self._trial.run(source.collate(items), units, seed), range(units), rounding):
            return  # what the collate function makes of them is random
        losses, weights, total = base.losses.clone(), [0.0] * units, None
        for alone, place in singles:
            found = self._trial.run(alone, 1, seed, [1.0])
            losses[place] = found.losses[0]
            weights[place] = 1 / (found.length() or 1.0)
            if found.gradient is not None:
                part = [weights[place] * each for each in found.gradient]
                total = part if total is None else [a + b for a, b in zip(total, part, strict=True)]
        base = self._trial.run(batch, units, seed, weights)
        apart = Seen(losses, total, drew=False)
        if base.moved(apart, range(units), rounding) or base.turned(apart, rounding):
            raise LeakError(NEIGHBOURS)

    def _base(self, batch: Any, units: int, weights: list[float] | None) -> tuple[int, Seen]:
        seed = self._seed()
        with self._precision:
            return seed, self._trial.run(batch, units, seed, weights)

    def _expect_one_law(
        self, one: Any, units: int, place: int, other: Any, others: int, other_place: int, message: str
    ) -> None:
        def numbers(batch: Any, units: int, place: int) -> tuple[float, float]:
            weights = [float(each == place) for each in range(units)]
            return self._trial.run(batch, units, self._seed(), weights).numbers(place)

        found = told_apart(lambda: numbers(one, units, place), lambda: numbers(other, others, other_place))
        if found is not None:
            raise LeakError(message)

    def _seed(self) -> int:
        return self._choice.getrandbits(63)
