"""What other libraries put around models and optimizers: taken off where nothing is lost, refused where they would train."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from renyi.errors import InvalidInput

RECIPES = "examples/ has a script each for Accelerate, Lightning and the Trainer of transformers (docs/recipes.md)"

TRANSPARENT = {"AcceleratedOptimizer": "accelerate", "LightningOptimizer": "lightning", "_FabricOptimizer": "lightning"}
"""Wrappers, and the library of each, that pass their step on, or leave it out while gradients accumulate. They add nothing to
the update itself; so they can be left out, and must be, because a release that was recorded cannot leave its step out."""


def bare(optimizer: Any) -> Any:
    """The optimizer inside such wrappers; any other is returned as it is, for it may have an update of its own."""
    for kind in type(optimizer).__mro__:
        library = TRANSPARENT.get(kind.__name__)
        if library is not None and library in kind.__module__.split(".")[0]:  # pytorch_lightning is lightning too
            return bare(optimizer.optimizer)
    return optimizer


def expect_trainable(model: object, losses: object) -> None:
    """Refuse, before anything is opened, what is neither a module nor a function of the losses."""
    if not isinstance(model, nn.Module):
        hint = "Pass its .model; a trainer steps by itself, so the run takes the place of its training loop: " + RECIPES
        swapped = "The order is Run(plan, model, optimizer, losses)"
        raise InvalidInput(
            f"a run trains a torch.nn.Module; got a {type(model).__name__}. "
            f"{swapped if isinstance(model, torch.optim.Optimizer) or not hasattr(model, 'model') else hint}."
        )
    if not callable(losses) or type(losses).__module__ == "torch.nn.modules.loss":
        raise InvalidInput(
            f"losses is a function losses(model, batch) that returns one loss per unit; got {losses!r}. For instance: "
            "def losses(model, batch): x, y = batch; "
            'return torch.nn.functional.cross_entropy(model(x), y, reduction="none").'
        )
