"""The general bound for sampling without replacement: any mechanism, from its Renyi curve alone."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from renyi import check
from renyi.numerics.binomial import log_binomial_weight
from renyi.numerics.logspace import log_expm1, log_sum_exp

Array = NDArray[np.float64]


def wang_balle_kasiviswanathan(order: int, *, rate: float, curve: Callable[[Array], Array], limit: float) -> float:
    """An upper bound on the divergence of integer order >= 2 of a mechanism on a sample drawn without replacement.

    Wang, Balle & Kasiviswanathan (2019), arXiv:1808.00087, for neighbours that replace one record: with gamma = ``rate``
    (sample size / dataset size), eps(j) = ``curve`` of the unsampled mechanism for that relation and eps(inf) = ``limit``,
    1/(alpha - 1) times the logarithm of

        1 + gamma^2 C(alpha,2) min{ 4 (e^eps(2) - 1), e^eps(2) min(2, (e^eps(inf) - 1)^2) }
          + sum_{j=3..alpha} gamma^j C(alpha,j) e^((j-1) eps(j)) min(2, (e^eps(inf) - 1)^j).

    Returns the value of the formula, not raised by its rounding error. The theorem is about replacing a record; it says nothing
    about adding or removing one.
    """
    order, rate = check.whole(2, order=order), check.rate(rate=rate)
    if rate == 0.0:
        return 0.0
    j = np.arange(2.0, order + 1.0)
    divergences = np.asarray(curve(j), dtype=np.float64)
    # C(alpha,j) gamma^j is a binomial weight without its factor (1-gamma)^(alpha-j); at gamma = 1 any other rate serves.
    if rate < 1.0:
        log_weight = log_binomial_weight(order, j, rate) - (order - j) * math.log1p(-rate)
    else:
        log_weight = log_binomial_weight(order, j, 0.5) + order * math.log(2.0)
    log_pure = float(log_expm1(limit)) if math.isfinite(limit) else math.inf
    factor = np.minimum(math.log(2.0), j * log_pure)
    terms = log_weight + (j - 1.0) * divergences + factor
    second = math.log(4.0) + float(log_expm1(float(divergences[0])))
    terms[0] = log_weight[0] + min(second, float(divergences[0] + factor[0]))
    return float(np.logaddexp(0.0, log_sum_exp(terms))) / (order - 1.0)
