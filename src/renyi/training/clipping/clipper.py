"""The clipped sum of per-unit gradients of any model, without forming those gradients where that can be avoided."""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from typing import Any

import torch
from torch import Tensor, nn

from renyi.training.checks.admission import expect_clippable
from renyi.training.checks.look import Look
from renyi.training.clipping.bounds import ClipBounds
from renyi.training.clipping.contract import one_per_unit
from renyi.training.clipping.factors import ClippedSums, clipped, nothing
from renyi.training.clipping.fallback import Fallback
from renyi.training.clipping.gradients import PerUnit
from renyi.training.clipping.reading.book import Book, Memory, Unbooked
from renyi.training.clipping.reading.composite import eager
from renyi.training.clipping.reading.probe import Retry, backward, gathered
from renyi.training.clipping.reading.trace import Recording, Trace
from renyi.training.clipping.rules import RULES
from renyi.training.errors import ClippingError

ALWAYS_VERIFIED = 4
"""First steps in which all known layouts are probed again; after them the 8th, 16th, 32nd, ..."""

_log = logging.getLogger(__name__)

Bounds = ClipBounds | Mapping[str, float] | float
Losses = Callable[[nn.Module, Any], Tensor]


class Clipper:
    """Clips the gradients of a model unit by unit. The model is not wrapped, hooked or marked.

    Where the units lie inside the model is found out in the first steps and verified again in the 8th, 16th, 32nd, ..., and
    whenever the model calls other functions than before or moves rows by an index between two layers. A model whose units the
    rules cannot follow is mapped over units, or run in a loop over them.

    `losses(model, batch)` returns one value per unit. The leading axis of every tensor in a batch is the unit axis; whatever
    else a unit consists of (tokens, several examples, several views of one) lies along further axes.
    """

    def __init__(self, model: nn.Module, losses: Losses) -> None:
        expect_clippable(model)
        self.model = model
        self.bind()
        self._losses = losses
        self._memory = Memory()
        self._fallback: Fallback | None = None
        self._reason = ""
        self._steps = 0
        self._closed = False

    def bind(self) -> None:
        """Take the parameters that the model has now: those that it computes with, where it was given others before."""
        self.parameters: dict[str, nn.Parameter] = {n: p for n, p in self.model.named_parameters() if p.requires_grad}
        self._frozen = {n: p for n, p in self.model.named_parameters() if not p.requires_grad}

    def sums(self, batch: Any, units: int, bounds: Bounds) -> ClippedSums:
        """The sum over the units of the batch of their gradients, each clipped to its bounds."""
        self._check_open()
        resolved = self._resolved(bounds)
        if units == 0:
            return nothing(self.parameters, resolved)
        self._steps += 1
        self._memory.grew = False
        total: ClippedSums | None = None
        with closing(self._measured(batch, units)) as parts:
            for losses, forms in parts:
                part = clipped(forms, losses, resolved, self.parameters)
                total = part if total is None else total + part
        assert total is not None
        return total

    def check(self, batch: Any, units: int, bounds: Bounds, *, seed: int | None = None) -> None:
        """Compare a few units with a loop over them, and look for ways in which one unit's data reaches another.

        The choice of units and random numbers is drawn from the seed, by default a fresh one, so that later checks try others.
        """
        self._resolved(bounds)
        if units:
            choice = random.Random(os.urandom(16) if seed is None else seed)
            self.looked_at_by(Look(self.model, self._losses, choice), batch, units)

    @property
    def met_something_new(self) -> bool:
        """Whether the last sums called torch functions, or called them in a way, that nothing before had."""
        return self._memory.grew

    def looked_at_by(self, look: Look, batch: Any, units: int) -> None:
        """Let this look compare units, and the gradients that are found here."""
        self._check_open()
        look.at(batch, units, self._measured)

    def close(self) -> None:
        """Close the clipper. The model was not changed, so nothing has to be removed from it."""
        self._closed = True

    @property
    def method(self) -> str:
        """How per-unit gradients are found, in words: by the rules, unless a step has shown that these do not suffice."""
        if self._fallback is None:
            return "rules"
        return f"{'whole model mapped over units' if self._fallback.maps else 'loop over units'}, because of {self._reason}"

    def layers(self) -> dict[str, str]:
        """For every parameter that a step has reached, how its per-unit gradients are found."""
        if self._fallback is not None:
            return dict.fromkeys(self.parameters, self.method)
        known = self._memory.rules
        return {
            name: f"by the rule of {' and '.join(sorted(known[name]))}" for name in self.parameters if name in known
        }

    def _measured(
        self, batch: Any, units: int, losses: Losses | None = None
    ) -> Generator[tuple[Tensor, dict[str, PerUnit]], None, None]:
        """Losses and per-unit gradients: of all units at once if the rules suffice, otherwise of a few units at a time."""
        losses = losses or self._losses
        with eager():
            if self._fallback is None:
                try:
                    yield self._booked(batch, units, losses)
                    return
                except Unbooked as reason:
                    # Mapping over units would hide a leak between them, so it is looked for before.
                    self._reason = str(reason)
                    if units > 1:
                        Look(self.model, self._losses, random.Random(os.urandom(16))).at_company(batch, units)
                    self._fallback = Fallback(self.model)
                    _log.warning("units are clipped %s: slower, and as right. See run.method().", self.method)
            trace = Trace(units)

            def recorded(model: nn.Module, batch: Any) -> Tensor:
                with Recording(trace):
                    return losses(model, batch)

            yield from self._fallback.gradients(batch, units, self.parameters, recorded)
            self._memory.note(trace)

    def _booked(self, batch: Any, units: int, function: Losses) -> tuple[Tensor, dict[str, PerUnit]]:
        """Losses and per-unit gradients by the rules; raises ``Unbooked`` if they do not suffice."""
        # n & (n - 1) == 0 for powers of two.
        verify = units > 1 and (self._steps <= ALWAYS_VERIFIED or self._steps & (self._steps - 1) == 0)
        put_back = _random_states(next(iter(self.parameters.values())).device)
        while True:
            book = Book(
                self.parameters, {**self._frozen, **dict(self.model.named_buffers())}, units, self._memory, RULES
            )
            with torch.enable_grad(), book:
                losses = one_per_unit(function(self.model, batch), units)
            if not losses.requires_grad:
                raise ClippingError(
                    "the losses do not depend on any trainable parameter through autograd. Was the forward pass run "
                    "under torch.no_grad(), or its result detached?"
                )
            book.recording = False  # what checkpointing runs again during the backward pass is not a new use
            changed = units > 1 and (book.trace.doubtful or book.trace.key not in self._memory.traces)
            try:
                backward(book, losses, self._memory, verify=(verify or changed) and not losses.is_meta)
                self._memory.note(book.trace, book.calls)
                with torch._C.DisableTorchFunction():
                    return losses.detach(), gathered(book)
            except Retry:
                put_back()  # the same forward pass again, with the same dropout masks

    def _check_open(self) -> None:
        if self._closed:
            raise ClippingError("this clipper was closed. Build a new one.")
        thawed = [name for name, p in self._frozen.items() if p.requires_grad]
        if thawed:
            raise ClippingError(
                f"{', '.join(thawed)} became trainable after the clipper was built, so no clip bound covers it. "
                "Unfreeze parameters first, then build the clipper."
            )
        hooked = [name for name, p in self.parameters.items() if p._backward_hooks or p._post_accumulate_grad_hooks]
        if hooked:
            raise ClippingError(
                f"{', '.join(hooked)} has a gradient hook (register_hook, register_post_accumulate_grad_hook). Gradients of "
                "single units are clipped without being formed, so it would not be called. Remove it: what it does to a "
                "unit's gradient belongs in the loss or in register_full_backward_hook of the module, what it does to the "
                "noisy gradient in the optimizer."
            )

    def _resolved(self, bounds: Bounds) -> ClipBounds:
        if isinstance(bounds, Mapping):
            bounds = ClipBounds.per_layer(bounds)
        if not isinstance(bounds, ClipBounds):
            bounds = ClipBounds.flat(self.parameters, bounds)
        return bounds.resolved(self.parameters)


def _random_states(device: torch.device) -> Callable[[], None]:
    """A function that puts the host's generator, and that of the device, back to where they are now."""
    host = torch.get_rng_state()
    module = None if device.type in ("cpu", "meta") else torch.get_device_module(device)
    there = None if module is None else module.get_rng_state(device)

    def put_back() -> None:
        torch.set_rng_state(host)
        if module is not None:
            module.set_rng_state(there, device)

    return put_back
