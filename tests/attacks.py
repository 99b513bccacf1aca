"""The best tests of Neyman and Pearson by themselves, without any privacy profile: what the trade-off is compared with."""

from __future__ import annotations

import math
from fractions import Fraction

from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

Outcomes = list[tuple[Fraction, Fraction]]
"""The probability of each outcome on the first dataset and on the second."""


def neyman_pearson(outcomes: Outcomes, fpr: Fraction) -> Fraction:
    """The most powerful test at a false-positive rate, randomised where an outcome does not fit: exact."""
    spent, found = Fraction(0), Fraction(0)
    for p, q in sorted(outcomes, key=lambda pq: pq[0] / pq[1] if pq[1] else math.inf, reverse=True):
        share = min(Fraction(1), (fpr - spent) / q) if q else Fraction(1)
        found, spent = found + share * p, spent + share * q
        if spent >= fpr:
            break
    return found


def exchanged(outcomes: Outcomes) -> Outcomes:
    """The same outcomes with the two datasets exchanged."""
    return [(q, p) for p, q in outcomes]


def worst_tpr(outcomes: Outcomes, fpr: float) -> float:
    """The true-positive rate of the best test of the better order of the datasets."""
    return float(max(neyman_pearson(way, Fraction(fpr)) for way in (outcomes, exchanged(outcomes))))


def sampled_gaussian_tpr(noise: float, rate: float, fpr: float) -> tuple[float, float]:
    """The best tests that see a record on a Poisson sample, and that see its absence: half-lines, for the ratio rises in z."""

    def above(z: float) -> float:
        return (1 - rate) * float(ndtr(-z / noise)) + rate * float(ndtr((1 - z) / noise))

    seen = above(-noise * float(ndtri(fpr)))
    threshold = brentq(lambda z: 1 - above(z) - fpr, -60 * noise, 1 + 60 * noise, xtol=1e-15, rtol=1e-15)
    return seen, float(ndtr(threshold / noise))
