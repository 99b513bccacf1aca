"""Whether the loss of a unit depends on how far it is filled up: its neighbours decide that, so it must not.

The longest unit of a batch decides how many rows or tokens the others get on top. A loss that sees these changes with
the company, and clipping no longer bounds what one unit moves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from renyi.training.clipping.leaks import without_dropout
from renyi.training.errors import LeakError
from renyi.training.tickets import Ticket
from renyi.training.units import Rows, Source, longer, tensors

COMPANY, FEW = 32, 4  # units that are put together, and those of them that are tried alone
ROUNDING = 2e-2  # by how much a loss may move: rounding in bfloat16 by other kernels

Losses = Callable[[nn.Module, Any], torch.Tensor]


def check(model: nn.Module, losses: Losses, ticket: Ticket) -> None:
    """Raise if the loss of a unit of this batch moves with the padding. Random losses cannot be compared and pass."""
    source = ticket.source
    with torch.random.fork_rng(), without_dropout(model):
        if source.units.owned and isinstance(ticket.data, Rows):
            _fillers(model, losses, ticket.data)
        if source.collate.custom and ticket.units > 1:
            _alone(model, losses, source)


def _fillers(model: nn.Module, losses: Losses, rows: Rows) -> None:
    """Compare with the same batch where everybody has more rows that are not present."""
    base = _run(model, losses, rows, 0)
    if _moved(base, _run(model, losses, rows, 1)):
        return
    if _moved(base, _run(model, losses, longer(rows, rows.present.shape[1] + 1), 0)):
        raise LeakError(
            "the loss of a person changes with the rows that only fill up, whose number the longest person of the "
            "batch decides: one person would move the gradients of the others. Multiply by present: "
            "(loss_per_row * present).sum(1) / present.sum(1)."
        )


def _alone(model: nn.Module, losses: Losses, source: Source) -> None:
    """Compare the losses of a few units in company with those they have when collated alone."""
    items = source.items(COMPANY)
    torch.manual_seed(0)
    singles = [(source.collate([item]), place) for place, item in enumerate(items)]
    singles.sort(key=lambda single: sum(leaf.numel() for leaf in tensors(single[0])))  # the shortest get most padding
    base = _run(model, losses, source.collate(items), 0)
    if _moved(base, _run(model, losses, source.collate(items), 1)):
        return
    for batch, place in singles[:FEW]:
        if _moved(base[place : place + 1], _run(model, losses, batch, 0), _scale(base)):
            raise LeakError(
                "the loss of a unit depends on how its neighbours are padded: collated alone it has another loss than "
                "in a batch filled up to the longest unit, so one unit would move the gradients of the others. Mask "
                "the padding (in means, sums, attention and norms), or pad every unit to one fixed length in the "
                "dataset."
            )


def _run(model: nn.Module, losses: Losses, batch: Any, seed: int) -> torch.Tensor:
    torch.manual_seed(seed)
    with torch.enable_grad():  # a loss may itself differentiate
        return losses(model, batch).detach().float()


def _scale(values: torch.Tensor) -> float:
    return float(values.abs().nan_to_num(0, 0, 0).max()) if values.numel() else 0.0


def _moved(before: torch.Tensor, after: torch.Tensor, scale: float | None = None) -> bool:
    """Whether values differ by more than rounding, measured by the largest of them."""
    if before.shape != after.shape:
        return True
    atol = ROUNDING * (_scale(before) if scale is None else scale) + 1e-30
    return not torch.allclose(before, after, rtol=0, atol=atol, equal_nan=True)
