"""The buffers of a model: nothing may flow into them, for nothing noises what they hold."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn
from torch.nn.utils.parametrizations import _SpectralNorm
from torch.nn.utils.spectral_norm import SpectralNorm

from renyi.training.checks.culprit import BATCH_NORM, words
from renyi.training.errors import LeakError

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


class FrozenBuffers:
    """The buffers of a model (running means, counters) as they were. Data must not flow into them."""

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._copies = {name: buffer.detach().clone() for name, buffer in model.named_buffers()}
        self._versions = {name: (buffer, buffer._version) for name, buffer in model.named_buffers()}

    def expect_untouched(self) -> None:
        """Raise, after putting the old values back, if a forward pass changed a buffer; versions tell if nobody wrote."""
        now = dict(self._model.named_buffers())
        changed = [name for name in now if name not in self._copies]
        for name, (buffer, version) in self._versions.items():
            if now.get(name) is buffer and (buffer._version == version or torch.equal(buffer, self._copies[name])):
                self._versions[name] = buffer, buffer._version
            else:
                changed.append(name)
        if changed:
            self.put_back()
            raise LeakError(_words(self._model, changed[0]))

    def put_back(self) -> None:
        """Give every buffer the value it had; batch norm writes without a new version, so values are compared."""
        with torch.no_grad():
            for name, (buffer, _) in self._versions.items():
                if not torch.equal(buffer, self._copies[name]):
                    buffer.copy_(self._copies[name])
                owner, _, last = name.rpartition(".")
                self._model.get_submodule(owner)._buffers[last] = buffer
                self._versions[name] = buffer, buffer._version


@contextmanager
def restored(model: nn.Module) -> Iterator[FrozenBuffers]:
    """Put every buffer back as it was, whatever runs within."""
    before = FrozenBuffers(model)
    try:
        yield before
    finally:
        before.put_back()


def _words(model: nn.Module, name: str) -> str:
    owner = name.rpartition(".")[0]
    module = model.get_submodule(owner)
    return (
        f"the forward pass changed the buffer {name} of {words(owner, module)}: what it writes there leaves without noise. "
        f"{_fix(module)}"
    )


def _fix(module: nn.Module) -> str:
    if isinstance(module, nn.modules.batchnorm._BatchNorm):
        return BATCH_NORM
    if isinstance(module, _SpectralNorm):
        return SPECTRAL_NORM
    if any(isinstance(hook, SpectralNorm) for hook in module._forward_pre_hooks.values()):
        return OLD_SPECTRAL_NORM
    return ANY
