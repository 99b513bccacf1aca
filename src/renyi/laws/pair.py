"""A dominating pair: two laws whose privacy profile is at least that of every pair of neighbours.

A pair *holds its forms*. Its profile is always there. Where it has finitely many losses, ``finite`` lists them; where the
Laplace transform of its loss is known, ``transform`` is it. Both are made when first asked for and kept with the pair; None
says that there is no such form. ``FiniteLossPair``, the form of pairs with finitely many losses, is a pair itself, which is why
both classes are in this file.

Three words say what holds on which side. A pair *dominates*: its profile is never below that of any neighbours, so upper ends
hold. A pair is *attained* if some neighbours have exactly its profile under composition, so that lower ends hold as well.
The pair *below* another one is attained by some neighbours or lies under them: it gives the lower ends of a pair that is known
from above only approximately, and is the pair itself where that is attained.
"""

from __future__ import annotations

import math
import sys
import weakref
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from renyi.errors import InvalidInput, UnsupportedError
from renyi.laws.curves.curve import CurveFunction, RenyiCurve
from renyi.laws.decay import Decay
from renyi.laws.ratio_law import RatioLaw
from renyi.laws.transform import AtomsTransform, LossTransform
from renyi.numerics.logspace import log_expm1, log_sum_exp
from renyi.numerics.rounding import raised
from renyi.numerics.work import spend

Array = NDArray[np.float64]

LOSS_ROUNDING = 2e-15
"""Relative error of a loss computed from parameters: a few roundings."""

_TERMS_AT_ONCE = 500_000
"""Outcomes times levels in one array of a profile: four megabytes. More at once takes memory and saves no time."""

_EQUAL_LOSSES = 1e-14
"""Losses of a product that differ by less, relative to themselves and to a tenth of the largest, are one: sums of the same
losses in another order differ by a few roundings."""


class DominatingPair(ABC):
    """Two laws (P, Q), the first dataset's and the second's, that bound a relation in every order.

    Zhu, Dong & Wang (2022), arXiv:2106.08567v4, Definition 7: H(P || Q) is at least H(M(D) || M(D')) at every
    level, so every divergence of the pair bounds the mechanism's.
    """

    @property
    @abstractmethod
    def attained(self) -> bool:
        """Whether some neighbouring datasets have exactly this profile under composition, so that lower ends hold too.

        Of a pair that stands for all mechanisms of a level: whether neighbours of the worst of these mechanisms have.
        """

    def below(self) -> DominatingPair | None:
        """An attained pair, or one under an attained pair: itself where it is attained; None where no such pair is known."""
        return self if self.attained else None

    @property
    @abstractmethod
    def max_loss(self) -> float:
        """The essential supremum of log(P/Q): the divergence of infinite order."""

    @abstractmethod
    def reversed(self) -> DominatingPair:
        """The pair (Q, P)."""

    @abstractmethod
    def log_profile(self, epsilon: Array) -> Array:
        """log of the hockey-stick divergence H_{e^epsilon}(P || Q), for every real epsilon."""

    def profile_error(self, epsilon: float) -> float:
        """Relative error of ``log_profile``'s exponential, as tested against 40 digits."""
        return 2e-12

    @property
    def closed_form(self) -> bool:
        """Whether the profile is at hand and as exact as any method could find it; False where it takes a lattice."""
        return True

    @property
    def loss_error(self) -> float:
        """By how much finite losses may be off, the largest too: close below it the profile is a matter of that."""
        # Of a pair below another only a part of the masses is held, so that its largest loss may be negative.
        return LOSS_ROUNDING * abs(self.max_loss) if self.max_loss < math.inf else 0.0

    @property
    def exact_max_loss(self) -> Fraction:
        """A finite largest loss, off by ``loss_error`` at most: another number than ``max_loss`` where no float is right."""
        return Fraction(self.max_loss)

    @property
    def largest_order(self) -> float:
        """The largest order for which there is a ``ratio_law``; 0 where there is none."""
        return 0.0

    def ratio_law(self, max_order: float) -> RatioLaw:
        """The law of log(P/Q) under Q, fine enough for divergences up to ``max_order``, at most ``largest_order``."""
        raise UnsupportedError(f"{self} gives no law of its likelihood ratio at order {max_order:g}.")

    def sampled_divergence(self, rate: float, *, adding: bool) -> CurveFunction | None:
        """The Renyi curve of the mixture (1 - rate) Q + rate P against Q, or, ``adding``, of Q against it; 0 < rate < 1.

        That is the curve of a Poisson sample, where P is the law with the record. It includes its numerical error, is
        infinite above ``largest_order``, and None where no order has a law. A pair that stands for many, each order with its
        own worst, overrides it.
        """
        return partial(_mixed_upper, self, rate, adding) if self.largest_order > 0.0 else None

    @property
    def infinite_mass(self) -> float:
        """The probability, under P, of what Q cannot produce."""
        return 0.0

    @property
    def mass_error(self) -> float:
        """The relative error of that probability."""
        return 0.0 if self.infinite_mass in (0.0, 1.0) else 1e-14

    @cached_property
    def finite(self) -> FiniteLossPair | None:
        """The same pair as a list of losses; None where they are not finitely many, but for a probability below e^-700."""
        return None

    @cached_property
    def transform(self) -> LossTransform | None:
        """The Laplace transform of the loss on vertical lines; None where it is not known exactly."""
        return None if self.finite is None else self.finite.transform

    def resolved_law(self, order: float, frequency: float) -> RatioLaw | None:
        """The law of log(P/Q) under Q, exact to rounding for powers up to an order and a frequency; None where unknown."""
        return None

    def mixed_decay(self, rate: float, tilt: float, *, adding: bool) -> Decay | None:
        """What bounds the decay of the transform of a Poisson sample (``sampled_divergence``) at a tilt; None where unknown."""
        return None

    def composed(self, other: DominatingPair) -> DominatingPair | None:
        """The product of two pairs where it is a pair of a known kind; None where it is not."""
        return None

    def repeated(self, count: int) -> DominatingPair | None:
        """The ``count``-fold product where it is a pair of a known kind; None where it is not."""
        return self if count == 1 else None

    def dominates(self, other: DominatingPair) -> bool:
        """Whether this pair is known to lie above another at every level."""
        return self == other

    def grouped(self, size: int) -> DominatingPair | None:
        """The pair of ``size`` such differences one after another where it is one of a known kind; None where it is not."""
        return self if size == 1 else None

    def renyi(self) -> RenyiCurve:
        """The Renyi curve of the pair, by its likelihood-ratio law."""
        return RenyiCurve(
            partial(_divergence_upper, self),
            limit=self.max_loss + self.loss_error,
            max_order=self.largest_order,
            covers_opposite=self.reversed() == self,
        )


