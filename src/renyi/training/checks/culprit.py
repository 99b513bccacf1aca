"""Which module lets units see each other: the first whose output for a unit changes although its input does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from renyi.training.checks.trial import Trial
from renyi.training.clipping.rounding import Rounding

FIX = (
    "Each unit's loss may depend on its own data alone: normalise within a unit (GroupNorm, LayerNorm), take the mean over "
    'each unit\'s own axes (reduction="none"), and draw no negatives from the batch.'
)
DRAWN = (
    " The losses are random: where random numbers fall on rows that the data choose, other rows get other numbers; draw "
    "them for all rows before choosing."
)

GRADIENT = (
    "a unit's gradient changes with the others in its batch, although its loss does not: by a factor computed from the whole "
    f"batch and detached, in the loss function or in the model, or by a backward pass that mixes units. {FIX}"
)
BY_SIZE = (
    "the losses are random, and their law changes with the number of units in the batch: a unit alone has other losses than "
    f"in company, far beyond chance. Divide by constants, never by the size of the batch. {FIX}"
)

Setting = tuple[Any, int, int]
"""A batch, its number of units, and the place of the unit that is looked at."""


def find(trial: Trial, one: Setting, other: Setting, seed: int, rounding: Rounding) -> str:
    """Say in words what lets the unit of these settings see the others, and what to do."""
    first, drew = _passed(trial, one, seed)
    second, _ = _passed(trial, other, seed)
    hint = DRAWN if drew else ""
    changed = False
    for (name, module, into, out), (again, _, into_again, out_again) in zip(first, second, strict=False):
        if name != again:
            break
        moved = _moved(out, out_again, rounding)
        changed |= moved
        if moved and not _moved(into, into_again, rounding):
            batch_norm = isinstance(module, nn.modules.batchnorm._BatchNorm)
            fix = "Use GroupNorm instead of BatchNorm, or put it in eval mode." if batch_norm else FIX
            return f"{words(name, module)} lets units see each other: its output for one changes with the others. {fix}{hint}"
    where = " before they reach the model" if changed else ""
    return (
        f"the loss function lets units see each other{where}: a unit's loss changes with the others in its batch. "
        f"{FIX}{hint}"
    )


def words(name: str, module: nn.Module) -> str:
    """A module, named."""
    return f"the module {name} ({type(module).__name__})" if name else f"the model itself ({type(module).__name__})"


Passed = tuple[str, nn.Module, list[Tensor], list[Tensor]]


def _passed(trial: Trial, setting: Setting, seed: int) -> tuple[list[Passed], bool]:
    """What every module got and gave for the unit, in the order in which they finished."""
    batch, units, place = setting
    open_calls: list[list[Tensor]] = []
    seen: list[Passed] = []

    def parts(value: Any) -> list[Tensor]:
        return [
            leaf[place].detach().cpu().double().clone()
            for leaf in tree_leaves(value)
            if isinstance(leaf, Tensor) and leaf.dim() > 0 and leaf.shape[0] == units and not leaf.is_complex()
        ]

    def entered(module: nn.Module, args: Any, kwargs: Any) -> None:
        open_calls.append(parts((args, kwargs)))

    def left(name: str) -> Callable[..., None]:
        def note(module: nn.Module, args: Any, output: Any) -> None:
            seen.append((name, module, open_calls.pop(), parts(output)))

        return note

    handles: list[torch.utils.hooks.RemovableHandle] = []
    for name, module in trial.model.named_modules():
        handles.append(module.register_forward_pre_hook(entered, prepend=True, with_kwargs=True))
        handles.append(module.register_forward_hook(left(name)))
    try:
        drew = trial.run(batch, units, seed).drew
    finally:
        for handle in handles:
            handle.remove()
    return seen, drew


def _moved(one: list[Tensor], other: list[Tensor], rounding: Rounding) -> bool:
    if [part.shape for part in one] != [part.shape for part in other]:
        return True
    return any(
        bool(rounding.moved(a, b, beside=float(a.abs().nan_to_num(0, 0, 0).max())).any())
        for a, b in zip(one, other, strict=True)
        if a.numel()
    )
