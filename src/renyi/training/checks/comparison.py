"""Whether the same units have the same losses and gradients in two batches: the one comparison on which every look rests.

Both batches run from the same random numbers. What differs by more than rounding is run again in float64, where rounding, and
the kinks of ReLU and max-pooling that it may flip, no longer matter; only what differs there too is an alarm. A model that
cannot run in float64 is judged by coarser tolerances, and by a unit among copies of itself if the sizes of the batches differ.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from renyi.training.checks.in_float64 import InFloat64
from renyi.training.checks.same_numbers import HALF, SameNumbers, knows_all_draws
from renyi.training.clipping import gram
from renyi.training.clipping.contract import one_per_unit
from renyi.training.clipping.reading.composite import opened
from renyi.training.errors import Unrepeatable

Losses = Callable[[nn.Module, Any], Tensor]

SHARE = 1e-2
"""Share of the largest value nearby that is added to a value's own size, because the rounding of a sum is relative to its
largest terms."""

NEGLIGIBLE = 1e-30
"""Absolute difference that underflow may cause."""

PIECE = 1 << 16
"""Numbers of a gradient that are held in float64 at a time: 512 kB."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Relative differences in losses and in gradients that are attributed to rounding."""

    losses: float
    gradients: float


SAME_SIZE = Tolerance(1e-5, 1e-4)
"""Batches of one size go through the same kernels, so a unit's numbers agree to the bit, or nearly, in any precision."""

OTHER_SIZE = Tolerance(1e-4, 1e-3)
"""Other kernels sum in another order: a few units in the last place of float32, amplified by a deep model."""

ALWAYS_IN_DOUBT = Tolerance(0.0, 0.0)
"""Half precision, and float32 multiplied with ten bits, differ by percents between sizes: float64 decides at once."""

FLOAT64 = Tolerance(1e-7, 1e-5)
"""Nothing but a leak reaches this: rounding is 1e-16, amplified 1e-10 at most. Gradients are rounded to float32 at the end."""

WITHOUT_FLOAT64 = {False: Tolerance(1e-3, 2e-2), True: Tolerance(2e-2, 5e-2)}
"""If the model refuses float64, for batches of the same size and of other sizes."""


MOST_LARGE = 3
"""Differences in float32, between batches of one size and beyond any rounding, that are a leak even if float64 knows none of
them: the model does something else there. Routing that rounding tips over causes one in thousands of comparisons."""


@dataclass(frozen=True, eq=False, slots=True)
class Setting:
    """Units at these places of a batch, and the weight of each one's gradient in the sum that is compared."""

    batch: Any
    units: int
    places: tuple[int, ...]
    weights: tuple[float, ...]


Copies = Callable[[int], Setting]
"""A unit among copies of itself, in a batch of this size."""


@dataclass(frozen=True, eq=False)
class Seen:
    """One run: the losses of the units, the gradient of their weighted sum (None if autograd refuses), the seed."""

    setting: Setting
    losses: Tensor
    gradient: list[Tensor] | None
    seed: int

    @cached_property
    def norms(self) -> list[float]:
        """The norm of the gradient of every parameter."""
        return [math.hypot(*(float(piece.norm()) for piece in _pieces(part))) for part in self.gradient or ()]

    def allowed(self, tolerance: Tolerance) -> list[float]:
        """How far another gradient of every parameter may be from this one; infinitely far if any of it is not finite."""
        beside = SHARE * math.hypot(*self.norms)
        return [tolerance.gradients * (norm + beside) for norm in self.norms]

    def moved(self, other: Seen, tolerance: Tolerance) -> list[int]:
        """The units whose losses differ by more; infinite and missing ones agree with themselves."""
        sizes = self.losses.abs().nan_to_num(0, 0, 0)
        allowed = tolerance.losses * (sizes + SHARE * sizes.max()) + NEGLIGIBLE
        same = (self.losses == other.losses) | (self.losses.isnan() & other.losses.isnan())
        return (~(same | ((self.losses - other.losses).abs() <= allowed))).nonzero().flatten().tolist()

    def turned(self, other: Seen, tolerance: Tolerance) -> bool:
        """Whether the gradient of any parameter differs by more. What is not finite is not compared: zero times infinity."""
        if self.gradient is None or other.gradient is None:
            return False
        return any(
            most + NEGLIGIBLE < distance(one, two) < math.inf
            for most, one, two in zip(self.allowed(tolerance), self.gradient, other.gradient, strict=True)
        )


@dataclass(frozen=True, eq=False, slots=True)
class Difference:
    """Two runs that disagree beyond doubt, and the unit whose loss moved (None if only the gradient did)."""

    one: Setting
    other: Setting
    seed: int
    unit: int | None
    wide: bool


