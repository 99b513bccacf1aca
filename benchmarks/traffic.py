"""What a process hands to collectives: bytes of numbers to be added up, of weights to be gathered, and of everything else."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

REDUCED, GATHERED, CONTROL = "reduced", "gathered", "control"


class Traffic(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts, within it, the bytes that this process contributes to each collective, by what they are.

    Sums of gradients are float32 and pass through an all-reduce or a reduce-scatter; weights are float32 and are gathered. What
    is neither is control: hashes, lengths, go-aheads.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.bytes: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        """Run one operator, and count it if it is a collective."""
        if func.namespace in ("c10d", "_c10d_functional"):
            self._note(func.name().split("::")[1], args)
        return func(*args, **(kwargs or {}))

    def _note(self, name: str, args: tuple[Any, ...]) -> None:
        # Operators take what they fill first and what they send second; what is changed in place is both.
        gathers = "gather" in name
        given = args[1] if gathers or "reduce_scatter" in name else args[0]
        tensors = [leaf for leaf in tree_leaves(given) if isinstance(leaf, torch.Tensor)]
        if not tensors:
            return
        numbers = tensors[0].dtype == torch.float32
        kind = CONTROL if not numbers else GATHERED if gathers or "broadcast" in name else REDUCED
        self.bytes[kind] += sum(tensor.numel() * tensor.element_size() for tensor in tensors)
        self.calls[kind] += 1
