"""The same random numbers for a unit, whoever is in the batch, however many there are, and however far it is padded.

Two runs can be compared only if their random numbers agree. A seed alone makes them agree for batches of one size, as long as
the data do not choose which rows get numbers. Here each draw depends on the seed, on how many draws came before it in the
forward pass, and on the position along the last axis, but not on the row: a unit then sees the same numbers in any batch.
Dropout is switched off, and draws with a gradient of their own give what they give on average.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from renyi.training.clipping.reading.composite import opened

HALF = (torch.bfloat16, torch.float16)
"""The dtypes of half precision."""

Function = Callable[..., Any]
_VF: Any = torch._C._VariableFunctions


class SameNumbers(TorchFunctionMode):
    """Replaces what torch draws inside a forward pass.

    ``drew`` tells whether the forward pass drew numbers that were not switched off, ``half`` whether it worked in half
    precision.
    """

    def __init__(self) -> None:
        super().__init__()
        self.drew = self.half = False

    def __torch_function__(
        self, func: Function, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run one torch function with the numbers that belong to its place in the forward pass."""
        kwargs = kwargs or {}
        if func in COMPOSITE:  # functions in Python that draw inside
            with self:
                return opened(func)(*args, **kwargs)
        if func in STEADY:
            return STEADY[func](*args, **kwargs)
        if func in ATTENTION:
            args, kwargs = args[:4], {**dict(zip(("dropout_p", "is_causal"), args[4:], strict=False)), **kwargs}
            kwargs["dropout_p"] = 0.0
        if func in RECURRENT:
            args = tuple(0.0 if isinstance(value, float) else value for value in args)
        output = func(*args, **kwargs)
        law = DRAWS.get(func)
        if law is not None:
            self.drew = True
            with torch.no_grad():
                output.copy_(law(_uniform(output), args, kwargs))
        if isinstance(output, Tensor):
            self.half |= output.dtype in HALF
        return output


def knows_all_draws() -> bool:
    """Whether torch drew nothing since the last draw that was replaced: then a unit's numbers are its own at any size."""
    generator = torch.default_generator
    fresh = torch.Generator().manual_seed(generator.initial_seed())
    return torch.equal(fresh.get_state(), generator.get_state())


def _uniform(like: Tensor) -> Tensor:
    """Uniform numbers along the last axis, one for a tensor of one axis; moves the generator to its next state.

    The generator's seed counts the draws: activation checkpointing restores it before it runs a part of the model again.
    """
    generator = torch.default_generator
    seed = generator.initial_seed()
    generator.manual_seed((seed * 6364136223846793005 + 1442695040888963407) % 2**63)
    numbers = np.random.default_rng(seed).random(like.shape[-1] if like.dim() > 1 else 1)
    row = torch.tensor(numbers, device=like.device)
    return (row if like.dim() > 1 else row[0]).expand(like.shape)


def _normal(uniform: Tensor) -> Tensor:
    return torch.special.ndtri(uniform.clamp(1e-12, 1 - 1e-12))


def _whole(uniform: Tensor, low: Any, high: Any) -> Tensor:
    low, high = (0, low) if high is None else (low, high)
    return (low + (high - low) * uniform).floor()


def _count(uniform: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
    """Whole numbers of about this mean and variance."""
    return (mean + variance.sqrt() * _normal(uniform)).clamp_min(0).round()


def _same(input: Tensor, *_: Any, **__: Any) -> Tensor:
    return input


def _usual_slope(input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, *_: Any, **__: Any) -> Tensor:
    return functional.leaky_relu(input, (lower + upper) / 2)


@dataclass(frozen=True, slots=True)
class Law:
    """How uniform numbers become those of a function: its parameters, their defaults, and where they begin in a call."""

    of: Function
    parameters: tuple[tuple[str, Any], ...] = ()
    begin: int = 0

    def __call__(self, uniform: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        """The numbers that a call with these arguments draws."""
        given = [value for value in args[self.begin :] if isinstance(value, (Tensor, int, float))]
        values = dict(self.parameters) | dict(zip((name for name, _ in self.parameters), given, strict=False)) | kwargs
        drawn: Tensor = self.of(uniform, *(values[name] for name, _ in self.parameters))
        return drawn


SPREAD = Law(lambda uniform, mean, std: mean + std * _normal(uniform), (("mean", 0.0), ("std", 1.0)), 1)
COIN = Law(lambda uniform, p: uniform < p, (("p", 0.5),))
DRAWS: dict[Function, Law] = {
    **dict.fromkeys((torch.rand, torch.rand_like), Law(lambda uniform: uniform)),
    **dict.fromkeys((torch.randn, torch.randn_like), Law(_normal)),
    torch.randint: Law(_whole, (("low", 0), ("high", None))),
    torch.randint_like: Law(_whole, (("low", 0), ("high", None)), 1),
    torch.normal: replace(SPREAD, begin=0),
    Tensor.normal_: SPREAD,
    **dict.fromkeys((torch.bernoulli, Tensor.bernoulli), replace(COIN, begin=0)),
    Tensor.bernoulli_: replace(COIN, begin=1),
    Tensor.uniform_: Law(lambda uniform, low, high: low + (high - low) * uniform, (("from", 0.0), ("to", 1.0)), 1),
    Tensor.exponential_: Law(lambda uniform, rate: -torch.log1p(-uniform) / rate, (("lambd", 1.0),), 1),
    # How many numbers torch draws for these depends on the data; each of ours takes one.
    torch.poisson: Law(lambda uniform, rate: _count(uniform, rate, rate), (("input", None),)),
    torch.binomial: Law(
        lambda uniform, n, p: _count(uniform, n * p, n * p * (1 - p)).minimum(n), (("count", None), ("prob", None))
    ),
}
DROPOUT = (
    *(functional.dropout, functional.dropout1d, functional.dropout2d, functional.dropout3d),
    *(functional.alpha_dropout, functional.feature_alpha_dropout),
    *(torch.dropout, torch.dropout_, torch.alpha_dropout, torch.feature_dropout, torch.feature_alpha_dropout),
)
STEADY: dict[Function, Function] = {
    **dict.fromkeys(DROPOUT, _same),
    **dict.fromkeys((functional.rrelu, functional.rrelu_, torch.rrelu, torch.rrelu_), _usual_slope),
    torch._standard_gamma: _same,
    torch._sample_dirichlet: lambda concentration, *_: concentration / concentration.sum(-1, keepdim=True),
}
ATTENTION = {functional.scaled_dot_product_attention}
RECURRENT = {_VF.lstm, _VF.gru, _VF.rnn_tanh, _VF.rnn_relu}
COMPOSITE = {functional.multi_head_attention_forward, functional.gumbel_softmax, torch.autograd.grad}
