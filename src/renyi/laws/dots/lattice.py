"""Dots on a lattice: a profile sampled at offset plus binary fractions of a step, and refined where that matters."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from renyi.laws.dots.convex_dots import Dots, log_changes, log_width, slopes_between
from renyi.laws.dots.dots import dots, excess, log_shortfalls
from renyi.laws.pair import DominatingPair
from renyi.numerics.rounding import ULP

Array = NDArray[np.float64]

_MOST_EXTRA_HALVINGS = 3.0
"""Halvings of an interval in one round beyond the first: sixteen parts, not two, where its error is far above its share."""

_ROUNDS_TO_HALVE = 8
"""Rounds within which the error has to halve; one that does not is the noise of the profile, which no point removes."""


@dataclass(frozen=True, slots=True)
class Lattice:
    """Losses ``offset`` + ``step`` times a binary fraction; a loss within rounding of an ``anchor`` is that anchor.

    Anchors are in rising order.
    """

    offset: float
    step: float
    anchors: tuple[float, ...] = ()

    def x(self, place: Array) -> Array:
        """The losses at these places."""
        x = self.offset + self.step * place
        if not self.anchors:
            return x
        anchors = np.array(self.anchors)
        after = np.searchsorted(anchors, x)
        for index in (np.maximum(after - 1, 0), np.minimum(after, anchors.size - 1)):  # the two that may be near
            anchor = anchors[index]
            near = np.abs(x - anchor) <= 4.0 * ULP * (np.abs(anchor) + abs(self.offset)) + 1e-13 * self.step
            x = np.where(near, anchor, x)
        return x

    def places(self, low: float, high: float) -> Array:
        """All whole places from just below one loss to just above another.

        If the first is negative there is one left of 0, however near to it: a law below has to start from there.
        """
        first = float(math.floor((low - self.offset) / self.step + 1e-9))
        last = float(math.ceil((high - self.offset) / self.step - 1e-9))
        if low < 0.0 <= float(self.x(np.array([first]))[0]):
            first -= 1.0
        return np.arange(first, max(last, first + 1.0) + 1.0)

    def sampled(self, pair: DominatingPair, low: float, high: float) -> Dots:
        """The profile of a pair at all these places."""
        return self.dotted(pair, self.places(low, high))

    def dotted(self, pair: DominatingPair, place: Array) -> Dots:
        """The profile of a pair at some places."""
        x = self.x(place)
        return dots(x, excess(pair, x), place)

    def refined(
        self,
        pair: DominatingPair,
        points: Dots,
        *,
        tilt: float,
        count: int,
        target: float,
        finest: float,
        most: int,
    ) -> tuple[Dots, float]:
        """Points added, by halving, where the gap between the laws above and below matters, and what it then is.

        The moment E_P[e^(cL)] is 1 plus the integral of c(c+1) y^(c-1) times the excess of D over the trivial profile, so an
        interval of width w contributes at most c(c+1) y^(c-1) w h to it. Intervals of more than a fair share of the
        ``target``, which is for the logarithm of the moment of all ``count`` copies, are halved; none below ``finest``. A tilt
        below -1 weighs the reversed pair, for E_P[e^(cL)] is E_Q[e^(-(-1-c)L)].
        """
        log_scale = math.log(count) + math.log(abs(tilt)) + math.log(abs(1.0 + tilt))
        before, errors = 0, [math.inf] * _ROUNDS_TO_HALVE
        while True:
            x = points.x
            log_q = log_changes(points, slopes_between(points))
            exponent = log_q + (1.0 + tilt) * x
            log_moment = float(np.max(exponent, initial=-math.inf))
            log_moment = max(log_moment + math.log(float(np.sum(np.exp(exponent - log_moment)))), 0.0)
            y = np.maximum((tilt - 1.0) * x[1:], (tilt - 1.0) * x[:-1])
            with np.errstate(over="ignore", invalid="ignore"):
                log_error = log_shortfalls(points, log_q) + log_width(x) + y + (log_scale - log_moment)
                error = np.exp(np.minimum(np.fmax(log_error, -800.0), 600.0))
            total = float(np.sum(error))
            width = np.diff(points.place)
            share = target / error.size
            marked = (error > share) & (width * self.step >= 2.0 * finest)
            chosen = np.flatnonzero(marked)
            # Points that do not stay are noise of the profile, and so is an error that does not fall: no use to go on.
            if (
                total <= target
                or not chosen.size
                or x.size >= most
                or x.size <= before
                or total > 0.5 * errors[-_ROUNDS_TO_HALVE]
            ):
                return points, total
            before = x.size
            errors.append(total)
            if chosen.size > most - x.size:
                chosen = chosen[np.argsort(error[chosen])[x.size - most :]]
            deepest = _MOST_EXTRA_HALVINGS if chosen.size * 2.0 ** (_MOST_EXTRA_HALVINGS + 1.0) < most - x.size else 0.0
            new = _divided(points.place[chosen], width[chosen], error[chosen] / share, finest / self.step, deepest)
            fresh = self.x(new)
            where = np.searchsorted(points.place, new)
            points = dots(
                np.insert(x, where, fresh),
                np.insert(points.log_v, where, excess(pair, fresh)),
                np.insert(points.place, where, new),
            )


def _divided(left: Array, width: Array, ratio: Array, finest: float, deepest: float) -> Array:
    """Binary places inside of intervals: each is halved once, or more often where its error is far above its share.

    An error falls with the cube of the width, so a ratio well above 8 to the share leaves room for another halving.
    """
    half = 2.0 ** np.floor(np.log2(0.5 * width * (1.0 + 1e-12)))
    levels = np.clip(np.floor(np.log2(ratio) / 3.0 - 0.5), 0.0, deepest)
    if finest > 0.0:
        levels = np.minimum(levels, np.maximum(np.floor(np.log2(half / finest * (1.0 + 1e-9))), 0.0))
    found = []
    for level in np.unique(levels):
        here = levels == level
        unit = half[here] / 2.0**level
        for part in np.arange(1.0, 2.0 ** (level + 1.0)):
            found.append(np.floor(left[here] / unit + part * width[here] / unit / 2.0 ** (level + 1.0)) * unit)
    return np.unique(np.concatenate(found))
