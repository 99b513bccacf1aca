"""Batches come to the model: wherever a batch is loaded, the losses get it on the device of the model's parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from renyi.training.feeding.units import leaves, tensors

Losses = Callable[[nn.Module, Any], torch.Tensor]


def at_the_model(losses: Losses) -> Losses:
    """The same losses, of the batch on the device of the model's first parameter."""

    def placed(model: nn.Module, batch: Any) -> torch.Tensor:
        return losses(model, moved(batch, next(model.parameters()).device))

    return placed


def moved(batch: Any, device: torch.device) -> Any:
    """The batch with all its tensors on this device; the very same batch if they are there already."""
    if all(tensor.device == device for tensor in tensors(batch)):
        return batch
    if hasattr(batch, "to"):  # a tensor, or what a tokenizer returns, which keeps its type
        return batch.to(device)
    return leaves(batch, lambda tensor: tensor.to(device, non_blocking=True))
