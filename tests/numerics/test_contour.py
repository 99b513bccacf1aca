"""Sums on vertical lines against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import expm1, mp, mpc, mpf

from renyi.composing.composition import composition
from renyi.composing.contour.contour import contour_delta, contour_epsilon
from renyi.laws.pairs.gaussian import GaussianPair
from renyi.laws.transform import AtomsTransform, GaussianTransform
from renyi.numerics.contours.contour import Line
from renyi.numerics.contours.power_sums import complex_log1p, phi_power_sums, plain_power_sums
from renyi.numerics.roots.falling_root import falling_root


@pytest.mark.parametrize("noise", [0.3, 1.0, 20.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 3.0])
def test_a_gaussian_line_gives_its_profile(noise, epsilon):
    transform = GaussianTransform(noise)
    tilt = max(epsilon * noise * noise, 2.0 * noise, 0.5)
    values = transform.line(tilt, 0.02 * noise, 3000)
    line = Line(tilt, 0.02 * noise, float(values[0].real), np.exp(values - values[0].real))
    truth = float(GaussianPair(noise).log_profile(np.array([epsilon]))[0])
    assert line.at(epsilon).log_tail == pytest.approx(truth, abs=1e-10)


@pytest.mark.parametrize("delta", [0.2, 1e-5, 1e-100, 1e-300])
def test_the_contour_of_a_gaussian_against_its_closed_form(delta):
    run = composition([(GaussianTransform(20.0), 400)])
    ends, _ = contour_epsilon(run, delta)
    truth = GaussianPair(1.0)
    assert float(truth.log_profile(np.array([ends.upper * (1 + 1e-12)]))[0]) <= math.log(delta) + 1e-11
    assert float(truth.log_profile(np.array([ends.lower * (1 - 1e-12)]))[0]) >= math.log(delta) - 1e-11
    back, _ = contour_delta(run, ends.upper)
    assert back.upper == pytest.approx(delta, rel=1e-9)


def test_a_blur_brackets_what_it_blurs():
    """Atoms do not decay: with a blur the two ends hold the truth, here from all outcomes."""
    p = 0.7
    loss = np.array([-1.0, 1.0]) * math.log(p / (1 - p))
    run = composition([(AtomsTransform(loss, np.log([p, 1 - p])), 2000)])
    ends, _ = contour_epsilon(run.blurred(1e-3), 1e-6)
    from renyi import Exact, RandomizedResponse

    truth = Exact().epsilon(RandomizedResponse(p) * 2000, delta=1e-6)
    assert ends.lower <= truth.lower
    assert truth.upper <= ends.upper
    assert ends.upper - ends.lower <= 5e-3


@settings(deadline=None, max_examples=60)
@given(st.floats(-8, -1), st.floats(-3, 2.5), st.integers(0, 2**32 - 1))
def test_power_sums_with_and_without_small_terms(log_scale, log_power, seed):
    random = np.random.default_rng(seed)
    x = 10**log_scale * random.standard_normal(50)
    weight = random.random(50)
    first, step, count = complex(1.0 + 10**log_power, 0.0), 10**log_power / 3, 9
    with mp.workdps(40):
        for j, value in enumerate(phi_power_sums(first, step, count, x, weight)):
            p = mpc(first.real, mpf(step) * j)
            terms = [mpf(w) * (expm1(p * mpf(y)) - p * mpf(y)) for w, y in zip(weight, x, strict=True)]
            truth, size = sum(terms), sum(abs(term) for term in terms)
            assert abs(mpc(complex(value)) - truth) <= mpf(3e-11) * size + mpf(1e-280)
    plain = plain_power_sums(first, step, count, x, weight)
    assert plain[3] == pytest.approx(np.sum(weight * np.exp((first + 3j * step) * x)), rel=1e-10)


@given(st.floats(-30, 2), st.floats(-30, 2), st.floats(-3, 3))
def test_complex_logarithms_of_small_numbers(a, b, angle):
    z = complex(10**a * math.cos(angle), 10**b * math.sin(angle))
    with mp.workdps(50):
        if abs(z) < 0.9:
            truth = mp.log1p(mpc(z))
            assert abs(mpc(complex(complex_log1p(np.array([z]))[0])) - truth) <= 1e-13 * abs(truth) + 1e-300


@given(st.floats(1e-10, 1e10), st.floats(0.1, 5.0))
def test_falling_root(root, power):
    low, high = falling_root(lambda x: (root / x) ** power - 1.0 if x > 0 else math.inf, 0.0, 1e12)
    assert low <= root * (1 + 1e-14)
    assert root * (1 - 1e-14) <= high
    assert high - low <= 1e-14 * root
