"""Validation of arguments: each check returns the value as a plain Python number.

A check takes the value under its public name, ``check.rate(rate=0.1)``, so that the error can
say which parameter is wrong, what came, what is possible, and what to do.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from renyi.errors import InvalidInput

Array = NDArray[np.float64]

LARGEST_COUNT = 10**300
"""The largest integer accepted anywhere; a float holds it, and its double."""


def real(possible: str = "a finite number", **named: object) -> float:
    """A finite float. Booleans, strings and arrays are not numbers here."""
    ((name, value),) = named.items()
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise InvalidInput(f"{name} must be {possible}; got {value!r} of type {type(value).__name__}. Pass one number.")
    try:
        result = float(value)
    except OverflowError:  # Python does not print an integer of many digits either
        raise InvalidInput(f"{name} must be {possible}; got a number that no float can hold.") from None
    if not math.isfinite(result):
        raise InvalidInput(f"{name} must be {possible}; got {value!r}.")
    return result + 0.0  # -0.0 becomes 0.0, so that equal values print and sort alike


def nonnegative(**named: object) -> float:
    """A finite float that is not below zero."""
    ((name, value),) = named.items()
    result = real("a finite number >= 0", **named)
    if result < 0:
        raise InvalidInput(f"{name} must be a finite number >= 0; got {value!r}. Did a sign slip in?")
    return result


def probability(**named: object) -> float:
    """A float in [0, 1]."""
    ((name, value),) = named.items()
    result = real("a number in [0, 1]", **named)
    if not 0 <= result <= 1:
        raise InvalidInput(f"{name} must be in [0, 1]; got {value!r}. A percentage is divided by 100.")
    return result


def rate(**named: object) -> float:
    """A sampling rate in [0, 1]."""
    ((name, value),) = named.items()
    result = real("a number in [0, 1]", **named)
    if not 0 <= result <= 1:
        raise InvalidInput(
            f"{name} must be in [0, 1]; got {value!r}. It is the probability with which one record is drawn: "
            "expected batch size / dataset size."
        )
    return result


def delta(**named: object) -> float:
    """A failure probability in [0, 1)."""
    ((name, value),) = named.items()
    result = real("a number in [0, 1)", **named)
    if not 0 <= result < 1:
        raise InvalidInput(
            f"{name} must be in [0, 1); got {value!r}. It is a probability of failure, usually far below "
            "1 / dataset size, such as 1e-6."
        )
    return result


def epsilon(**named: object) -> float:
    """A finite privacy loss, at least zero."""
    return nonnegative(**named)


def asked_delta(**named: object) -> float:
    """A delta at which epsilon is asked for: 1 is allowed too, where epsilon is 0."""
    ((_, value),) = named.items()
    return 1.0 if _is_number(value) and value == 1 else delta(**named)


def asked_epsilon(**named: object) -> float:
    """An epsilon at which delta is asked for: infinity is allowed too, where delta is the mass of infinite losses."""
    ((_, value),) = named.items()
    return math.inf if _is_number(value) and value == math.inf else epsilon(**named)


def whole(minimum: int, **named: object) -> int:
    """An integer from ``minimum`` to ``LARGEST_COUNT``; a float is refused even if it is whole."""
    ((name, value),) = named.items()
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
        hint = f" Write {int(value)}." if isinstance(value, float) and value.is_integer() else ""
        raise InvalidInput(
            f"{name} must be an integer >= {minimum}; got {value!r} of type {type(value).__name__}.{hint}"
        )
    result = int(value)
    if abs(result) > LARGEST_COUNT:
        raise InvalidInput(f"{name} must be an integer from {minimum} to 1e300; got one of {result.bit_length()} bits.")
    if result < minimum:
        raise InvalidInput(f"{name} must be an integer >= {minimum}; got {value!r}.")
    return result


def count(**named: object) -> int:
    """A nonnegative integer, such as a number of repetitions."""
    return whole(0, **named)


def array(possible: str, **named: object) -> Array:
    """A number or a non-empty array of numbers, as float64; NaN is refused, infinity is left to the caller."""
    ((name, value),) = named.items()
    try:
        raw = np.asarray(value)
    except (ValueError, TypeError, OverflowError):
        raw = np.asarray(None, dtype=object)
    if raw.dtype == object and raw.size and all(_is_number(item) for item in raw.flat):
        try:
            raw = raw.astype(np.float64)
        except OverflowError:
            raise InvalidInput(f"{name} must be {possible}; got a number that no float can hold.") from None
    if raw.dtype.kind not in "iuf":
        raise InvalidInput(f"{name} must be {possible}; got {value!r}. Pass a number or an array of numbers.")
    if raw.size == 0:
        raise InvalidInput(f"{name} must be {possible}; got an empty array. Pass at least one number.")
    result = raw.astype(np.float64)
    if np.isnan(result).any():
        raise InvalidInput(f"{name} must be {possible}; got NaN.")
    return result


def vector(**named: object) -> tuple[float, ...]:
    """A vector of finite numbers >= 0, as a tuple of floats."""
    ((name, value),) = named.items()
    found = array("a vector of numbers >= 0", **named)
    if found.ndim != 1 or (found < 0).any() or not np.isfinite(found).all():
        raise InvalidInput(f"{name} must be a vector of finite numbers >= 0; got {value!r}.")
    return tuple(found.tolist())


def probabilities(**named: object) -> tuple[float, ...]:
    """A vector of probabilities that sum to one up to 1e-9, normalised and returned as a tuple of floats.

    A vector that sums to one within two units in the last place is left as it is, so that a value read back from JSON equals
    the value that was written: quotients by a correctly rounded sum add up to one that closely.
    """
    ((name, value),) = named.items()
    vector = array("a vector of probabilities", **named)
    if vector.ndim != 1 or (vector < 0).any() or not abs(float(vector.sum()) - 1.0) <= 1e-9:
        raise InvalidInput(
            f"{name} must be a vector of numbers >= 0 that sum to 1; got {value!r}. Divide it by its sum if it holds counts."
        )
    total = math.fsum(vector)
    return tuple(vector.tolist() if abs(total - 1.0) <= 2.0**-51 else (vector / total).tolist())


def orders(**named: object) -> Array:
    """Renyi orders: each in [1, inf]."""
    ((name, _),) = named.items()
    result = array("a Renyi order in [1, inf]", **named)
    if (result < 1).any():
        raise InvalidInput(
            f"{name} must be in [1, inf]; got {float(result.min())!r}. "
            "Order 1 is the KL divergence, infinity the largest privacy loss."
        )
    return result


def fields(value: object, **checks: Callable[..., Any]) -> None:
    """Run each check on the field of that name and store its result; for ``__post_init__`` of frozen dataclasses."""
    for name, checked in checks.items():
        object.__setattr__(value, name, checked(**{name: getattr(value, name)}))


def _is_number(item: object) -> bool:
    return isinstance(item, numbers.Real) and not isinstance(item, bool)
