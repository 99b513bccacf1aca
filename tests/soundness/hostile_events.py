"""Random valid events over the whole range of floats and integers, and questions about them.

Half of the questions are runs as people have them in which one parameter is extreme, the others are extreme in most of theirs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.random import Generator

from renyi import (
    TCDP,
    ZCDP,
    Adjacency,
    ApproximateDP,
    Composed,
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    ExponentialMechanism,
    FinitePair,
    FromDensities,
    FromRenyi,
    Gaussian,
    GaussianDP,
    GaussianMixture,
    Grouped,
    InvalidInput,
    Laplace,
    Mechanism,
    Poisson,
    PureDP,
    RandomAllocation,
    RandomizedResponse,
    Repeated,
    Sampled,
    Sampling,
    Shuffled,
    TruncatedPoisson,
    Tuned,
    WithoutReplacement,
)
from tests.soundness.random_events import CURVES, DENSITIES, kinds

T = TypeVar("T")

SMALLEST, LARGEST = 5e-324, 1.7976931348623157e308
LARGEST_INTEGER = 10**300
BELOW_ONE, ABOVE_ONE = math.nextafter(1.0, 0.0), math.nextafter(1.0, 2.0)
MOST_PARTS = 300
MOST_NESTED = 60
TRIES = 50
"""Parameters are drawn one by one; those that do not go together (a batch above its dataset) are drawn again."""


@dataclass(frozen=True, slots=True)
class Question:
    """An event, and one delta or one epsilon; ``form`` is the public function that is asked."""

    event: Event
    form: str
    delta: float | None
    epsilon: float | None
    adjacency: Adjacency

    def __str__(self) -> str:
        at = f"epsilon={self.epsilon!r}" if self.delta is None else f"delta={self.delta!r}"
        return f"renyi.{self.form}({_short(repr(self.event))}, {at}, adjacency={self.adjacency!r})"


class Draw:
    """Numbers for one question, each either as people have them or from the whole range."""

    def __init__(self, rng: Generator) -> None:
        self.rng = rng
        self._asked = 0
        self._wild = bool(rng.random() < 0.5)
        self._odd_one = int(rng.integers(0, 6))

    def extreme(self) -> bool:
        """Whether the next parameter is: about the odd one of a common run, or most of those of a wild one."""
        self._asked += 1
        return bool(self.rng.random() < 0.7) if self._wild else self._asked - 1 == self._odd_one

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def one_of(self, choices: Sequence[T]) -> T:
        return choices[int(self.rng.integers(len(choices)))]

    def between(self, low: float, high: float) -> float:
        """Log-uniform."""
        return min(max(math.exp(self.rng.uniform(math.log(low), math.log(high))), low), high)

    def real(self, common: tuple[float, float], high: float = LARGEST, special: Sequence[float] = ()) -> float:
        """A float from the common range, or anything up to ``high``, or a special value."""
        if not self.extreme():
            return self.between(*common)
        if self.chance(0.3):
            return float(self.one_of([value for value in _SPECIAL if value <= high] + list(special)))
        return self.between(SMALLEST, high)

    def share(self, common: tuple[float, float]) -> float:
        """A probability."""
        value = self.real(common, 1.0)
        return 1.0 - value if self.chance(0.15) else value

    def whole(self, common: float, low: int = 1, high: int = LARGEST_INTEGER) -> int:
        if not self.extreme():
            value = round(self.between(1.0, common))
        elif self.chance(0.2):
            value = int(self.one_of([1, 2, 3, 2**31, 2**53 + 1, 2**63, 2**64, 10**15, 10**18, 10**100, 10**300]))
        elif self.chance(0.5):
            value = round(self.between(1.0, 1e12))
        else:
            value = int(10 ** int(self.rng.integers(0, 301)))
        return min(max(value, low), high)


_SPECIAL = (
    0.0,
    SMALLEST,
    2.0**-1022,
    1e-300,
    1e-155,
    1e-17,
    BELOW_ONE,
    1.0,
    ABOVE_ONE,
    2.0,
    1e17,
    1e155,
    1e300,
    LARGEST,
)


def _finite_pair(draw: Draw) -> FinitePair:
    size = int(draw.rng.integers(1, 8)) if draw.chance(0.9) else round(draw.between(8.0, 3000.0))
    rows = []
    for _ in range(2):
        masses = np.array([draw.between(1e-3, 1.0) for _ in range(size)])
        if draw.extreme():
            masses *= np.array([draw.between(1e-320, 1.0) if draw.chance(0.4) else 1.0 for _ in range(size)])
        if draw.chance(0.3):
            masses[draw.rng.integers(size)] = 0.0
        total = masses.sum()
        rows.append(tuple(float(mass) for mass in (masses / total if total > 0.0 else np.full(size, 1.0 / size))))
    if draw.chance(0.2):
        rows[1] = rows[0][::-1]
    return FinitePair(rows[0], rows[1])


def _from_renyi(draw: Draw) -> FromRenyi:
    if draw.chance(0.2):
        return CURVES[int(draw.rng.integers(len(CURVES)))]
    orders = sorted({1.0 + draw.real((0.1, 100.0)) for _ in range(int(draw.rng.integers(1, 6)))})
    if draw.chance(0.2):
        orders = sorted({*orders, 1.0})
    if draw.chance(0.2):
        orders = sorted({*orders, math.inf})
    values = [draw.real((1e-3, 10.0)) for _ in orders]
    if draw.chance(0.8):
        values = sorted(values)
    return FromRenyi(tuple(zip(orders, values, strict=True)))


def _gaussian_mixture(draw: Draw) -> GaussianMixture:
    size = int(draw.rng.integers(1, 8)) if draw.chance(0.9) else round(draw.between(8.0, 1000.0))
    masses = np.array([draw.between(1e-3, 1.0) for _ in range(size)])
    if draw.extreme():
        masses *= np.array([draw.between(1e-320, 1.0) if draw.chance(0.4) else 1.0 for _ in range(size)])
    weights = masses / masses.sum() if masses.sum() > 0.0 else np.full(size, 1.0 / size)
    shifts = tuple(0.0 if draw.chance(0.2) else draw.real((0.1, 5.0)) for _ in range(size))
    return GaussianMixture(draw.real((0.3, 30.0)), shifts, tuple(float(weight) for weight in weights))


MAKERS: dict[type[Mechanism], Callable[[Draw], Mechanism]] = {
    Gaussian: lambda draw: Gaussian(draw.real((0.3, 30.0))),
    Laplace: lambda draw: Laplace(draw.real((0.3, 30.0))),
    RandomizedResponse: lambda draw: RandomizedResponse(draw.share((0.1, 1.0)), draw.whole(10, low=2, high=10**15)),
    PureDP: lambda draw: PureDP(draw.real((0.01, 10.0))),
    ApproximateDP: lambda draw: ApproximateDP(draw.real((0.01, 10.0)), min(draw.share((1e-9, 1e-3)), BELOW_ONE)),
    ZCDP: lambda draw: ZCDP(draw.real((1e-4, 3.0)), draw.real((1e-4, 1.0)) if draw.chance(0.3) else 0.0),
    TCDP: lambda draw: TCDP(draw.real((1e-4, 3.0)), max(1.0 + draw.real((0.1, 1000.0)), ABOVE_ONE)),
    DiscreteGaussian: lambda draw: DiscreteGaussian(draw.real((0.3, 300.0)), draw.whole(20)),
    DiscreteLaplace: lambda draw: DiscreteLaplace(draw.real((0.3, 300.0)), draw.whole(20)),
    ExponentialMechanism: lambda draw: ExponentialMechanism(draw.real((0.01, 10.0))),
    GaussianDP: lambda draw: GaussianDP(draw.real((0.03, 3.0))),
    GaussianMixture: _gaussian_mixture,
    FinitePair: _finite_pair,
    FromRenyi: _from_renyi,
    FromDensities: lambda draw: DENSITIES[int(draw.rng.integers(len(DENSITIES)))],
}
"""How to draw each mechanism; one that is not listed is drawn from its own examples."""


def mechanism(draw: Draw, adjacency: Adjacency) -> Mechanism:
    cls = draw.one_of(kinds())
    drawn: Mechanism = MAKERS[cls](draw) if cls in MAKERS else draw.one_of(cls.examples())
    if hasattr(drawn, "adjacency") and draw.chance(0.95):
        drawn = replace(drawn, adjacency=adjacency)  # type: ignore[type-var]
    return drawn


def sampling(draw: Draw, adjacency: Adjacency) -> Sampling:
    """One that has a theorem for these neighbours, mostly."""
    if draw.chance(0.05):
        adjacency = draw.one_of(list(Adjacency))
    if adjacency is Adjacency.REPLACE_ONE:
        choices = [_without_replacement, _truncated, _shuffled]
    elif adjacency is Adjacency.ZERO_OUT:
        choices = [_poisson, _truncated, _allocation, _shuffled]
    else:
        choices = [_poisson, _poisson, _allocation]
    return draw.one_of(choices)(draw)


def _poisson(draw: Draw) -> Sampling:
    return Poisson(draw.share((1e-4, 0.5)))


def _allocation(draw: Draw) -> Sampling:
    return RandomAllocation(draw.whole(10_000))


def _shuffled(draw: Draw) -> Sampling:
    return Shuffled(draw.whole(10_000))


def _without_replacement(draw: Draw) -> Sampling:
    dataset = draw.whole(1e6)
    return WithoutReplacement(min(draw.whole(1e4, low=0), dataset), dataset)


def _truncated(draw: Draw) -> Sampling:
    dataset = draw.whole(1e6, high=10**15)
    return TruncatedPoisson(draw.share((1e-4, 0.5)), draw.whole(1e4, low=0), dataset)


def _release(draw: Draw, adjacency: Adjacency) -> Event:
    """What one draw of the records may feed: mostly one mechanism."""
    if draw.chance(0.8):
        return mechanism(draw, adjacency)
    parts = tuple(mechanism(draw, adjacency) for _ in range(int(draw.rng.integers(1, 4))))
    return Composed(tuple(Repeated(part, draw.whole(10)) if draw.chance(0.5) else part for part in parts))


def _step(draw: Draw, adjacency: Adjacency) -> Event:
    inner = _release(draw, adjacency)
    return Sampled(inner, sampling(draw, adjacency)) if draw.chance(0.6) else inner


def event(draw: Draw, adjacency: Adjacency, depth: int) -> Event:
    """A step as people run it, inside up to ``depth`` further nodes."""
    if depth == 0:
        step = _step(draw, adjacency)
        return Repeated(step, draw.whole(20_000)) if draw.chance(0.6) else step
    smaller = partial(event, draw, adjacency, depth - 1)
    kind = draw.rng.random()
    if kind < 0.3:
        return Repeated(smaller(), draw.whole(1000, low=0))
    if kind < 0.65:
        return Composed(tuple(smaller() for _ in range(int(draw.rng.integers(1, 5)))))
    if kind < 0.85:
        return Grouped(smaller(), draw.whole(10))
    return _tuned(draw, smaller())


def _tuned(draw: Draw, inner: Event) -> Event:
    shape = float(draw.one_of([1.0, 0.0, 0.5, math.inf]))
    if draw.extreme():
        shape = draw.real((0.1, 10.0)) - (1.0 if draw.chance(0.2) else 0.0)
    mean = draw.real((1.0, 1000.0))
    return Tuned(inner, mean if math.isinf(shape) else max(mean, 1.0), shape)


def _any_event(draw: Draw, adjacency: Adjacency) -> Event:
    kind = draw.rng.random()
    if kind < 0.01:  # many unlike parts
        parts = round(draw.between(5.0, MOST_PARTS))
        return Composed(tuple(event(draw, adjacency, 0) for _ in range(parts)))
    if kind < 0.02:  # a long chain
        inner = event(draw, adjacency, 0)
        wraps: list[Callable[[Event], Event]] = [_doubled, _paired, _for_two, partial(_tuned, draw)]
        for _ in range(round(draw.between(2.0, MOST_NESTED))):
            inner = draw.one_of(wraps)(inner)
        return inner
    return event(draw, adjacency, int(draw.one_of([0, 0, 0, 0, 1, 1, 1, 2, 2, 3])))


def _doubled(inner: Event) -> Event:
    return Repeated(inner, 2)


def _paired(inner: Event) -> Event:
    return Composed((inner, Gaussian(3.0)))


def _for_two(inner: Event) -> Event:
    return Grouped(inner, 2)


def question(rng: Generator) -> Question:
    """A random valid event and what is asked of it."""
    for _ in range(TRIES):
        draw = Draw(rng)
        adjacency = draw.one_of([Adjacency.ADD_OR_REMOVE] * 3 + [Adjacency.REPLACE_ONE, Adjacency.ZERO_OUT])
        try:
            drawn = _any_event(draw, adjacency)
            drawn.canonical()
        except InvalidInput:
            continue
        form = str(draw.one_of(["guarantee", "guarantee", "epsilon", "delta"]))
        if form == "epsilon" or (form == "guarantee" and draw.chance(0.6)):
            delta = min(draw.real((1e-9, 1e-3), 1.0), 1.0)
            return Question(drawn, form, delta, None, adjacency)
        return Question(drawn, form, None, draw.real((0.01, 20.0), special=(math.inf,)), adjacency)
    raise RuntimeError("no valid event was drawn")


def _short(text: str) -> str:
    text = re.sub(r"\b10{12,}\b", lambda found: f"10**{len(found[0]) - 1}", text)
    return text if len(text) <= 4000 else text[:4000] + "..."
