"""The clip bounds of a step: which parameters are clipped together, and to which norm."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from renyi import check
from renyi.errors import InvalidInput

SMALLEST, LARGEST = 1e-12, 1e12
"""Smallest and largest bound: between them float32 holds clipped gradients and their squares without loss."""


@dataclass(frozen=True, slots=True)
class ClipBounds:
    """Groups of parameter names, each with the largest joint norm one unit's gradient may have there.

    A name may also be that of a module: it then stands for every trainable parameter inside that module to which no longer name
    applies.
    """

    groups: tuple[tuple[tuple[str, ...], float], ...]

    def __post_init__(self) -> None:
        for names, bound in self.groups:
            if not SMALLEST <= check.real(bound=bound) <= LARGEST:
                raise InvalidInput(
                    f"the clip bound of {', '.join(names)} must be a finite number > 0, from {SMALLEST:g} to {LARGEST:g}; got "
                    f"{bound!r}. Scale the losses if the gradients are that small or large."
                )

    @classmethod
    def flat(cls, names: Iterable[str], bound: float) -> Self:
        """One bound on the joint norm of all parameters."""
        return cls(((tuple(names), bound),))

    @classmethod
    def per_layer(cls, bounds: Mapping[str, float] | Mapping[str | tuple[str, ...], float]) -> Self:
        """A bound for each parameter, module, or tuple of such names."""
        return cls(tuple(((key,) if isinstance(key, str) else key, bound) for key, bound in bounds.items()))

    @property
    def sensitivity(self) -> float:
        """The largest norm of one unit's whole contribution: the groups are orthogonal, so their squares add up."""
        return math.sqrt(math.fsum(bound * bound for _, bound in self.groups))

    def resolved(self, parameters: Iterable[str]) -> Self:
        """The same bounds over exactly these parameters, each of them in exactly one group."""
        members: list[list[str]] = [[] for _ in self.groups]
        for name in parameters:
            fits = {
                key: group
                for group, (keys, _) in enumerate(self.groups)
                for key in keys
                if name == key or name.startswith(f"{key}.")
            }
            if not fits:
                raise InvalidInput(
                    f"no clip bound covers {name}: every trainable parameter belongs to exactly one group. "
                    "Add a bound for it, or freeze it with requires_grad_(False)."
                )
            members[fits[max(fits, key=len)]].append(name)
        for (names, _), found in zip(self.groups, members, strict=True):
            if not found:
                raise InvalidInput(f"the clip group of {', '.join(names)} holds no trainable parameter. Take it out.")
        return type(self)(tuple((tuple(found), bound) for found, (_, bound) in zip(members, self.groups, strict=True)))
