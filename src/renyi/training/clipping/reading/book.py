"""The book of one forward pass: every use of a trainable parameter, recorded at the level of torch functions.

A mode that sees each torch function is more precise than hooks on modules: `F.linear` is the same whether `nn.Linear`, a
subclass with its own forward or `h @ embedding.weight.T` calls it, and a padding mode or a packed projection is just the
functions it is made of. A use with a rule runs on detached parameters, and its output passes through a tap. A use that no rule
covers, or that the mode cannot see (compiled code, a custom autograd function), keeps its link to the parameter, where the
backward pass finds it; then the whole model takes the fallback. So every use is either booked or noticed, never missed.
"""

from __future__ import annotations

import types
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.overrides import TorchFunctionMode

from renyi.training.clipping.reading.composite import opened
from renyi.training.clipping.reading.layout import Layout, Place, by_shape, candidates
from renyi.training.clipping.reading.tap import Backward, Call, Contribution, Kept, Tap
from renyi.training.clipping.reading.trace import Trace

Function = Callable[..., Any]


@dataclass(frozen=True)
class Rules:
    """What is known about torch functions.

    `table` has the rules that book calls that read parameters; `without_data` the functions whose result may be laid out by
    unit although they read only parameters and constants; `generic` books any other function; `guards` inspect every call of a
    function, and refuse those that would let one unit's data reach another or be released without noise.
    """

    table: dict[Function, Function]
    without_data: frozenset[Function]
    generic: Function
    guards: dict[Function, Function]


class Unbooked(Exception):
    """A use of a parameter that the rules do not cover."""


@dataclass(eq=False)
class Shared:
    """A tensor that all units share: a parameter, or something computed from parameters alone.

    A computed one keeps its graph back to the parameters. `transpose_of` is a shortcut for the commonest case.
    """

    tensor: Tensor
    plain: Tensor
    names: tuple[str, ...]
    transpose_of: Tensor | None = None

    @property
    def is_parameter(self) -> bool:
        """Whether it is a parameter itself."""
        return self.tensor.is_leaf


@dataclass(eq=False)
class Memory:
    """What earlier steps found out: where the units of a call lie, and which calls see no units at all."""

    layouts: dict[tuple[Any, ...], Layout] = field(default_factory=dict)
    unitless: set[tuple[Any, ...]] = field(default_factory=set)
    traces: set[int] = field(default_factory=set)
    operations: set[Any] = field(default_factory=set)
    grew: bool = False
    rules: dict[str, set[str]] = field(default_factory=dict)
    probed: int = 0

    def note(self, trace: Trace, calls: Sequence[Call] = ()) -> None:
        """Remember what a forward pass called, and by which rules; ``grew`` tells whether any function was new."""
        if trace.key not in self.traces:
            self.traces.add(trace.key)
            for call in calls:
                for name in call.owners:
                    self.rules.setdefault(name, set()).add(call.key[0])
            self.grew |= not trace.operations <= self.operations
            self.operations |= trace.operations


