"""How one unit's gradient is bounded: by one norm, by a norm for each part of the model, or by an adaptive norm.

The choice is part of the plan; ``groups`` turns it into the bounds that the clipping engine works with.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from renyi import check
from renyi.errors import InvalidInput
from renyi.signatures import Taught

SLACK = 1.0 + 2.0**-20
"""Factor by which a norm clipped in float32 may exceed its bound; the noise is scaled up by as much."""

LEAST, MOST = 1e-12, 1e12
"""Smallest and largest clip bound: the squares of norms beyond them, 1e-24 and 1e24, would come near the limits of float32."""

FASTEST = 10.0
"""Largest rate of adaptive clipping: one step then changes the bound by at most a factor of e^10."""


def positive(**named: object) -> float:
    """A finite number above zero."""
    ((name, _),) = named.items()
    value = check.nonnegative(**named)
    if value == 0.0:
        raise InvalidInput(f"{name} must be above 0; got 0.")
    return value


def clip_bound(**named: object) -> float:
    """A norm whose square float32 holds with room to spare."""
    ((name, _),) = named.items()
    value = positive(**named)
    if not LEAST <= value <= MOST:
        raise InvalidInput(
            f"{name} must lie between {LEAST:g} and {MOST:g}: squares of norms are held in float32; got {value:g}. "
            "Scale the loss instead."
        )
    return value


def _rate(**named: object) -> float:
    value = positive(**named)
    if value > FASTEST:
        raise InvalidInput(
            f"the rate of adaptive clipping must be at most {FASTEST:g}, else the bound jumps from end to end; got "
            f"{value:g}. 0.2 is usual."
        )
    return value


@dataclass(frozen=True, slots=True)
class FlatClip:
    """The whole gradient of a unit has L2 norm at most ``bound``."""

    bound: float

    def __post_init__(self) -> None:
        check.fields(self, bound=clip_bound)

    def groups(self, names: Iterable[str]) -> tuple[tuple[tuple[str, ...], float], ...]:
        """One group of all parameters."""
        return ((tuple(names), self.bound),)

    def words(self) -> str:
        """How gradients are clipped, for a statement."""
        return f"each unit's whole gradient to L2 norm {self.bound:g}"

    def to_dict(self) -> dict[str, Any]:
        """JSON values."""
        return {"kind": "flat", "bound": self.bound}


@dataclass(frozen=True, slots=True)
class LayerClip:
    """Each part of the model has its own bound: pairs of a parameter's or module's name and the bound.

    A parameter belongs to the longest of these names that is its own or that of a module containing it. The whole gradient is
    then bounded by the root of the sum of the squared bounds, and the noise is scaled to that.
    """

    bounds: tuple[tuple[str, float], ...]

    def __post_init__(self) -> None:
        pairs = tuple((str(name), clip_bound(clip=bound)) for name, bound in self.bounds)
        if not pairs:
            raise InvalidInput(
                'per-layer clipping needs at least one bound, such as clip={"encoder": 0.5, "head": 1.0}.'
            )
        object.__setattr__(self, "bounds", pairs)

    @property
    def bound(self) -> float:
        """The bound of the whole gradient."""
        return math.hypot(*(bound for _, bound in self.bounds))

    def groups(self, names: Iterable[str]) -> tuple[tuple[tuple[str, ...], float], ...]:
        """The parameters under each name, with its bound."""
        members: dict[str, list[str]] = {name: [] for name, _ in self.bounds}
        for parameter in names:
            holders = [name for name in members if parameter == name or parameter.startswith(name + ".")]
            if not holders:
                raise InvalidInput(
                    f"the parameter {parameter} has no clip bound: clip names {', '.join(members)}. "
                    "Add its name, or its module's, with a bound."
                )
            members[max(holders, key=len)].append(parameter)
        idle = [name for name, held in members.items() if not held]
        if idle:
            raise InvalidInput(
                f"clip gives a bound to {', '.join(idle)}, but no trainable parameter lies there. Remove it: it would "
                "only add noise."
            )
        return tuple((tuple(members[name]), bound) for name, bound in self.bounds)

    def words(self) -> str:
        """How gradients are clipped, for a statement."""
        parts = ", ".join(f"{name} to {bound:g}" for name, bound in self.bounds)
        return f"each unit's gradient by parts of the model ({parts}), together to L2 norm {self.bound:g}"

    def to_dict(self) -> dict[str, Any]:
        """JSON values."""
        return {"kind": "layers", "bounds": [[name, bound] for name, bound in self.bounds]}


@dataclass(frozen=True, slots=True)
class AdaptiveClip(metaclass=Taught):
    """A bound that follows a quantile of the gradient norms, learnt from a noisy count.

    At each step the number of units whose norm is inside the bound is released with the gradient, on the same draw.
    Each unit adds +1/2 or -1/2 (not 1 or 0), so its contribution is 1/2, and ``count_noise_multiplier`` is the standard
    deviation of the count's noise divided by that. The share is relative to the plan's declared batch, never to the actual one,
    which is private. Then

        bound <- bound * exp(-rate * (share - quantile))

    A tenth of the expected batch is a good ``count_noise_multiplier``: the count then costs little beside the gradient.

    Reference: Andrew, Thakkar, McMahan & Ramaswamy (2021), Differentially private learning with adaptive clipping.
    """

    initial: float
    count_noise_multiplier: float
    quantile: float = 0.5
    rate: float = 0.2

    def __post_init__(self) -> None:
        check.fields(
            self, initial=clip_bound, quantile=check.probability, rate=_rate, count_noise_multiplier=check.nonnegative
        )

    @property
    def bound(self) -> float:
        """The bound of the first step."""
        return self.initial

    def groups(self, names: Iterable[str]) -> tuple[tuple[tuple[str, ...], float], ...]:
        """One group of all parameters, with the first step's bound."""
        return ((tuple(names), self.initial),)

    def followed(self, bound: float, noisy_halves: float, expected_batch: float) -> float:
        """The next bound, computed from the noisy sum of halves alone: post-processing, which costs nothing."""
        share = min(max(0.5 + noisy_halves / expected_batch, 0.0), 1.0)
        return min(max(bound * math.exp(-self.rate * (share - self.quantile)), LEAST), MOST)

    def words(self) -> str:
        """How gradients are clipped, for a statement."""
        return (
            f"each unit's whole gradient to an L2 norm that begins at {self.initial:g} and follows the quantile "
            f"{self.quantile:g} of the norms, by a noisy count at every step (multiplier {self.count_noise_multiplier:g})"
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "kind": "adaptive",
            "initial": self.initial,
            "quantile": self.quantile,
            "rate": self.rate,
            "count_noise_multiplier": self.count_noise_multiplier,
        }


Clip = FlatClip | LayerClip | AdaptiveClip


def clip_of(given: object) -> Clip:
    """The clipping that a plan was given: a number, a mapping from names to bounds, or a value of this module."""
    if isinstance(given, (FlatClip, LayerClip, AdaptiveClip)):
        return given
    if isinstance(given, Mapping):
        return LayerClip(tuple(given.items()))
    return FlatClip(clip_bound(clip=given))


def clip_from_dict(document: Any) -> Clip:
    """The clipping that JSON values describe."""
    match document:
        case {"kind": "flat", "bound": bound}:
            return FlatClip(bound)
        case {"kind": "layers", "bounds": [*bounds]}:
            return LayerClip(tuple((name, bound) for name, bound in bounds))
        case {"kind": "adaptive", **fields}:
            return AdaptiveClip(**fields)  # type: ignore[arg-type]
    raise InvalidInput(f"clip must be of kind flat, layers or adaptive; got {document!r}.")
