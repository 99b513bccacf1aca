"""Divergences of a pair at many orders, in bands: low orders do not pay for the fine quadrature that high orders need."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from renyi.laws.pair import DominatingPair, law_error
from renyi.numerics.rounding import raised
from renyi.numerics.work import spend

Array = NDArray[np.float64]


def banded_divergence(pair: DominatingPair, order: Array) -> Array:
    """An upper bound on the divergence at each order, its numerical error included; infinite above ``pair.largest_order``.

    Orders between two powers of 4 share one likelihood-ratio law.
    """
    result = np.full(order.shape, math.inf)
    band = np.ceil(np.log(np.maximum(order, 4.0)) / math.log(4.0))
    for most in np.unique(band[order <= pair.largest_order]):
        here = (band == most) & (order <= pair.largest_order)
        spend(0.0, calls=40)  # the law may be cached and short, so only the calls are certain
        law = pair.ratio_law(min(4.0 ** float(most), pair.largest_order))
        result[here] = raised(law.divergence(order[here]), law_error(order[here]) + law.error)
    return result
