"""Calls with wrong arguments, answered with the name that was probably meant.

Other libraries call the same parameters sigma, q or eps. Python's own error would name neither the parameter that is meant
here nor the value that came.
"""

from __future__ import annotations

import functools
import inspect
from abc import ABCMeta
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

from renyi.errors import WrongCall

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")

SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "alpha": ("order", "orders"),
    "b": ("noise_multiplier", "scale", "batch"),
    "batch_size": ("batch",),
    "dataset_size": ("dataset",),
    "eps": ("epsilon",),
    "iterations": ("steps",),
    "k": ("size", "picks", "outcomes"),
    "n": ("dataset", "dataset_size", "steps", "count"),
    "neighboring_relation": ("adjacency",),
    "neighbours": ("adjacency",),
    "noise": ("noise_multiplier", "scale"),
    "num_epochs": ("epochs",),
    "num_steps": ("steps",),
    "number_of_examples": ("dataset_size", "dataset"),
    "p": ("probability", "rate"),
    "q": ("rate",),
    "sample_rate": ("rate",),
    "sampling_probability": ("rate",),
    "sampling_rate": ("rate",),
    "sampler": ("sampling",),
    "scale": ("noise_multiplier",),
    "sigma": ("noise_multiplier", "scale"),
    "std": ("noise_multiplier", "scale"),
    "t": ("steps",),
    "target_delta": ("delta",),
    "target_epsilon": ("epsilon",),
}
"""What a parameter is called elsewhere, and here."""


def meant(given: str, known: Iterable[str]) -> str | None:
    """The known name that a wrong one probably stands for; dashes and underscores are alike."""
    from difflib import get_close_matches

    plain = {name.strip("-").replace("-", "_"): name for name in known}
    wrong = given.strip("-").replace("-", "_").lower()
    near = [*(name for name in SYNONYMS.get(wrong, ()) if name in plain), *get_close_matches(wrong, plain, n=1)]
    return plain[near[0]] if near else None


def fault(name: str, signature: inspect.Signature, given: Sequence[object], named: Mapping[str, object]) -> str | None:
    """What is wrong with the arguments of a call, and how to write it; None if they fit."""
    try:
        signature.bind(*given, **named)
    except TypeError:
        pass
    else:
        return None
    known = signature.parameters
    usage = f"{name}({', '.join(_shown(one) for one in known.values())})"
    for wrong in (one for one in named if one not in known):
        near = meant(wrong, known)
        hint = f" Did you mean {near}={_value(named[wrong])}?" if near else ""
        return f"{name} has no parameter {wrong!r}.{hint} Write {usage}."
    by_place = [one for one in known.values() if one.kind is not one.KEYWORD_ONLY]
    if len(given) > len(by_place):
        extra = _value(given[len(by_place)])
        count = f"{len(by_place)} argument{'' if len(by_place) == 1 else 's'}"
        return f"{name} takes {count} by place; {extra} is one too many. Write {usage}."
    if twice := [one.name for one, _ in zip(by_place, given, strict=False) if one.name in named]:
        return f"{name} got {twice[0]} by place and by name. Write {usage}."
    filled = {one.name for one in by_place[: len(given)]} | named.keys()
    missing = [one.name for one in known.values() if one.default is one.empty and one.name not in filled]
    return f"{name} needs {', '.join(missing)}. Write {usage}."


def _shown(one: inspect.Parameter) -> str:
    return f"{one.name}=..." if one.kind is one.KEYWORD_ONLY or one.default is not one.empty else one.name


def _value(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def taught(function: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
    """A function whose wrong calls raise ``WrongCall`` with the call that was probably meant."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*given: Parameters.args, **named: Parameters.kwargs) -> Returned:
        try:
            return function(*given, **named)
        except TypeError:
            if words := fault(function.__name__, signature, given, named):
                raise WrongCall(words) from None
            raise

    return call


class Taught(ABCMeta):
    """The metaclass of events and samplings: building one with wrong arguments raises ``WrongCall``."""

    @property
    def __signature__(cls) -> inspect.Signature:
        """The signature of the class, which ``help`` and editors would otherwise take from ``__call__`` below."""
        signature = inspect.signature(cls.__init__)  # type: ignore[misc]
        return signature.replace(parameters=list(signature.parameters.values())[1:], return_annotation=signature.empty)

    def __call__(cls, *given: Any, **named: Any) -> Any:
        """Build an instance, or say which arguments were probably meant."""
        try:
            return super().__call__(*given, **named)
        except TypeError:
            if words := fault(cls.__name__, cls.__signature__, given, named):
                raise WrongCall(words) from None
            raise
