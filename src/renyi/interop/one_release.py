"""Gaussian noise on a sum from which records are blanked out, as the one number that is known of it."""

from __future__ import annotations

import math
from fractions import Fraction

from renyi.events.event import Event
from renyi.laws.relation import Adjacency
from renyi.mechanisms.gaussian import Gaussian
from renyi.mechanisms.gaussian_dp import GaussianDP
from renyi.numerics.rounding import float_above


def one_release(noise_multiplier: float, distance: Fraction | int = 1) -> Event:
    """A release of which only this is known: blanking out moves the noised sum by at most ``distance`` contributions.

    That is a mu of distance/noise_multiplier, rounded up, for zero-out neighbours; noise of size 0 where that is infinite.
    """
    mu = math.inf if noise_multiplier == 0.0 else float_above(distance / Fraction(noise_multiplier))
    return Gaussian(0.0) if math.isinf(mu) else GaussianDP(mu, Adjacency.ZERO_OUT)
