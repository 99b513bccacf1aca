"""The profile of discrete Gaussian noise against sums with 40 digits, near and far, alone and beside each other."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from renyi.mechanisms.discrete_gaussian import DiscreteGaussianPair
from renyi.privacy.dots import PROFILE_ERROR


def log_profile(scale: float, shift: int, epsilon: float) -> float:
    """log of the sum over x of (P(x) - e^epsilon Q(x))_+."""
    with mpmath.workdps(40):
        two = 2 * mpmath.mpf(scale) ** 2
        reach = int(12 * scale) + 12
        total = sum(mpmath.exp(-(mpmath.mpf(x) ** 2) / two) for x in range(-reach, reach + 1))
        threshold = mpmath.mpf(epsilon) * scale**2 / shift + mpmath.mpf(shift) / 2
        first = max(int(mpmath.floor(threshold)) + 1, shift - reach)
        terms = (
            mpmath.exp(-(mpmath.mpf(x - shift) ** 2) / two) - mpmath.exp(epsilon - mpmath.mpf(x) ** 2 / two)
            for x in range(first, first + 2 * reach)
        )
        return float(mpmath.log(mpmath.fsum(terms) / total))


@pytest.mark.parametrize(("scale", "shift"), [(0.3, 1), (2.0, 3), (7.0, 1), (41.3, 4)])
def test_the_profile_has_twelve_digits(scale, shift):
    # In scales from the middle: a table ends at 60 of them. (At a loss itself all that is left there is rounding.)
    places = np.array([-3.0, 0.0, 0.4, 2.0, 11.0, 37.0, 59.0, 61.0, 90.0, 400.007])
    epsilon = places * shift / scale
    found = DiscreteGaussianPair(scale, shift).log_profile(epsilon)
    for one, value in zip(epsilon, found, strict=True):
        truth = log_profile(scale, shift, float(one))
        assert abs(value - truth) < PROFILE_ERROR + 16 * 2.0**-53 * (abs(truth) + abs(one)), one


@pytest.mark.parametrize(("scale", "shift"), [(0.05, 2), (5.0, 1), (443.0, 1), (3000.0, 2)])
def test_a_point_does_not_depend_on_those_beside_it(scale, shift):
    pair = DiscreteGaussianPair(scale, shift)
    epsilon = np.array([300.0, -5.0, 0.0, 1e-3, 1e4, 5.0, 59.99, 60.01, 90.0, 1e9]) * (shift / scale)
    together = pair.log_profile(epsilon)
    assert together == pytest.approx([float(pair.log_profile(np.array([one]))[0]) for one in epsilon], rel=1e-13)
    assert pair.log_profile(epsilon.reshape(2, 5)).shape == (2, 5)
