"""Per-unit gradients by a plain loop, beside those that the clipping found: one unit at a time, so that few are held."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import Any

import torch
from torch import Tensor

from renyi.training.checks.comparison import OTHER_SIZE, WITHOUT_FLOAT64, Comparison, Losses, Seen, Setting, distance
from renyi.training.clipping.contract import one_per_unit
from renyi.training.clipping.gradients import PerUnit, full_precision, norm2

Part = tuple[Tensor, dict[str, PerUnit]]
Measure = Callable[[Any, int, Losses], Generator[Part, None, None]]
"""How the clipping finds losses and per-unit gradients of a batch, of all its units or a few at a time."""

NEGLIGIBLE = 1e-14
"""A difference that no clip bound notices: bounds start at 1e-12."""


def beside_a_loop(
    comparison: Comparison, everyone: Setting, seed: int, measure: Measure, *, rough: bool = False, wide: bool = False
) -> Generator[tuple[Seen, str | None], None, None]:
    """Every unit by a backward pass of its own, and a parameter whose gradient the clipping finds otherwise or too short.

    Too long is no fault, and only clips more: what underflow may have lost is added to norms, and multiplied by the data.
    """
    looped = _looped(comparison, everyone, seed, wide=wide)
    with closing(measure(everyone.batch, everyone.units, comparison.losses(seed))) as parts:
        while True:
            with comparison.controlled(wide=wide):
                part = next(parts, None)
            if part is None:
                return
            yield from _compared(list(comparison.parameters), part, looped, rough=rough)
            del part  # before the next one is made


def _looped(comparison: Comparison, everyone: Setting, seed: int, *, wide: bool) -> Iterator[Seen]:
    batch, units = everyone.batch, everyone.units
    with comparison.controlled(wide=wide), torch.enable_grad():
        values = one_per_unit(comparison.losses(seed)(comparison.model, batch), units)
    losses = values.detach().double().cpu()
    for unit in range(units):
        only = torch.zeros_like(values)
        only[unit] = 1
        with comparison.controlled(wide=wide):  # checkpointing runs parts of the model again
            gradient = comparison.gradient(values, only, keep=unit + 1 < units)
        yield Seen(Setting(batch, units, (unit,), (1.0,)), losses[unit : unit + 1], gradient, seed)


def _compared(
    names: list[str], part: Part, looped: Iterator[Seen], *, rough: bool
) -> Iterator[tuple[Seen, str | None]]:
    values, forms = part
    tolerance = WITHOUT_FLOAT64[True] if rough else OTHER_SIZE
    norms = dict.fromkeys(names, [0.0] * len(values))
    with full_precision(values.device):
        norms |= {name: norm2(form).sqrt().tolist() for name, form in forms.items()}
    for unit, seen in zip(range(len(values)), looped, strict=False):
        rows = zip(names, seen.gradient or (), seen.norms, seen.allowed(tolerance), strict=False)
        disagreeing = (
            name
            for name, true, norm, most in rows
            for off in (distance(true, _found(forms.get(name), unit, true)), norm - norms[name][unit])
            if most + NEGLIGIBLE < off < math.inf
        )
        yield seen, next(disagreeing, None)


def _found(form: PerUnit | None, unit: int, like: Tensor) -> Tensor:
    """The gradient of one unit, by the same arithmetic as the sum that is released."""
    if form is None:
        return torch.zeros_like(like)
    with full_precision(like.device):
        one = torch.tensor([unit], device=like.device)
        return form.pick(one).weighted(torch.ones(1, device=like.device)).view_as(like)