class Comparison:
    """Runs the losses of a model, and compares. The caller keeps torch's random state and the buffers."""

    def __init__(self, model: nn.Module, losses: Losses, choice: random.Random) -> None:
        self.model, self._losses, self._choice = model, losses, choice
        self.parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
        device = next(iter(self.parameters.values())).device
        self.rough = device.type != "cpu" or torch.get_float32_matmul_precision() != "highest"
        self.rough |= any(tensor.dtype in HALF for tensor in (*model.parameters(), *model.buffers()))
        self.drew, self.repeats_at_any_size = False, True
        self.doubts, self.runs_in_float64 = 0, True
        self._large = 0

    def seed(self) -> int:
        """A seed for the next runs."""
        return self._choice.getrandbits(63)

    def run(self, setting: Setting, seed: int, *, wide: bool = False, losses_only: bool = False) -> Seen:
        """One run, in float64 if ``wide``."""
        with self.controlled(wide=wide), torch.enable_grad():
            values = self.losses(seed)(self.model, setting.batch)
            values = one_per_unit(values, setting.units)
            places = torch.tensor(setting.places, device=values.device)
            weights = torch.zeros_like(values).index_put((places,), torch.tensor(setting.weights).to(values))
            gradient = None if losses_only else self.gradient(values, weights)
        return Seen(setting, values.detach()[places].double().cpu(), gradient, seed)

    def controlled(self, *, wide: bool = False) -> ExitStack:
        """Within it torch draws the same numbers at any size, and works in float64 if ``wide``."""
        stack = ExitStack()
        numbers = SameNumbers()

        def note() -> None:
            self.drew |= numbers.drew
            self.rough |= numbers.half and not wide

        stack.callback(note)
        stack.enter_context(numbers)
        if wide:
            stack.enter_context(InFloat64())
        return stack

    def losses(self, seed: int) -> Losses:
        """The losses from a random state of their own, at every call."""

        def seeded(model: nn.Module, batch: Any) -> Tensor:
            torch.manual_seed(seed)
            values = self._losses(model, batch)
            if not knows_all_draws():
                self.drew, self.repeats_at_any_size = True, False
            return values

        return seeded

    def gradient(self, values: Tensor, weights: Tensor, *, keep: bool = False) -> list[Tensor] | None:
        """The gradient of the weighted sum; None if autograd refuses, which the clipping will say by name."""
        if not values.requires_grad:
            return None
        grad: Any = opened(torch.autograd.grad)
        wanted = list(self.parameters.values())
        try:
            parts = grad(values, wanted, weights, retain_graph=keep, allow_unused=True)
        except RuntimeError:
            return None
        return [torch.zeros_like(p) if part is None else part.detach() for p, part in zip(wanted, parts, strict=True)]

    def differ(
        self, one: Seen, other: Setting, *, copies: Copies | None = None, same_size: bool = True
    ) -> Difference | None:
        """Run the other batch from the same seed; say where it disagrees, if that is confirmed."""
        if not same_size and not self.repeats_at_any_size:
            return None
        tolerance = SAME_SIZE if same_size else ALWAYS_IN_DOUBT if self.rough else OTHER_SIZE
        found = self.run(other, one.seed, losses_only=one.gradient is None)
        if _difference(one, found, tolerance, wide=False) is None:
            return None
        large = _difference(one, found, WITHOUT_FLOAT64[False], wide=False) if same_size and not self.rough else None
        setting, seed = one.setting, one.seed
        del found, one  # before the same is run in float64
        confirmed = self.confirmed(setting, other, seed, copies=copies, same_size=same_size)
        self._large += large is not None
        return large if confirmed is None and self._large >= MOST_LARGE else confirmed

    def confirmed(
        self, one: Setting, other: Setting, seed: int, *, copies: Copies | None, same_size: bool
    ) -> Difference | None:
        """Decide in float64 if the model can run in it, and otherwise by coarser tolerances and copies."""
        self.doubts += 1
        self._expect_repeatable(one, seed)
        try:
            return _difference(self.run(one, seed, wide=True), self.run(other, seed, wide=True), FLOAT64, wide=True)
        except Exception:  # whatever the model raises
            self.runs_in_float64 = False
        first = self.run(one, seed)
        found = _difference(first, self.run(other, seed), WITHOUT_FLOAT64[not same_size], wide=False)
        if found is None or copies is None:
            return found
        # Among copies the kernels are those of the company. If that agrees, only the size is left: it moves a unit at every
        # size, while a kink that rounding flips is flipped by the kernels of one.
        among = self.run(copies(one.units), seed)
        if (difference := _difference(first, among, WITHOUT_FLOAT64[False], wide=False)) is not None:
            return difference
        return found if _difference(first, self.run(copies(2), seed), WITHOUT_FLOAT64[True], wide=False) else None

    def _expect_repeatable(self, setting: Setting, seed: int) -> None:
        first, again = self.run(setting, seed), self.run(setting, seed)
        if first.moved(again, OTHER_SIZE) or first.turned(again, OTHER_SIZE):
            raise Unrepeatable(
                "the losses differ between two runs from the same torch random state, so nothing can be compared. "
                "Draw all randomness inside the model from torch, and carry nothing over from one call to the next (running "
                "averages, counters): what a later step would see of it carries no noise."
            )


def distance(one: Tensor, two: Tensor) -> float:
    """The norm of the difference between two gradients of a parameter."""
    return math.hypot(*(float(torch.dist(*pair)) for pair in zip(_pieces(one), _pieces(two), strict=True)))


def _pieces(tensor: Tensor) -> Iterator[Tensor]:
    """In float64, where no square of a float32 overflows."""
    return (gram.cast(piece, wide=True) for piece in torch.split(tensor.flatten(), PIECE))


def _difference(one: Seen, other: Seen, tolerance: Tolerance, *, wide: bool) -> Difference | None:
    moved = one.moved(other, tolerance)
    if not moved and not one.turned(other, tolerance):
        return None
    return Difference(one.setting, other.setting, one.seed, moved[0] if moved else None, wide)
