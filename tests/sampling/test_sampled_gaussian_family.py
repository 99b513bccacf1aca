"""Many sampled Gaussians at once: the sum of what each gives by itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import renyi
from renyi import Composed, Gaussian, Poisson
from renyi.composing.composition import composition
from renyi.sampling.poisson.gaussian.family import FEWEST_MEMBERS, SampledGaussianFamily, families
from renyi.sampling.poisson.gaussian.transform import SampledGaussianTransform
from tests import examples

TILTS = np.array([-0.3, 1e-6, 0.2, 1.0, 4.0, 17.0])


def members(low, high, rates=(0.01,), *, adding=False, count=12):
    noises = np.linspace(low, high, count)
    return tuple(
        (SampledGaussianTransform(float(rates[i % len(rates)]), float(noise), adding), 1 + i % 3)
        for i, noise in enumerate(noises)
    )


SETS = {
    "plain": members(1.0, 1.2),
    "adding": members(1.0, 1.2, adding=True),
    "tiny rates": members(0.5, 0.6, (1e-9, 1e-6)),
    "rates apart": members(5.0, 6.0, (1e-6, 1e-3, 0.5, 0.99)),
    "much noise": members(300.0, 370.0, (0.01, 0.3)),
    "little noise": members(0.2, 0.24, (1e-3,)),
    "little noise, adding": members(0.2, 0.24, (1e-3, 0.4), adding=True),
}
every = pytest.mark.parametrize("parts", SETS.values(), ids=SETS)


@every
def test_cumulants_are_the_sum_of_the_members(parts):
    expected = sum(count * one.cumulants(TILTS) for one, count in parts)
    np.testing.assert_allclose(SampledGaussianFamily(parts).cumulants(TILTS), expected, rtol=2e-12, atol=0)


@every
@pytest.mark.parametrize("tilt", [0.3, 5.0, 30.0])
@pytest.mark.parametrize("size", [0.02, 1.0, 30.0])
def test_a_line_is_the_sum_of_the_members(parts, tilt, size):
    """Within the error that it states."""
    family, step, count = SampledGaussianFamily(parts), size / 40, 90
    line, error = family.line(tilt, step, count), family.line_error(tilt, step, count)
    with np.errstate(invalid="ignore"):
        apart = sum(times * one.line(tilt, step, count) for one, times in parts)
    allowed = error + sum(times * one.line_error(tilt, step, count) for one, times in parts)
    known = np.isfinite(line) & np.isfinite(apart)  # M may be 0 to rounding
    assert known[:10].all()
    line, apart = line[known], apart[known]
    ratio = np.exp(line - apart)  # lines are known up to multiples of 2 pi i
    reach = np.exp(np.minimum((line - line[0]).real, 0.0))  # where M is small only its size beside the peak counts
    assert (np.abs(ratio - 1.0) * reach <= 2 * allowed + 1e-15).all()
    assert error == pytest.approx(sum(times * one.line_error(tilt, step, count) for one, times in parts), rel=1e-6)


@every
def test_the_decay_is_a_bound_and_no_worse_than_apart(parts):
    family = SampledGaussianFamily(parts)
    for tilt, frequency in ((0.5, 3.0), (5.0, 10.0), (20.0, 60.0)):
        bound = family.log_decay(tilt, frequency)
        apart = sum(count * one.log_decay(tilt, frequency) for one, count in parts)
        assert bound == pytest.approx(apart, rel=0.02, abs=1e-12)
        with np.errstate(invalid="ignore"):
            beyond = sum(count * one.line(tilt, frequency / 50, 101) for one, count in parts).real
        assert not (beyond[50:] - beyond[0] > bound + 1e-12).any()


def test_what_is_unlike_or_few_stays_apart():
    parts = [*members(1.0, 1.1, count=FEWEST_MEMBERS), *members(9.0, 9.5, count=FEWEST_MEMBERS - 1)]
    found = list(families(parts))
    assert len(found) == FEWEST_MEMBERS
    assert sum(isinstance(one, SampledGaussianFamily) for one, _ in found) == 1
    run = composition([(one, count) for one, count in parts])
    assert run.cumulant(1.5) == pytest.approx(sum(count * one.cumulant(1.5) for one, count in parts), rel=1e-12)


@settings(max_examples=10 if examples.FULL else 4)
@given(noise=st.floats(0.4, 20.0), spread=st.floats(1e-6, 1.0), rate=st.floats(1e-5, 0.3), times=st.integers(1, 1000))
def test_equal_members_are_a_repetition(noise, spread, rate, times):
    """Steps that differ by a hair cost what equal ones do; steps that differ more lie between their extremes."""
    count = 20
    noises = [noise * (1 + spread * i / count) for i in range(count)]
    run = Composed(tuple(Gaussian(one).on(Poisson(rate)) * times for one in noises))
    best, worst = (Gaussian(one).on(Poisson(rate)) * (times * count) for one in (max(noises), min(noises)))
    found = renyi.guarantee(run, delta=1e-6).epsilon
    assert renyi.guarantee(best, delta=1e-6).epsilon.lower <= found.upper
    assert found.lower <= renyi.guarantee(worst, delta=1e-6).epsilon.upper
