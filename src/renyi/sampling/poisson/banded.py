"""Divergences of a pair at many orders: small ones from a law that is fine enough for them, not for the largest."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from renyi.laws.pair import DominatingPair, law_error
from renyi.numerics.rounding import raised
from renyi.numerics.work import spend

Array = NDArray[np.float64]


def banded_divergence(pair: DominatingPair, order: Array) -> Array:
    """The divergence at each order, its error included, from one law for the orders between powers of 4; infinite beyond."""
    result = np.full(order.shape, math.inf)
    band = np.ceil(np.log(np.maximum(order, 4.0)) / math.log(4.0))
    for most in np.unique(band[order <= pair.largest_order]):
        here = (band == most) & (order <= pair.largest_order)
        spend(0.0, calls=40)  # a law may be remembered, and small
        law = pair.ratio_law(min(4.0 ** float(most), pair.largest_order))
        result[here] = raised(law.divergence(order[here]), law_error(order[here]) + law.error)
    return result
