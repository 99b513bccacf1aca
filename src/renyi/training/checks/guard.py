"""Keeps everybody but the release away from the optimizer and the gradients while a run is open."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_pre_hook

from renyi.errors import InvalidInput
from renyi.training.checks.wrappers import RECIPES
from renyi.training.errors import TrainingError

NAMED = 3
"""How many parameters an error names: enough to find them, however many there are."""


class OptimizerGuard:
    """Raises when anybody else calls ``optimizer.step``, steps with another optimizer, or writes a gradient.

    A step that did not go through the release has unclipped gradients, no noise and no record: the commonest way to
    lose a guarantee in silence.
    """

    def __init__(self, optimizer: torch.optim.Optimizer, parameters: Mapping[str, nn.Parameter]) -> None:
        if not isinstance(optimizer, torch.optim.Optimizer):
            raise InvalidInput(
                f"optimizer must be one of torch.optim; got {type(optimizer).__name__}. A wrapper's .optimizer may be one, and "
                "a Trainer's .create_optimizer() makes one."
            )
        if isinstance(optimizer, torch.optim.SparseAdam) or "sparse" in type(optimizer).__name__.lower():
            raise InvalidInput(
                f"{type(optimizer).__name__} works on sparse gradients, and a gradient with noise is dense: which rows "
                "are zero would tell who was drawn. Use a dense optimizer, such as SGD or Adam."
            )
        closure = inspect.signature(type(optimizer).step).parameters.get("closure")
        if closure is not None and closure.default is inspect.Parameter.empty:
            raise InvalidInput(
                f"{type(optimizer).__name__} evaluates the loss by itself, several times a step, outside clipping and "
                "noise. Use an optimizer that works from one gradient, such as SGD or Adam."
            )
        self._optimizer = optimizer
        self._parameters = dict(parameters)
        self._expected: dict[str, tuple[torch.Tensor, int]] | None = None
        self.expect_ready()
        self._hook = optimizer.register_step_pre_hook(self._before_step)
        self._everywhere = register_optimizer_step_pre_hook(self._before_any_step)

    def expect_ready(self) -> None:
        """The optimizer holds exactly the clipped parameters, and nobody has written a gradient."""
        expect_autograd(self._parameters)
        held = {id(parameter) for group in self._optimizer.param_groups for parameter in group["params"]}
        mine = {id(parameter): name for name, parameter in self._parameters.items()}
        missing = [name for number, name in mine.items() if number not in held]
        if missing or held - mine.keys():
            raise TrainingError(
                f"the optimizer and the model disagree on what is trained: {_few(missing) or 'no parameter'} is "
                f"missing in the optimizer, and {len(held - mine.keys())} of its tensors are not trainable parameters "
                "of the model. Build it from the parameters that have requires_grad, and freeze the others with "
                "requires_grad_(False)."
            )
        frozen = [name for name, parameter in self._parameters.items() if not parameter.requires_grad]
        if frozen:
            raise TrainingError(f"{_few(frozen)} was frozen while the run is open. Freeze before making the run.")
        written = [name for name, parameter in self._parameters.items() if parameter.grad is not None]
        if written:
            raise TrainingError(
                f"the gradient of {_few(written)} was written by somebody else: such a gradient is neither clipped nor "
                "noised. Do not call backward() on the run's parameters; run.step(batch) computes the gradients. "
                "Call optimizer.zero_grad() to drop these."
            )

    @contextmanager
    def stepping(self, gradients: Mapping[str, torch.Tensor]) -> Iterator[None]:
        """Put these gradients in place for one step, and take them away afterwards."""
        expected = {name: gradients[name].to(parameter.dtype) for name, parameter in self._parameters.items()}
        try:
            for name, parameter in self._parameters.items():
                parameter.grad = expected[name]
            self._expected = {name: (gradient, gradient._version) for name, gradient in expected.items()}
            # Last, so that what other hooks of the optimizer do is seen.
            hooks = self._optimizer._optimizer_step_pre_hooks
            hooks[self._hook.id] = hooks.pop(self._hook.id)
            yield
        finally:
            self._expected = None
            for parameter in self._parameters.values():
                parameter.grad = None

    def close(self) -> None:
        """Let go of the optimizer."""
        self._hook.remove()
        self._everywhere.remove()

    def _before_any_step(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        if optimizer is self._optimizer or self._expected is not None:
            return
        held = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
        taken = [name for name, parameter in self._parameters.items() if id(parameter) in held]
        if taken:
            raise TrainingError(
                f"another optimizer, a {type(optimizer).__name__}, was about to step {_few(taken)}, which an open run trains: "
                "that step would have no clipping, no noise and no record. run.step(batch) is the whole step. A trainer steps "
                f"by itself, so let the run take its place: {RECIPES}. run.close() gives the model back."
            )

    def _before_step(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        expected = self._expected
        if expected is None or any(value is not None for value in (*args[1:], *kwargs.values())):
            raise TrainingError(
                "optimizer.step() was called outside the run: that step would have no clipping, no noise and no "
                "record. run.step(batch) steps by itself when a draw is complete; gradient scalers, closures and "
                "trainers that step must be taken out (a LightningModule with self.automatic_optimization = False): "
                f"{RECIPES}. run.close() gives the optimizer back."
            )
        changed = [
            name
            for name, parameter in self._parameters.items()
            if parameter.grad is not expected[name][0] or parameter.grad._version != expected[name][1]
        ]
        if changed:
            raise TrainingError(
                f"the gradient of {_few(changed)} was replaced or written between the release and the optimizer's step, by a "
                "hook of the optimizer or in a step of its own that calls another: what is added there carries no noise. Take "
                "it out; weight decay, clipping of the noisy gradient and the like belong in the optimizer's own update."
            )


def _few(names: list[str]) -> str:
    """The first of these names, and how many there are besides."""
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")


_open: dict[int, weakref.ref[Any]] = {}
"""By which run each parameter is being trained; a run that is gone has let go."""


def claim(run: object, parameters: Mapping[str, nn.Parameter]) -> Callable[[], None]:
    """Give these parameters to one run, until the returned function is called."""
    numbers = [id(parameter) for parameter in parameters.values()]
    holders = [_open[number]() for number in numbers if number in _open]
    if any(holder is not None for holder in holders):
        raise TrainingError(
            "another open run trains this model. Each of two runs would charge only its own releases of the same "
            "weights. Close the other one first: run.close()."
        )
    _open.update(dict.fromkeys(numbers, weakref.ref(run)))

    def release() -> None:
        for number in numbers:
            _open.pop(number, None)

    return release


def expect_autograd(parameters: Mapping[str, nn.Parameter]) -> None:
    """Refuse inference mode, in which nothing can be differentiated."""
    made = [name for name, parameter in parameters.items() if parameter.is_inference()]
    if made or torch.is_inference_mode_enabled():
        raise TrainingError(
            f"{', '.join(made) or 'this step'} comes from torch.inference_mode(), where no gradient can be computed. "
            "Make the model and call run.step outside of it."
        )