@dataclass(frozen=True, init=False, eq=False)
class FiniteLossPair(DominatingPair):
    """Outcomes with log-probabilities ``log_p`` under P and ``log_q`` under Q, and their losses log(P/Q).

    Outcomes are kept in the order of their losses, as arrays that nobody can write to; a pair whose outcomes can be matched to
    exchange P and Q equals its own reversal. The losses are given beside the probabilities because a loss near 0 is known more
    exactly than the difference of two logarithms. An outcome that Q cannot produce has loss +inf, one that P cannot -inf.

    ``rounding`` is the relative error of the finite losses. ``missing``, where it is known, is the mass of the infinite losses
    under P and under Q: their logarithms have lost the last digits. ``looked_up`` pairs have very many losses or are asked at
    very many levels: their profile is read off cumulated masses, and they have no further form.
    """

    losses: Array
    log_p: Array
    log_q: Array
    attained: bool = True
    rounding: float = LOSS_ROUNDING
    missing: tuple[float, float] | None = None
    looked_up: bool = False

    def __init__(
        self,
        losses: ArrayLike,
        log_p: ArrayLike,
        log_q: ArrayLike,
        attained: bool = True,
        rounding: float = LOSS_ROUNDING,
        missing: tuple[float, float] | None = None,
        looked_up: bool = False,
    ) -> None:
        # Adding 0 copies, and makes every zero positive: equal pairs have equal bytes.
        rows = [np.asarray(row, dtype=np.float64) + 0.0 for row in (losses, log_p, log_q)]
        if not rows[0].shape == rows[1].shape == rows[2].shape:
            raise InvalidInput("losses, log_p and log_q must have one entry for every outcome.")
        spend(2.0 * rows[0].size)
        with np.errstate(invalid="ignore"):
            rising = bool(np.all(rows[0][1:] > rows[0][:-1]))
        if not rising:
            spend(50.0 * rows[0].size)
            order = np.lexsort(rows[::-1])
            rows = [row[order] for row in rows]
        for row in rows:
            row.flags.writeable = False
        values = (*rows, attained, rounding, missing, looked_up)
        for field, value in zip(fields(self), values, strict=True):
            object.__setattr__(self, field.name, value)

    @classmethod
    def apart(cls) -> FiniteLossPair:
        """Two laws that have no outcome in common."""
        return cls((math.inf, -math.inf), (0.0, -math.inf), (-math.inf, 0.0))

    @classmethod
    def of_masses(
        cls, x: Array, log_p: Array, infinite: float, behind: float, *, attained: bool, looked_up: bool = False
    ) -> FiniteLossPair:
        """Masses of P at rising finite losses, ``infinite`` of P where Q has nothing, ``behind`` of Q where P has nothing."""
        losses, log_q = x, log_p - x
        if behind > 0.0:
            losses = np.concatenate([[-math.inf], losses])
            log_p = np.concatenate([[-math.inf], log_p])
            log_q = np.concatenate([[math.log(behind)], log_q])
        if infinite > 0.0:
            losses = np.concatenate([losses, [math.inf]])
            log_p = np.concatenate([log_p, [math.log(infinite)]])
            log_q = np.concatenate([log_q, [-math.inf]])
        missing = (infinite, behind) if looked_up else None
        return cls(losses, log_p, log_q, attained, missing=missing, looked_up=looked_up)

    def _rest(self) -> tuple[object, ...]:
        return self.attained, self.rounding, self.missing, self.looked_up

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FiniteLossPair):
            return NotImplemented
        if self is other or self._rest() != other._rest():
            return self is other
        rows = ((self.losses, other.losses), (self.log_p, other.log_p), (self.log_q, other.log_q))
        return all(np.array_equal(mine, its) for mine, its in rows)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.losses.tobytes(), self.log_p.tobytes(), self.log_q.tobytes(), *self._rest()))

    @cached_property
    def support(self) -> tuple[Array, Array]:
        """The finite losses that P can have, and the logarithms of their probabilities under P."""
        inside = slice(*np.searchsorted(self.losses, [-sys.float_info.max, math.inf]).tolist())
        x, log_p = self.losses[inside], self.log_p[inside]
        held = log_p > -math.inf
        return (x, log_p) if held.all() else (x[held], log_p[held])

    @cached_property
    def max_loss(self) -> float:
        held = self.losses[self.log_p > -math.inf]
        return float(held[-1]) if held.size else 0.0

    @cached_property
    def infinite_mass(self) -> float:
        if self.missing is not None:
            return self.missing[0]
        return math.fsum(np.exp(self.log_p[self.losses == math.inf]).tolist())

    @cached_property
    def mass_error(self) -> float:
        logs = self.log_p[self.losses == math.inf]
        return 0.0 if self.missing is not None or not logs.any() else 2e-15 - 2.4e-16 * max(float(logs.min()), -750.0)

    @property
    def loss_error(self) -> float:
        return self.rounding * abs(self.largest_finite_loss)

    @property
    def largest_finite_loss(self) -> float:
        """The largest loss below infinity that P can have; 0 if there is none."""
        x = self.support[0]
        return float(x[-1]) if x.size else 0.0

    @cached_property
    def finite(self) -> FiniteLossPair | None:
        return None if self.looked_up else self

    @cached_property
    def transform(self) -> AtomsTransform | None:
        if self.looked_up:
            return None
        law = self.ratio_law(math.inf)
        return AtomsTransform(law.log_ratio, law.log_weight, law.missing)

    def reversed(self) -> FiniteLossPair:
        origin = self._origin() if self._origin is not None else None
        return self._mirror if origin is None else origin

    @cached_property
    def _origin(self) -> weakref.ref[FiniteLossPair] | None:
        """The pair of which this is the mirror image, if it is one: a third copy is not needed, nor a cycle of references."""
        return None

    @cached_property
    def _mirror(self) -> FiniteLossPair:
        missing = None if self.missing is None else self.missing[::-1]
        rows = -self.losses[::-1], self.log_q[::-1], self.log_p[::-1]
        mirror = FiniteLossPair(*rows, self.attained, self.rounding, missing, self.looked_up)
        mirror.__dict__["_origin"] = weakref.ref(self)
        return mirror

    def in_table(self) -> FiniteLossPair:
        """The same with its profile looked up: for very many levels, at a few more roundings each."""
        return replace(self, looked_up=True)

    def profile_error(self, epsilon: float) -> float:
        return 2e-12 if self.looked_up else 1e-13

    def log_profile(self, epsilon: Array) -> Array:
        """log of the sum over losses above epsilon of P - e^epsilon Q = P (1 - e^(epsilon - loss))."""
        if self.looked_up:
            return self._from_table(epsilon)
        flat = epsilon.ravel()
        result = np.empty(flat.shape)
        rows = max(1, _TERMS_AT_ONCE // self.losses.size)
        for start in range(0, flat.size, rows):
            part = slice(start, start + rows)
            gap = np.maximum(self.losses - flat[part, None], 0.0)
            with np.errstate(divide="ignore"):
                result[part] = log_sum_exp(self.log_p + np.log(-np.expm1(-gap)))
        return result.reshape(epsilon.shape)

    def _from_table(self, epsilon: Array) -> Array:
        x, tail, value = self._table
        if not x.size:
            return np.full(epsilon.shape, _log(self.infinite_mass))
        place = np.searchsorted(x, epsilon, side="right")
        at = np.minimum(place, x.size - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = np.logaddexp(value[at], tail[at] + epsilon + log_expm1(np.maximum(x[at] - epsilon, 0.0)))
        return np.minimum(np.where(place < x.size, inside, value[-1]), 0.0)

    @cached_property
    def _table(self) -> tuple[Array, Array, Array]:
        """The finite losses; from each of them on, log of the mass of Q at finite losses; and log of the profile there.

        From the right, the profile grows by the mass of Q behind times the step in e^loss: sums of positive terms.
        """
        x, log_p = self.support
        if not x.size:
            return x, log_p, log_p
        # In place: half a million losses are four megabytes, and this is where memory is largest.
        tail = np.subtract(log_p, x)
        np.logaddexp.accumulate(tail[::-1], out=tail[::-1])
        value = np.empty_like(tail)
        value[-1] = _log(self.infinite_mass)
        grown = value[:-1]
        np.subtract(x[:-1], x[1:], out=grown)
        np.expm1(grown, out=grown)
        np.negative(grown, out=grown)
        with np.errstate(divide="ignore"):
            np.log(grown, out=grown)
        grown += tail[1:]
        grown += x[1:]
        np.logaddexp.accumulate(value[::-1], out=value[::-1])
        return x, tail, value

    @property
    def largest_order(self) -> float:
        return math.inf

    def ratio_law(self, max_order: float) -> RatioLaw:
        kept = self.log_q > -math.inf
        missing = math.fsum(np.exp(self.log_p[~kept]).tolist())
        return RatioLaw(self.losses[kept], self.log_q[kept], missing)

    def times(self, other: FiniteLossPair) -> FiniteLossPair:
        """The product: losses add, and those that are equal up to rounding merge."""
        (x, log_p), (y, log_r) = self.support, other.support
        x, log_p = np.add.outer(x, y).ravel(), np.add.outer(log_p, log_r).ravel()
        order = np.argsort(x, kind="stable")
        x, log_p = x[order], log_p[order]
        apart = np.diff(x) > _EQUAL_LOSSES * (np.abs(x[1:]) + np.max(np.abs(x)) * 0.1)
        first = np.concatenate([[0], np.flatnonzero(apart) + 1])
        ends = []
        for one, two in ((self, other), (self.reversed(), other.reversed())):
            ends.append(one.infinite_mass + two.infinite_mass - one.infinite_mass * two.infinite_mass)
        both = self.attained and other.attained
        return FiniteLossPair.of_masses(x[first], np.logaddexp.reduceat(log_p, first), *ends, attained=both)


Counted: TypeAlias = tuple[DominatingPair, int]
"""A pair and how often it is repeated, independently."""


def _divergence_upper(pair: DominatingPair, order: Array) -> Array:
    law = pair.ratio_law(float(order.max()))
    return raised(law.divergence(order), law_error(order) + law.error)


def _mixed_upper(pair: DominatingPair, rate: float, adding: bool, order: Array) -> Array:
    """The divergence of the mixed likelihood-ratio law, raised by its error; infinite above the pair's largest order.

    Orders within a factor of four share a law, because a law that is fine and wide enough for high orders is long.
    """
    result = np.full(order.shape, np.inf)
    band = np.where(order <= pair.largest_order, np.ceil(np.log2(np.maximum(order, 4.0)) / 2.0), 0.0)
    for one in np.unique(band[band > 0.0]):
        here = band == one
        spend(0.0, calls=40)  # the law may be cached and short, so only the calls are certain
        law = pair.ratio_law(float(order[here].max())).mixed(rate)
        value = law.reverse_divergence(order[here]) if adding else law.divergence(order[here])
        result[here] = raised(value, law_error(order[here]) + law.error)
    return result


def law_error(order: Array) -> Array:
    """Relative error of a divergence computed from a likelihood-ratio law, as tested against 50 digits.

    Exponents as large as the order times a logarithm are rounded before they are exponentiated, so beyond an
    order of 1000 the error grows with the order.
    """
    return 4e-13 * np.maximum(1.0, order / 1000.0)


def _log(mass: float) -> float:
    return math.log(mass) if mass > 0.0 else -math.inf
