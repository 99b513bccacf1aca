"""Brute force for samplers of sums with Gaussian noise: mixtures on a line, integrated on a fine grid."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.special import ndtr


class Line:
    """Densities of Gaussian mixtures at the nodes of a trapezoidal rule, exact to rounding for smooth integrands."""

    def __init__(self, noise: float, reach: float = 8.0) -> None:
        self.noise, self.step = noise, noise / 40.0
        self.z = np.arange(-reach - 12.0 * noise, reach + 12.0 * noise, self.step)

    def law(self, weights) -> np.ndarray:
        """log of the mass at each node of a mixture {mean: weight}."""
        terms = [math.log(w) - 0.5 * ((self.z - mean) / self.noise) ** 2 for mean, w in weights.items() if w > 0.0]
        return np.logaddexp.reduce(terms) + math.log(self.step / (self.noise * math.sqrt(2.0 * math.pi)))

    def hockey(self, first, second, epsilon: float) -> float:
        """Between mixtures: where the density is positive, by distribution functions; a root is off by the step squared."""
        gap = self.law(first) - epsilon - self.law(second)
        turn = np.flatnonzero(np.sign(gap[1:]) != np.sign(gap[:-1]))
        roots = self.z[turn] + self.step * gap[turn] / (gap[turn] - gap[turn + 1])
        edges = np.concatenate([[-np.inf], roots, [np.inf]])
        mass = [sum(w * np.diff(ndtr((edges - m) / self.noise)) for m, w in side.items()) for side in (first, second)]
        return float(np.sum(np.maximum(mass[0] - math.exp(epsilon) * mass[1], 0.0)))

    def renyi(self, p, q, order: float) -> float:
        return float(np.logaddexp.reduce(order * p + (1.0 - order) * q)) / (order - 1.0)


def fixed_size(records, batch: int) -> dict[float, float]:
    """{sum of a batch: probability} of every set of ``batch`` records being equally likely."""
    sets = list(itertools.combinations(records, batch))
    return _counted([(sum(chosen), 1.0 / len(sets)) for chosen in sets])


def truncated(records, rate: float, batch: int) -> dict[float, float]:
    """The same for Poisson samples, of which those that are too large are cut to a random ``batch``."""
    found = []
    for drawn in itertools.product((False, True), repeat=len(records)):
        weight = math.prod(rate if one else 1.0 - rate for one in drawn)
        chosen = [record for record, one in zip(records, drawn, strict=True) if one]
        kept = list(itertools.combinations(chosen, min(batch, len(chosen))))
        found += [(sum(part), weight / len(kept)) for part in kept]
    return _counted(found)


def _counted(found) -> dict[float, float]:
    total: dict[float, float] = {}
    for mean, weight in found:
        total[mean] = total.get(mean, 0.0) + weight
    return total
