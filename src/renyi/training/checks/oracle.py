"""The oracle: per-unit gradients by a plain loop, against which the cheap ones are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from renyi.training.checks.quiet import without_dropout
from renyi.training.clipping.gradients import PerUnit, norm2
from renyi.training.clipping.rounding import Precision
from renyi.training.errors import ClippingError

FULL, HALF = 1e-3, 5e-2  # relative errors that a comparison forgives in float32, and where bfloat16 is involved
NEGLIGIBLE = 1e-15  # no clip bound is so small that this would matter

Losses = Callable[[nn.Module, Any], Tensor]
Measure = Callable[[Any, int], Iterator[tuple[Tensor, dict[str, PerUnit]]]]


def check(
    model: nn.Module,
    losses: Losses,
    measure: Measure,
    fallen_back: Callable[[], bool],
    parameters: Mapping[str, nn.Parameter],
    batch: Any,
    units: int,
    *,
    seed: int,
) -> None:
    """Raise where norms or weighted sums of per-unit gradients differ from the loop's.

    The loop differentiates one loss after another of the same forward pass from the same random state, dropout included.
    A fallback runs units in batches of their own, so it is compared with dropout off.
    """
    found = _found(measure, batch, units, parameters, seed)
    if not fallen_back():
        _compare(found, *loop(model, losses, batch, units, parameters, seed), parameters)
        return
    with without_dropout(model):
        expected, half = loop(model, losses, batch, units, parameters, seed)
        again, _ = loop(model, losses, batch, units, parameters, seed + 1)
        if all(torch.equal(g, h) for g, h in zip(expected, again, strict=True)):
            _compare(_found(measure, batch, units, parameters, seed), expected, half, parameters)


def loop(
    model: nn.Module, losses: Losses, batch: Any, units: int, parameters: Mapping[str, nn.Parameter], seed: int
) -> tuple[list[Tensor], bool]:
    """For every parameter its gradients, units first, in float32, by one backward pass for each unit.

    Also whether the model works in half precision anywhere.
    """
    precision = Precision(model)
    torch.manual_seed(seed)
    with torch.enable_grad(), precision:
        values = losses(model, batch)
    rows = []
    for unit in range(units):
        weights = torch.zeros_like(values)
        weights[unit] = 1
        gradients = torch.autograd.grad(
            values, list(parameters.values()), weights, retain_graph=True, allow_unused=True
        )
        rows.append(
            [torch.zeros_like(p) if g is None else g for p, g in zip(parameters.values(), gradients, strict=True)]
        )
    return [torch.stack(column).float() for column in zip(*rows, strict=True)], precision.half


def _found(
    measure: Measure, batch: Any, units: int, parameters: Mapping[str, nn.Parameter], seed: int
) -> list[tuple[Tensor, Tensor]]:
    """For every parameter the norms, and the sum with weights 1, 1/2, 1/3, ..."""
    torch.manual_seed(seed)
    norms: dict[str, list[Tensor]] = {name: [] for name in parameters}
    sums = {name: torch.zeros(p.shape, dtype=torch.float32, device=p.device) for name, p in parameters.items()}
    start = 0
    for values, forms in measure(batch, units):
        with torch.no_grad():
            for name, p in parameters.items():
                weights = 1 / torch.arange(start + 1, start + 1 + len(values), dtype=torch.float32, device=p.device)
                form = forms.get(name)
                norms[name].append(torch.zeros_like(weights) if form is None else norm2(form).sqrt().float())
                if form is not None:
                    sums[name] += form.weighted(weights).view(p.shape)
        start += len(values)
    return [(torch.cat(norms[name]), sums[name]) for name in parameters]


def _compare(
    found: list[tuple[Tensor, Tensor]], expected: list[Tensor], half: bool, parameters: Mapping[str, nn.Parameter]
) -> None:
    allowed = HALF if half else FULL
    overall = torch.stack([gradients.reshape(len(gradients), -1).norm(dim=1) for gradients in expected]).norm(dim=0)
    for (name, p), (norms, total), gradients in zip(parameters.items(), found, expected, strict=True):
        weights = 1 / torch.arange(1, 1 + len(gradients), dtype=torch.float32, device=p.device)
        lengths = gradients.reshape(len(gradients), -1).norm(dim=1)
        scale = (lengths + 1e-2 * overall).nan_to_num()
        wrong = (norms - lengths).abs().nan_to_num() > allowed * scale + NEGLIGIBLE
        difference = (total - torch.tensordot(weights, gradients, 1)).nan_to_num().norm()
        if bool(wrong.any()) or bool(difference > allowed * scale.norm() + NEGLIGIBLE):
            raise ClippingError(
                f"the per-unit gradients of {name} disagree with a loop over the units. "
                f"Something in its module treats units in a way that was not recognised: write it "
                "so that the unit axis is the leading one, and report the module."
            )
