"""Ways in which the data of one unit reach another unit's loss, or leave without noise.

A gradient clipped to C bounds the influence of its own unit only if the other units' gradients do not depend on it. What
cannot be seen in types or shapes is seen by trying: exchange the other units, and a unit's own loss must stay as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from renyi.training.clipping.batches import take
from renyi.training.clipping.contract import one_per_unit
from renyi.training.errors import ClippingError, LeakError

FEW = 8  # units that are tried
SAME_SIZE, ALONE = 1e-5, 2e-2  # by how much a loss may move: rounding, and rounding in bfloat16 by other kernels

Losses = Callable[[nn.Module, Any], Tensor]


def few(batch: Any, units: int) -> Any:
    """The first few units of a batch."""
    return take(batch, units, range(min(units, FEW)))


def check(model: nn.Module, losses: Losses, batch: Any, units: int) -> None:
    """Raise if the loss of a unit depends on which others are in its batch, or if the forward pass writes buffers.

    The random state is set before every run, so that dropout draws the same mask at the same place; only where a unit
    is tried alone, in a batch of another size, is dropout switched off. The caller restores the state.
    """
    before = {name: (buffer, buffer._version) for name, buffer in model.named_buffers()}
    everyone = tuple(range(units))
    base = _run(model, losses, batch, units, everyone)
    again = _run(model, losses, batch, units, everyone)
    if units > 1:
        if _moved(base, again, SAME_SIZE) and _changed(model, before) is None:
            raise ClippingError(
                "the losses differ between two runs from the same torch random state, so nothing can be compared. "
                "Draw all randomness inside the model from torch."
            )
        for unit in everyone:
            for others in _exchanges(units, unit):
                if _moved(base, _run(model, losses, batch, units, others), SAME_SIZE, unit):
                    tried = (everyone, unit), (others, unit)
                    raise LeakError(_blame(model, losses, batch, units, tried, SAME_SIZE))
    check_buffers(model, before)
    if units > 1:
        with without_dropout(model):
            base = _run(model, losses, batch, units, everyone)
            if _moved(base, _run(model, losses, batch, units, everyone, seed=1), SAME_SIZE):
                return  # random in other ways than dropout: a batch of another size draws other numbers
            try:
                alone = torch.cat([_run(model, losses, batch, units, (unit,)) for unit in everyone])
            except Exception as error:
                raise ClippingError(
                    f"the model fails on a batch of a single unit ({error}), and Poisson sampling draws such batches."
                ) from error
            for unit in everyone:
                if _moved(base, alone, ALONE, unit):
                    tried = (everyone, unit), ((unit,), 0)
                    raise LeakError(_blame(model, losses, batch, units, tried, ALONE))


def check_buffers(model: nn.Module, before: Mapping[str, tuple[Tensor, int]]) -> None:
    """Raise if the forward pass wrote into a buffer, or replaced one."""
    name = _changed(model, before)
    if name is not None:
        owner = name.rpartition(".")[0]
        module = model.get_submodule(owner)
        fix = (
            "Use GroupNorm instead of BatchNorm, or put it in eval mode."
            if isinstance(module, nn.modules.batchnorm._BatchNorm)
            else "Keep buffers fixed while training (eval mode of that module, or its option not to track statistics)."
        )
        raise LeakError(
            f"the forward pass changed the buffer {name} of {_words(owner, module)}: data leave there without noise. {fix}"
        )


@contextmanager
def restored(model: nn.Module) -> Iterator[None]:
    """Put every buffer back as it was, whatever the checks run."""
    saved = [
        (module, name, buffer, buffer._version, buffer.detach().clone())
        for module in model.modules()
        for name, buffer in module._buffers.items()
        if buffer is not None
    ]
    try:
        yield
    finally:
        with torch.no_grad():
            for module, name, buffer, version, value in saved:
                if buffer._version != version or not torch.equal(buffer, value):  # batch norm writes unnoticed
                    buffer.copy_(value)
                if module._buffers[name] is not buffer:
                    module._buffers[name] = buffer


@contextmanager
def without_dropout(model: nn.Module) -> Iterator[None]:
    """Switch off what drops at random, module by module."""
    dropping = [
        module
        for module in model.modules()
        if module.training and (isinstance(module, nn.modules.dropout._DropoutNd) or getattr(module, "dropout", None))
    ]
    for module in dropping:
        module.training = False
    try:
        yield
    finally:
        for module in dropping:
            module.training = True


FIX = (
    "Each unit's loss may depend on its own data alone: normalise within a unit (GroupNorm, LayerNorm), take the mean over "
    'each unit\'s own axes (reduction="none"), and draw no negatives from the batch.'
)


def _run(model: nn.Module, losses: Losses, batch: Any, units: int, indices: Sequence[int], *, seed: int = 0) -> Tensor:
    torch.manual_seed(seed)
    with torch.enable_grad():  # a loss may itself differentiate
        values = losses(model, take(batch, units, indices))
    return one_per_unit(values, len(indices)).detach().float()


def _exchanges(units: int, unit: int) -> Iterator[tuple[int, ...]]:
    """Batches of the same size with this unit at its place: copies of it around it, then the others in other orders."""
    yield (unit,) * units
    others = [other for other in range(units) if other != unit]
    for turn in range(1, len(others)):
        turned = iter(others[turn:] + others[:turn])
        yield tuple(unit if place == unit else next(turned) for place in range(units))


def _moved(before: Tensor, after: Tensor, tolerance: float, unit: int | None = None) -> bool:
    """Whether values (or the one of this unit) differ by more than rounding, measured by the largest of them."""
    if before.shape != after.shape:
        return True
    scale = float(before.abs().nan_to_num(0, 0, 0).max()) if before.numel() else 0.0
    if unit is not None:
        before, after = before[unit], after[unit]
    return not torch.allclose(before, after, rtol=0, atol=tolerance * scale + 1e-30, equal_nan=True)


def _changed(model: nn.Module, before: Mapping[str, tuple[Tensor, int]]) -> str | None:
    """The first buffer that is new, another one, or was written to."""
    for name, buffer in model.named_buffers():
        if name not in before or before[name][0] is not buffer or before[name][1] != buffer._version:
            return name
    return None


def _blame(
    model: nn.Module,
    losses: Losses,
    batch: Any,
    units: int,
    tried: tuple[tuple[Sequence[int], int], tuple[Sequence[int], int]],
    tolerance: float,
) -> str:
    """Name the first module whose output for one unit differs between two batches that it was tried in."""
    first, second = (_outputs(model, losses, batch, units, indices, place) for indices, place in tried)
    for (name, module, one), (again, _, other) in zip(first, second, strict=False):
        if name == again and _moved(one, other, tolerance):
            batch_norm = isinstance(module, nn.modules.batchnorm._BatchNorm)
            fix = "Use GroupNorm instead of BatchNorm, or put it in eval mode." if batch_norm else FIX
            return (
                f"{_words(name, module)} lets units see each other: its output for one changes with the others. {fix}"
            )
    return f"the loss function lets units see each other: a unit's loss changes with the others in its batch. {FIX}"


def _outputs(
    model: nn.Module, losses: Losses, batch: Any, units: int, indices: Sequence[int], place: int
) -> list[tuple[str, nn.Module, Tensor]]:
    """What every module gave for the unit at this place of the batch, in the order in which they finished."""
    seen: list[tuple[str, nn.Module, Tensor]] = []

    def hook(name: str) -> Callable[..., None]:
        def note(module: nn.Module, _: Any, output: Any) -> None:
            value = output[0] if isinstance(output, (tuple, list)) and output else output
            if isinstance(value, Tensor) and value.dim() > 0 and value.shape[0] == len(indices):
                seen.append((name, module, value[place].detach().float().clone()))

        return note

    handles = [module.register_forward_hook(hook(name)) for name, module in model.named_modules()]
    try:
        _run(model, losses, batch, units, indices)
    finally:
        for handle in handles:
            handle.remove()
    return seen


def _words(name: str, module: nn.Module) -> str:
    return f"the module {name} ({type(module).__name__})" if name else f"the model itself ({type(module).__name__})"
