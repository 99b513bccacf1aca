"""A step of Opacus in each of its modes, for ``benchmarks.clipping``: forward, backward, clip, torch's noise, SGD update."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.clipping_models import Case

MODES = ("hooks", "functorch", "ew", "ghost", "fast gradient clipping")


def version() -> str | None:
    """The version of Opacus here; None if there is none."""
    try:
        import opacus
    except ImportError:
        return None
    found: str = opacus.__version__
    return found


def step(case: Case, mode: str, *, bound: float, noise: float, rate: float) -> Callable[[], None]:
    """One step on the case's batch. Opacus does not sample here; its accountant counts the step as it does by default."""
    from opacus import PrivacyEngine
    from opacus.grad_sample import GradSampleModuleFastGradientClipping

    warnings.simplefilter("ignore")
    model: Any = case.opacus()
    ghost = mode in ("ghost", "fast gradient clipping")
    if mode == "fast gradient clipping":
        model = GradSampleModuleFastGradientClipping(model, max_grad_norm=bound, use_ghost_clipping=False)
    optimizer: Any = torch.optim.SGD(model.parameters(), lr=rate)
    loader = DataLoader(TensorDataset(*case.batch), batch_size=len(case.batch[1]))
    criterion: Any = nn.CrossEntropyLoss()
    made: Any = PrivacyEngine().make_private(
        module=model,
        optimizer=optimizer,
        criterion=criterion,
        data_loader=loader,
        noise_multiplier=noise,
        max_grad_norm=bound,
        poisson_sampling=False,
        grad_sample_mode="ghost" if ghost else mode,
    )
    model, optimizer = made[0], made[1]
    criterion = made[2] if ghost else criterion

    def one() -> None:
        optimizer.zero_grad()
        criterion(model(case.batch[0]), case.batch[1]).backward()
        optimizer.step()

    return one