class Book(TorchFunctionMode):
    """Records the calls of one forward pass, but not those repeated during the backward pass (checkpointing)."""

    def __init__(
        self,
        parameters: dict[str, nn.Parameter],
        constants: dict[str, Tensor],
        units: int,
        memory: Memory,
        rules: Rules,
    ) -> None:
        super().__init__()
        self.units = units
        self.calls: list[Call] = []
        self.backward = Backward(units)
        self.anchor = torch.zeros((), requires_grad=True)
        self.recording = True
        self.trace = Trace(units)
        self.overwritten = False
        self.shared_tensors = {
            id(p): Shared(p, p.detach(), (name,)) for name, p in parameters.items() if p.requires_grad
        }
        self._clean: dict[int, Tensor] = {id(constant): constant for constant in constants.values()}
        self._named = {id(tensor): name for name, tensor in (*parameters.items(), *constants.items())}
        self._memory = memory
        self._rules = rules
        self._optional = False
        self._seen: Counter[tuple[Any, ...]] = Counter()

    def shared(self, value: object) -> Shared | None:
        """What is known about the value if all units share it."""
        return self.shared_tensors.get(id(value))

    def plain(self, value: Any) -> Any:
        """The value, detached from the parameters that it is or was computed from."""
        shared = self.shared_tensors.get(id(value))
        if shared is not None:
            return shared.plain
        if isinstance(value, (list, tuple)) and any(isinstance(item, Tensor) for item in value):
            return type(value)([self.plain(item) for item in value])
        return value

    def kept(self, tensor: Tensor, *owners: object) -> Kept:
        """An input that will be read again once the gradient is known."""
        return Kept(tensor, ", ".join(self.names(*owners)))

    def names(self, *owners: object) -> tuple[str, ...]:
        """The names of the parameters behind these values."""
        found = (self.shared_tensors.get(id(owner)) for owner in owners)
        return tuple(name for shared in found if shared is not None for name in shared.names)

    def module_of(self, *tensors: object) -> str:
        """The module that holds one of these parameters or buffers, in words."""
        name = next((self._named[id(tensor)] for tensor in tensors if id(tensor) in self._named), None)
        return (
            "a batch normalisation" if name is None else f"the module {name.rpartition('.')[0] or '(the model itself)'}"
        )

    def tap(
        self,
        rule: str,
        output: Tensor,
        owners: Sequence[object],
        axes: Sequence[int],
        contribute: Callable[[Tensor, Place], Iterator[Contribution]],
    ) -> Tensor:
        """Record a call and return its output, tapped."""
        names = self.names(*owners)
        nth = (rule, names)
        key = (rule, names, self._seen[nth], output.dim())
        self._seen[nth] += 1
        if self._optional and (
            key in self._memory.unitless or next(candidates(output.shape, axes, self.units), None) is None
        ):
            raise Unbooked
        if torch._C._functorch.is_functorch_wrapped_tensor(output) or forward_ad._current_level >= 0:
            raise Unbooked  # inside a transform of the user's own, or a derivative taken forwards
        call = Call(key, names, output.shape, tuple(axes), contribute, self._optional)
        call.layout = self._layout(call, meta=output.is_meta)
        if self.recording:
            self.trace.tapped()
            self.calls.append(call)
        tapped: Tensor = Tap.apply(output, self.anchor, self.backward, call)  # type: ignore[no-untyped-call]
        return tapped

    def _layout(self, call: Call, *, meta: bool) -> Layout | None:
        if self.units == 1 or meta:
            return by_shape(call.shape, call.axes, self.units)
        layout = self._memory.layouts.get(call.key)
        return layout if layout is not None and layout.fits(call.shape, self.units) else None

    def __torch_function__(
        self, func: Function, types_: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run one torch function, and book it if it reads a trainable parameter."""
        kwargs = kwargs or {}
        if self.recording:
            self.trace.note(func, args, kwargs)
        guard = self._rules.guards.get(func)
        if guard is not None:
            guard(self, *args, **kwargs)
        reads_shared = reads_data = False
        for value in _leaves(args, kwargs):
            if id(value) in self.shared_tensors:
                reads_shared = True
            elif id(value) not in self._clean:
                reads_data = True
        if not reads_shared:
            output = func(*args, **kwargs)
            # A function of constants alone gives a constant. It is kept alive, or its id could be reused by data.
            if not reads_data:
                self._clean.update((id(value), value) for value in _leaves((output,), {}))
            return output
        # A call in place is not booked: it keeps its link to the parameter, where the backward pass finds it.
        changes = in_place(func, kwargs)
        self.overwritten |= changes and id(args[0]) in self.shared_tensors
        if torch.is_grad_enabled() and not changes:
            try:
                return self._booked(func, args, kwargs, reads_data=reads_data)
            except Unbooked:
                pass
        return func(*args, **kwargs)

    def _booked(self, func: Function, args: tuple[Any, ...], kwargs: dict[str, Any], *, reads_data: bool) -> Any:
        """Run a function by its rule, as the functions it is made of, or by the generic rule; raises ``Unbooked``."""
        rule = self._rules.table.get(func)
        self._optional = not reads_data
        if not reads_data:
            if func in self._rules.without_data:
                with suppress(Unbooked):
                    assert rule is not None
                    return rule(self, *args, **kwargs)
            return self._derived(func, args, kwargs)
        if rule is not None:
            with suppress(Unbooked):
                return rule(self, *args, **kwargs)
        elif isinstance(func, types.FunctionType) and func.__module__ in COMPOSITE:
            with self:
                return opened(func)(*args, **kwargs)
        return self._rules.generic(self, func, args, kwargs)

    def _derived(self, func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a function of parameters alone; all units share its result, as they share the parameters."""
        output = func(*args, **kwargs)
        sources = [value for value in _leaves(args, kwargs) if id(value) in self.shared_tensors]
        for value in _leaves((output,), {}):
            if value.requires_grad and id(value) not in self.shared_tensors:
                names = tuple(dict.fromkeys(self.names(*sources)))
                turned = func in TRANSPOSES and value.dim() == 2 and value.shape == sources[0].shape[::-1]
                self.shared_tensors[id(value)] = Shared(value, value.detach(), names, sources[0] if turned else None)
            elif not value.requires_grad:
                self._clean[id(value)] = value
        return output


# Modules whose functions are written in Python, on top of other torch functions.
COMPOSITE = {"torch.nn.functional", "torch.functional"}
_GETTERS: Any = Tensor
TRANSPOSES: frozenset[Function] = frozenset(
    {torch.t, torch.transpose, _GETTERS.t, _GETTERS.transpose, _GETTERS.T.__get__, _GETTERS.mT.__get__}
)


def _leaves(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Tensor]:
    """The tensors among the arguments, also inside a list or tuple of them."""
    for value in (*args, *kwargs.values()) if kwargs else args:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _leaves(tuple(value), {})


def in_place(func: Function, kwargs: dict[str, Any]) -> bool:
    """Whether a torch function changes one of its arguments, judged by its name and by ``out``."""
    name = getattr(func, "__name__", "")
    dunder = name.startswith("__")
    changes_self = name == "__setitem__" or name.startswith("__i") if dunder else name.endswith("_")
    return changes_self or kwargs.get("out") is not None
