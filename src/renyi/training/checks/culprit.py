"""What lets units see each other, in words: the first module whose output for a unit changes although its input does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from renyi.training.checks.comparison import FLOAT64, WITHOUT_FLOAT64, Comparison, Difference, Setting

FIX = (
    "Each unit's loss may depend on its own data alone: normalise within a unit (GroupNorm, LayerNorm), take the mean over "
    'each unit\'s own axes (reduction="none"), divide by constants, never by the size of the batch, and draw no negatives from '
    "the batch."
)
BATCH_NORM = "Use GroupNorm instead of BatchNorm, or put it in eval mode."
GRADIENT = (
    "a unit's gradient changes with the others in its batch, although its loss does not: by a factor computed from the whole "
    f"batch and detached, in the loss function or in the model, or by a backward pass that mixes units. {FIX}"
)
FILLERS = (
    "the loss of a person changes with the rows that only fill up, whose number the longest person of the batch decides: one "
    "person would move the gradients of the others. Multiply by present: (loss_per_row * present).sum(1) / present.sum(1)."
)
NEIGHBOURS = (
    "the loss of a unit depends on how its neighbours are padded: collated alone it has another loss, or another gradient, "
    "than in a batch filled up to the longest unit, so one unit would move the gradients of the others. Mask the padding (in "
    "means, sums, attention and norms), or pad every unit to one fixed length in the dataset."
)


def find(comparison: Comparison, difference: Difference) -> str:
    """Say what makes the difference, and what to do."""
    if difference.unit is None:
        return GRADIENT
    first = _passed(comparison, difference, difference.one)
    second = _passed(comparison, difference, difference.other)
    allowed = (FLOAT64 if difference.wide else WITHOUT_FLOAT64[False]).losses
    changed = False
    for (name, module, into, out), (again, _, into_again, out_again) in zip(first, second, strict=False):
        if name != again:
            break
        moved = _moved(out, out_again, allowed)
        changed |= moved
        if moved and not _moved(into, into_again, allowed):
            fix = BATCH_NORM if isinstance(module, nn.modules.batchnorm._BatchNorm) else FIX
            return f"{words(name, module)} lets units see each other: its output for one changes with the others. {fix}"
    where = " before they reach the model" if changed else ""
    return (
        f"the loss function lets units see each other{where}: a unit's loss changes with the others in its batch. {FIX}"
    )


def words(name: str, module: nn.Module) -> str:
    """A module, named."""
    return f"the module {name} ({type(module).__name__})" if name else f"the model itself ({type(module).__name__})"


Passed = tuple[str, nn.Module, list[Tensor], list[Tensor]]


def _passed(comparison: Comparison, difference: Difference, setting: Setting) -> list[Passed]:
    """What every module got and gave for the unit, in the order in which they finished."""
    assert difference.unit is not None
    place, units = setting.places[difference.unit], setting.units
    entered: list[list[Tensor]] = []
    seen: list[Passed] = []

    def parts(value: Any) -> list[Tensor]:
        return [
            leaf[place].detach().cpu().double().clone()
            for leaf in tree_leaves(value)
            if isinstance(leaf, Tensor) and leaf.dim() > 0 and leaf.shape[0] == units and not leaf.is_complex()
        ]

    def enter(module: nn.Module, args: Any, kwargs: Any) -> None:
        entered.append(parts((args, kwargs)))

    def leave(name: str) -> Callable[..., None]:
        return lambda module, args, output: seen.append((name, module, entered.pop(), parts(output)))

    handles: list[torch.utils.hooks.RemovableHandle] = []
    for name, module in comparison.model.named_modules():
        handles.append(module.register_forward_pre_hook(enter, prepend=True, with_kwargs=True))
        handles.append(module.register_forward_hook(leave(name)))
    try:
        comparison.run(setting, difference.seed, wide=difference.wide)
    finally:
        for handle in handles:
            handle.remove()
    return seen


def _moved(one: list[Tensor], other: list[Tensor], allowed: float) -> bool:
    if [part.shape for part in one] != [part.shape for part in other]:
        return True
    pairs = [(a.nan_to_num(), b.nan_to_num()) for a, b in zip(one, other, strict=True) if a.numel()]
    return any(bool((a - b).abs().max() > allowed * a.abs().max()) for a, b in pairs)
