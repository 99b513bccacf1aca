"""What a run refuses before it begins, because its gradients could not be clipped or noised: by module, cause and fix."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import torch
from torch import nn
from torch.nn.modules.lazy import LazyModuleMixin

from renyi.training.checks.culprit import words
from renyi.training.errors import ClippingError


def expect_clippable(model: nn.Module) -> None:
    """Refuse a model with gradients that are sparse, complex or in float16, or with layers that have no shape yet."""
    for name, module in model.named_modules():
        lazy: Any = module
        if isinstance(module, LazyModuleMixin) and lazy.has_uninitialized_params():
            raise ClippingError(
                f"{words(name, lazy)} is lazy, and its parameters have no shape yet. Run the model once, on made-up data, "
                "before the optimizer and the run are made."
            )
        if isinstance(module, (nn.Embedding, nn.EmbeddingBag)) and module.sparse and module.weight.requires_grad:
            raise ClippingError(
                f"{words(name, module)} gives sparse gradients, and a gradient with noise is dense: which rows are zero would "
                "tell who was drawn. Make it with sparse=False."
            )
    trainable = {name: p for name, p in model.named_parameters() if p.requires_grad}
    if not trainable:
        raise ClippingError("the model has no trainable parameter, so there is nothing to clip.")
    for name, parameter in trainable.items():
        module = words(name.rpartition(".")[0], model.get_submodule(name.rpartition(".")[0]))
        if parameter.is_complex():
            raise ClippingError(
                f"the parameter {name} of {module} is complex, and noise and sums are real. Keep its real and imaginary parts "
                "as two parameters, and join them with torch.complex in the forward pass."
            )
        if parameter.dtype == torch.float16:
            raise ClippingError(
                f"the parameter {name} of {module} is in float16, whose range gradients leave: a unit would be lost, "
                "or need a GradScaler, whose skipped steps tell of single units. Train in bfloat16 (model.bfloat16(), or "
                "torch.autocast with torch.bfloat16) or in float32."
            )


@contextmanager
def unscaled() -> Iterator[None]:
    """Within it a GradScaler that scales losses is refused: a clip bound would apply to scaled gradients."""
    scaler: Any = torch.amp.GradScaler
    before = scaler.scale
    scaler.scale = _refuse
    try:
        yield
    finally:
        scaler.scale = before


def _refuse(*_: Any) -> NoReturn:
    raise ClippingError(
        "the loss function scales the losses with a GradScaler: they would be clipped at another scale, and it skips steps "
        "that overflow, which tells of single units. Return the losses as they are, and use bfloat16, which needs no scaler."
    )
