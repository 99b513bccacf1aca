"""Buffers that a forward pass writes: what it leaves there leaves without noise."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor, nn
from torch.nn.utils.parametrizations import _SpectralNorm
from torch.nn.utils.spectral_norm import SpectralNorm

from renyi.training.checks.culprit import words
from renyi.training.errors import LeakError

Versions = Mapping[str, tuple[Tensor, int]]

BATCH_NORM = "Use GroupNorm instead of BatchNorm, or put it in eval mode."
SPECTRAL_NORM = (
    "spectral_norm turns its vectors with every forward pass. Put the parametrization in eval mode, "
    "layer.parametrizations.weight.eval(), after every model.train(); or remove it."
)
OLD_SPECTRAL_NORM = (
    "torch.nn.utils.spectral_norm turns its vectors with every forward pass. Remove it, or use "
    "torch.nn.utils.parametrizations.spectral_norm with the parametrization in eval mode, "
    "layer.parametrizations.weight.eval(), after every model.train()."
)
ANY = "Keep buffers fixed while training (eval mode of that module, or its option not to track statistics)."


def versions(model: nn.Module) -> Versions:
    """Every buffer, and how often it has been written."""
    return {name: (buffer, buffer._version) for name, buffer in model.named_buffers()}


def expect_unchanged(model: nn.Module, before: Versions) -> None:
    """Raise if the forward pass wrote into a buffer, or replaced one."""
    for name, buffer in model.named_buffers():
        if name not in before or before[name][0] is not buffer or before[name][1] != buffer._version:
            owner = name.rpartition(".")[0]
            module = model.get_submodule(owner)
            raise LeakError(
                f"the forward pass changed the buffer {name} of {words(owner, module)}: what it writes there leaves without "
                f"noise. {_fix(module)}"
            )


def _fix(module: nn.Module) -> str:
    if isinstance(module, nn.modules.batchnorm._BatchNorm):
        return BATCH_NORM
    if isinstance(module, _SpectralNorm):
        return SPECTRAL_NORM
    if any(isinstance(hook, SpectralNorm) for hook in module._forward_pre_hooks.values()):
        return OLD_SPECTRAL_NORM
    return ANY
