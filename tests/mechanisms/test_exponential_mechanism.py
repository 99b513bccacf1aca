"""The loss transform of bounded range: against its density, its own decay, grids, and sums over all outcomes."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from renyi import DiscreteGaussian, Exact, ExponentialMechanism, Gaussian, Laplace, LossGrid, Rdp, epsilon
from renyi.laws.pair import FiniteLossPair
from renyi.mechanisms.exponential_mechanism import BoundedRangePair, BoundedRangeTransform
from tests import examples

LEVELS = [1e-6, 0.05, 1.0, 10.0, 59.0, 100.0]


def transform(level: float, t: complex) -> mpmath.mpc:
    """M(t) with 40 digits."""
    level = mpmath.mpf(level)

    def s(z):
        return mpmath.sinh(z) / z

    return s((mpmath.mpmathify(t) + 0.5) * level) / s(level / 2)


@pytest.mark.parametrize("level", [0.05, 1.0, 10.0])
def test_the_transform_is_that_of_the_profile(level):
    """E e^(tL) - 1 is t (t + 1) times the integral of e^(t x) delta(x) and e^(-(t + 1) x) delta(x) over x > 0."""
    pair = BoundedRangePair(level)
    nodes, weights = np.polynomial.legendre.leggauss(60)
    x = 0.5 * level * (nodes + 1.0)
    delta = np.exp(pair.log_profile(x))
    for tilt in (0.2, 3.0, 10.0):
        integral = 0.5 * level * float(weights @ ((np.exp(tilt * x) + np.exp(-(tilt + 1.0) * x)) * delta))
        assert pair.transform.cumulant(tilt) == pytest.approx(math.log1p(tilt * (tilt + 1.0) * integral), rel=1e-12)


@pytest.mark.parametrize("level", LEVELS)
def test_the_transform_has_fourteen_digits(level):
    found = BoundedRangeTransform(level)
    with mpmath.workdps(40):
        for tilt in (-0.95, -0.7, -0.3, -1e-3, 1e-6, 0.1, 7.0, 300.0, 1e5):
            truth = float(mpmath.log(transform(level, tilt)))
            assert found.cumulant(tilt) == pytest.approx(truth, rel=1e-14, abs=0.0)
        for tilt in (1e-3, 7.0, 300.0):
            step = 0.1 * (tilt + 3.0 / level)
            for j, value in enumerate(found.line(tilt, step, 20)):
                truth = mpmath.log(transform(level, complex(tilt, step * j)))
                off = abs(mpmath.expm1(mpmath.mpmathify(complex(value)) - truth)) * mpmath.exp(
                    truth.real - mpmath.log(transform(level, tilt))
                )
                assert off <= 2e-14 * max(abs(truth), abs(found.cumulant(tilt)))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("tilt", [1e-3, 2.0, 80.0])
def test_the_transform_decays_as_fast_as_its_bound_says(level, tilt):
    found = BoundedRangeTransform(level)
    step = 0.3 * (tilt + 3.0 / level) / 10.0
    truths = found.line(tilt, step, 400).real - found.cumulant(tilt)
    bounds = [found.log_decay(tilt, step * j) for j in range(400)]
    beyond = np.maximum.accumulate(truths[::-1])[::-1]
    assert np.all(bounds >= beyond - 1e-13 * (1.0 + abs(found.cumulant(tilt))))
    assert np.all(np.diff(bounds) <= 0.0)
    assert bounds[5] <= 0.3 * truths[5]  # and not much slower, from the first waves on
    assert found.log_decay(tilt, math.inf) == -math.inf


@pytest.mark.parametrize(
    "event",
    [
        ExponentialMechanism(0.3) * 40,
        ExponentialMechanism(0.3) * 3 + Laplace(3.0),
        ExponentialMechanism(5.0) * 2 + DiscreteGaussian(2.0),
        ExponentialMechanism(1e-3) * 1000 + Gaussian(3.0),
        ExponentialMechanism(40.0) * 3 + ExponentialMechanism(0.01) * 100,
        ExponentialMechanism(700.0) * 3,
        ExponentialMechanism(1e-300) + ExponentialMechanism(0.0) + Gaussian(1.0),
    ],
    ids=examples.label,
)
def test_the_upper_end_is_that_of_a_grid_or_below(event):
    for delta in (1e-2, 1e-6, 1e-12):
        contour, grid = Exact().epsilon(event, delta=delta), LossGrid().epsilon(event, delta=delta)
        assert contour.lower == 0.0  # the pair only dominates
        assert grid.upper * (1 - 1e-4) <= contour.upper <= grid.upper * (1 + 1e-6)
        assert epsilon(event, delta=delta) <= min(contour.upper, Rdp().epsilon(event, delta=delta).upper)


def two_point(level: float, t: float) -> FiniteLossPair:
    """Two outcomes with losses t and t - level: a mechanism whose range is the level."""
    top = -math.expm1(t - level) / -math.expm1(-level)
    log_p = np.log([1.0 - top, top])
    losses = np.array([t - level, t])
    return FiniteLossPair(losses, log_p, log_p - losses)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
def test_no_mechanism_of_this_range_costs_more(share):
    """Outcomes enumerated, four releases of unlike levels."""
    levels = [0.4, 0.7, 1.1, 0.9]
    run = two_point(levels[0], share * levels[0])
    for level in levels[1:]:
        run = run.times(two_point(level, share * level))
    event = sum((ExponentialMechanism(level) for level in levels[1:]), start=ExponentialMechanism(levels[0]))
    for one in (0.0, 0.5, 1.5, 2.5):
        assert Exact().delta(event, epsilon=one).upper >= math.exp(run.log_profile(np.array([one]))[0])
