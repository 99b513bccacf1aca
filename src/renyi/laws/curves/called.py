"""A Renyi curve that a user gives as a function of the order, with the rounding of that function added."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from renyi.errors import InvalidInput, PrivacyError
from renyi.laws.curves.curve import RenyiCurve
from renyi.numerics.rounding import ULP, raised
from renyi.numerics.work import spend

Array = NDArray[np.float64]
CurveOfOrder = Callable[[float], float]

SMALLEST_EXCESS = 2.0**-20
"""Smallest order minus one at which a user's function is asked: about ten digits of order - 1 are left there.

What holds at a larger order holds at a smaller one, so below it the value at this order is the answer; of a Gaussian it is
1e-6 more than at order 1, relatively.
"""

_NEIGHBOURING_ORDERS = 12
"""Orders at which the rounding is measured together: enough that some of their errors differ visibly."""

_NEXT_GROUP = 8.0
"""Factor between the first orders, minus one, of two such groups: the next group begins before the last one ends."""

_LARGEST_EXCESS = 10.0
"""Order minus one up to which groups are sought whose values are not all 0."""

_ERROR_PER_DIFFERENCE = 16.0
"""The error taken from the largest difference seen: of a constant error a quarter shows, of random ones a tenth at worst."""

_ORDERS_KEPT = 16_384
"""Values of a user's function that are kept: a question asks at hundreds to thousands of orders, at many several times."""


@lru_cache(maxsize=64)  # a question builds the curve for several relations and accountants
def called_curve(function: CurveOfOrder) -> RenyiCurve:
    """The curve of a function, which is asked at one finite order above 1 at a time, and once at infinity.

    A textbook formula such as log(sum p^a q^(1-a))/(a - 1) knows the log-moment (a - 1) D(a), which vanishes at order 1, to
    sixteen digits of one, not of itself: close to order 1 its divergences are noise. So the error of the log-moment is
    measured (``_rounding``) and added: a/(a - 1) times it to the divergence of order a, as exponents grow with the order.
    """
    limit = _number(function, math.inf)
    if limit < 0.0:
        raise _refused(math.inf, f"gave {limit!r}, a negative divergence,")
    asked = lru_cache(maxsize=_ORDERS_KEPT)(partial(_number, function))
    rounding = _rounding(asked)
    return RenyiCurve(partial(_divergence_upper, asked, rounding), limit=limit + rounding, covers_opposite=True)


def _divergence_upper(asked: CurveOfOrder, rounding: float, order: Array) -> Array:
    order = np.maximum(order, 1.0 + SMALLEST_EXCESS)
    value = np.array([asked(float(a)) for a in order])
    upper = raised(value, 8.0 * ULP) + rounding * order / (order - 1.0)
    if (upper < 0.0).any():
        worst = int(np.argmin(upper))
        raise _refused(float(order[worst]), f"gave {float(value[worst])!r}, a negative divergence,")
    return upper


def _rounding(asked: CurveOfOrder) -> float:
    """A bound on the absolute error of the log-moment near order 1; next to nothing for a formula that keeps its digits there.

    A divergence is an analytic function of its order, so that its third differences at close neighbours vanish, while those
    of an error e/(a - 1) do not, be it random or constant. Where all the neighbours are 0, which no divergence is at one
    order alone, their digits were lost, and larger orders are looked at.
    """
    excess = SMALLEST_EXCESS
    while excess <= _LARGEST_EXCESS:
        excesses = excess * np.arange(1.0, _NEIGHBOURING_ORDERS + 1.0)
        values = np.array([asked(float(1.0 + s)) for s in excesses])
        if values.any() and np.isfinite(values).all():
            return _ERROR_PER_DIFFERENCE * float(np.max(excesses[:-3] * np.abs(np.diff(values, 3))))
        excess *= _NEXT_GROUP
    return 0.0


def _number(function: CurveOfOrder, order: float) -> float:
    """What the function gives at an order, or an error that says what it should."""
    spend(100.0)
    try:
        value = function(order)
    except PrivacyError:  # a function made of ours: its errors teach by themselves
        raise
    except Exception as error:
        raise _refused(order, f"raised {type(error).__name__}: {error}") from error
    if type(value) is float and not math.isnan(value):
        return value
    try:
        no_number = isinstance(value, (str, bytes, bool, np.bool_)) or np.iscomplexobj(value)
        number = math.nan if no_number else float(value)
    except Exception:  # whatever the conversion of a foreign object raises
        number = math.nan
    if math.isnan(number):
        raise _refused(order, f"gave {value!r:.80}, which is not one real number")
    return number


def _refused(order: float, what: str) -> InvalidInput:
    if math.isinf(order):
        advice = (
            "At infinity return the largest privacy loss, log(max p/q), or math.inf if it is unbounded or unknown: "
            "lambda a: math.inf if a == math.inf else ..."
        )
    else:
        advice = (
            "Powers that overflow do not if the sum is taken of logarithms, as by scipy.special.logsumexp; at an order of "
            "which nothing is known return math.inf, which is always true."
        )
    return InvalidInput(
        f"the function given as a Renyi curve {what} at order {order!r}. It must give a number >= 0, or math.inf, at every "
        f"order above 1 and at infinity. {advice}"
    )
