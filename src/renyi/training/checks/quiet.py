"""A model during checks: nothing random where that can be switched off, and everything as before afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


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
