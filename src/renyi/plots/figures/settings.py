"""The six mechanisms of the experiments of Zhu & Wang (2019), PMLR 97, section 4."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from renyi.events.mechanism import Mechanism
from renyi.events.nodes import Sampled
from renyi.laws.curves.curve import RenyiCurve
from renyi.laws.relation import Relation
from renyi.mechanisms import Gaussian, Laplace, RandomizedResponse
from renyi.sampling.poisson.amplified import lemma_4
from renyi.sampling.poisson.poisson import Poisson

RATE = 0.001
"""The sampling probability gamma of all their experiments."""

DELTA = 1e-8
"""The delta of their comparison of composition methods."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A mechanism of the experiments, with its title in the figures."""

    title: str
    mechanism: Mechanism

    @property
    def step(self) -> Sampled:
        """One release from a Poisson sample."""
        return Sampled(self.mechanism, Poisson(RATE))

    @property
    def base(self) -> RenyiCurve:
        """The curve of the mechanism without sampling, which is the same in both directions."""
        return self.mechanism.renyi(Relation.REMOVE)

    @property
    def capped(self) -> float:
        """The largest loss on a sample by Lemma 4, if the mechanism is pure DP; else infinite."""
        limit = self.base.limit
        return lemma_4(epsilon=limit, delta=0.0, rate=RATE).epsilon if math.isfinite(limit) else math.inf


SETTINGS = (
    Setting("Gaussian, σ = 5 (high privacy)", Gaussian(5.0)),
    Setting("Laplace, b = 2 (high privacy)", Laplace(2.0)),
    Setting("Randomized response, p = 0.6 (high privacy)", RandomizedResponse(0.6)),
    Setting("Gaussian, σ = 1 (low privacy)", Gaussian(1.0)),
    Setting("Laplace, b = 0.5 (low privacy)", Laplace(0.5)),
    Setting("Randomized response, p = 0.9 (low privacy)", RandomizedResponse(0.9)),
)
"""In the order of the paper's panels: the upper row has high privacy, the lower low."""


def whole_orders(highest: int, count: int) -> NDArray[np.float64]:
    """About ``count`` integers from 2 to ``highest``, geometrically spaced."""
    return np.unique(np.rint(np.geomspace(2.0, highest, count)))


def real_orders(whole: NDArray[np.float64]) -> NDArray[np.float64]:
    """Orders just above 1, then the given ones and one between every two of them."""
    return np.sort(np.concatenate([1.0 + np.geomspace(0.01, 0.9, 8), whole, np.sqrt(whole[1:] * whole[:-1])]))
