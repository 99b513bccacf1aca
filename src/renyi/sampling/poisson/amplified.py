"""An (epsilon, delta) guarantee on a Poisson sample: Zhu & Wang (2019), PMLR 97, Lemma 4."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from renyi import check
from renyi.numerics.logspace import log_expm1


class Amplified(NamedTuple):
    """The (epsilon, delta) guarantee of the sampled mechanism."""

    epsilon: float
    delta: float


def lemma_4(*, epsilon: float, delta: float, rate: float) -> Amplified:
    """An (epsilon, delta) mechanism on a Poisson sample satisfies (log(1 + gamma (e^epsilon - 1)), gamma delta).

    Exact for removing a record, an upper bound for adding one.
    """
    epsilon, delta, rate = check.epsilon(epsilon=epsilon), check.delta(delta=delta), check.rate(rate=rate)
    if rate in (0.0, 1.0):
        return Amplified(epsilon * rate, delta * rate)
    return Amplified(float(np.logaddexp(0.0, math.log(rate) + log_expm1(epsilon))), rate * delta)
