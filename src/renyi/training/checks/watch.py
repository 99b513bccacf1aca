"""The parameters of a model between releases: nobody but the release may write them."""

from __future__ import annotations

import torch

from renyi.training.errors import TrainingError
from renyi.training.parallel.weights import Weights

WHOLE = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class WatchedParameters:
    """The parameters of a model as the last release left them; the frozen ones as they were when the run began.

    A sum of the bits stands for the values: exact, in any order, and without a second copy of the model. A write counts
    only if it changed that sum, so weights may be exchanged for an evaluation and put back.
    """

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._parameters = weights.parameters()
        self._sums: dict[str, int] = {}
        self._versions: dict[str, tuple[int, int]] = {}
        self._note(list(self._parameters))

    def released(self) -> None:
        """Take the trainable parameters as they are now: the release has just moved them."""
        self._note([name for name, parameter in self._parameters.items() if parameter.requires_grad])

    def expect_untouched(self, *, values: bool = False) -> None:
        """Raise if anybody but the release wrote a parameter, or put another in its place.

        Versions tell of most writes; with ``values`` the bits are summed as well.
        """
        now = self._weights.parameters()
        replaced = [name for name in {**self._parameters, **now} if now.get(name) is not self._parameters.get(name)]
        if replaced:
            raise TrainingError(
                f"the parameter {', '.join(replaced)} of the model was replaced, added or removed while the run is "
                "open: the run would clip and noise what the model no longer uses. Change the model first, then make "
                "the run."
            )
        written = [name for name in self._parameters if values or self._version(name) != self._versions[name]]
        sums = self._sums_of(written)
        changed = [name for name, value in zip(written, sums, strict=True) if value != self._sums[name]]
        if changed:
            raise TrainingError(
                f"the parameter {', '.join(changed)} changed between two releases, and not by the run: by the forward "
                "pass (an embedding's max_norm, a write under no_grad), by a second optimizer, or by loading other "
                "weights. Such a change carries no noise and no record. Take it out, and go on from the last "
                "checkpoint with Run.resume(...)."
            )
        self._versions.update((name, self._version(name)) for name in written)

    @property
    def fingerprint(self) -> bytes:
        """The sums of all parameters that every process holds: processes that train the same weights have the same ones."""
        return repr([total for name, total in self._sums.items() if self._weights.is_whole(name)]).encode()

    def _note(self, names: list[str]) -> None:
        self._sums.update(zip(names, self._sums_of(names), strict=True))
        self._versions.update((name, self._version(name)) for name in names)

    def _sums_of(self, names: list[str]) -> list[int]:
        return _sums([self._weights.own(self._parameters[name]) for name in names])

    def _version(self, name: str) -> tuple[int, int]:
        """How often a parameter was written, and, where this process holds a part of it, that part."""
        parameter = self._parameters[name]
        return parameter._version, self._weights.own(parameter)._version


def _sums(tensors: list[torch.Tensor]) -> list[int]:
    """The sum of each tensor's bits, read as whole numbers; zero for those that have no values to read."""
    totals = [_sum(tensor.detach()) for tensor in tensors]
    return [0 if total is None else int(total) for total in totals]


def _sum(tensor: torch.Tensor) -> torch.Tensor | None:
    if tensor.is_meta or tensor.is_sparse or tensor.is_quantized:
        return None
    plain = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    # Words of 64 bits where the tensor divides into such: narrower ones would be widened first, a pass over memory more.
    per_word = 8 // plain.element_size()
    if plain.is_contiguous() and plain.numel() % per_word == 0 == plain.storage_offset() % per_word and plain.numel():
        return plain.view(-1).view(torch.int64).sum()
    return plain.view(WHOLE[plain.element_size()]).sum(dtype=torch.int64)
