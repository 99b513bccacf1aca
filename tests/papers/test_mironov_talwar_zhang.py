"""Mironov, Talwar & Zhang (2019): the closed form inside its conditions, where they end, the series."""

from __future__ import annotations

import math

import numpy as np
import pytest

from renyi import ConvergenceError, InvalidInput
from renyi.papers.sampled_gaussian.mironov_talwar_zhang import erfc_series, largest_order, theorem_11
from renyi.sampling.poisson.gaussian.renyi import sampled_gaussian_add, sampled_gaussian_remove
from tests.golden import golden

RATES = (1e-8, 1e-4, 0.01, 0.1, 0.2)
NOISES = (4.0, 5.5, 10.0, 60.0)


def remove(order, rate, noise):
    return float(sampled_gaussian_remove(np.array([order]), rate=rate, noise=noise)[0])


@pytest.mark.parametrize("case", golden("mtz_closed_form_rdp"), ids=repr)
def test_closed_form(case):
    assert case.close(theorem_11(case.params["alpha"], rate=case.params["q"], noise=case.params["sigma"]))


@pytest.mark.parametrize("case", golden("sgm_closed_form_alpha_max"), ids=repr)
def test_largest_order(case):
    assert case.close(largest_order(rate=case.params["q"], noise=case.params["sigma"]))


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("rate", RATES)
def test_inside_its_conditions_the_closed_form_is_above_the_divergence(rate, noise):
    last = largest_order(rate=rate, noise=noise)
    for order in (1 + 1e-6, 1.5, *np.geomspace(2.0, last, 12)[:-1], last):
        bound = theorem_11(order, rate=rate, noise=noise)
        assert bound == pytest.approx(2 * rate**2 * order / noise**2, rel=1e-14)
        assert remove(order, rate, noise) <= bound
        assert sampled_gaussian_add(np.array([order]), rate=rate, noise=noise)[0] <= bound


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("rate", RATES)
def test_the_conditions_end_at_the_largest_order(rate, noise):
    """As they are printed, and once they fail they fail for good."""

    def hold(order):
        span = math.log(1 + 1 / (rate * (order - 1)))
        first = noise**2 * span / 2 - 2 * math.log(noise)
        second = (noise**2 * span**2 / 2 - math.log(5) - 2 * math.log(noise)) / (
            span + math.log(rate * order) + 1 / (2 * noise**2)
        )
        return 1 < order <= min(first, second)

    last = largest_order(rate=rate, noise=noise)
    inside, outside = 1 + (last - 1) * np.linspace(1e-6, 1 - 1e-9, 50), last * np.geomspace(1 + 1e-9, 1e6, 50)
    assert all(hold(order) for order in inside)
    assert not any(hold(order) for order in outside)
    with pytest.raises(InvalidInput, match="Theorem 11 needs an order <="):
        theorem_11(math.nextafter(last, math.inf), rate=rate, noise=noise)


@pytest.mark.parametrize("function", [lambda **at: theorem_11(2.0, **at), largest_order])
def test_rate_and_noise_outside_the_conditions(function):
    with pytest.raises(InvalidInput, match="rate <= 1/5"):
        function(rate=0.2000001, noise=5.0)
    with pytest.raises(InvalidInput, match="noise >= 4"):
        function(rate=0.1, noise=3.9999)
    with pytest.raises(InvalidInput, match="rate"):
        function(rate=math.nan, noise=5.0)
    with pytest.raises(InvalidInput, match="noise"):
        function(rate=0.1, noise=math.nan)
    with pytest.raises(InvalidInput, match="rate"):
        function(rate=-0.1, noise=5.0)


def test_the_ends_of_the_closed_form():
    assert theorem_11(50.0, rate=0.0, noise=4.0) == 0.0
    assert largest_order(rate=0.0, noise=4.0) == math.inf
    assert 0 < theorem_11(2.0, rate=1e-200, noise=4.0) < 1e-300
    assert largest_order(rate=5e-324, noise=4.0) > largest_order(rate=1e-300, noise=4.0) > 1000
    assert math.isfinite(largest_order(rate=0.1, noise=1e200))


# The series.


@pytest.mark.parametrize("noise", [0.1, 0.7, 1.0, 3.0, 20.0, 150.0])
@pytest.mark.parametrize("rate", [1e-12, 1e-6, 0.01, 0.3, 0.5, 0.8, 1 - 1e-9])
def test_the_series_is_the_divergence_at_fractional_orders(rate, noise):
    for order in (1 + 1e-7, 1.01, 1.5, 2.0 - 1e-9, 2.0 + 1e-9, 3.3, 17.25, 64.5):
        assert erfc_series(order, rate=rate, noise=noise) == pytest.approx(remove(order, rate, noise), rel=1e-12)


@pytest.mark.parametrize("case", [c for c in golden("sgm_rdp_remove") if c.params["alpha"] <= 1000], ids=repr)
def test_the_series_against_30_digits(case):
    computed = erfc_series(case.params["alpha"], rate=case.params["q"], noise=case.params["sigma"])
    assert case.close(computed)
    assert computed == pytest.approx(float(case.value), rel=1e-15)


def test_the_series_at_the_ends_of_the_rate():
    assert erfc_series(2.5, rate=0.0, noise=1.0) == 0.0
    assert erfc_series(2.5, rate=1.0, noise=2.0) == 2.5 / 8
    assert erfc_series(2.5, rate=1 - 2**-53, noise=2.0) == pytest.approx(2.5 / 8, rel=1e-14)


def test_the_series_says_where_it_cannot_be_summed():
    for order, rate, noise in ((1.5, 1e-200, 1.0), (5000.5, 0.01, 1.0), (1.5, 0.01, 1e9), (1.5, 0.01, 1e-200)):
        with pytest.raises(ConvergenceError, match="erfc series"):
            erfc_series(order, rate=rate, noise=noise)


@pytest.mark.parametrize("order", [1.0, 0.5, -2, math.nan, math.inf, "2", None, True], ids=repr)
def test_the_order_is_above_1(order):
    for function in (theorem_11, erfc_series):
        with pytest.raises(InvalidInput, match="order must be a finite number > 1"):
            function(order, rate=0.01, noise=5.0)


@pytest.mark.parametrize(
    ("rate", "noise"), [(-0.1, 1.0), (1.1, 1.0), (math.nan, 1.0), (0.1, 0.0), (0.1, -1.0), (0.1, math.nan)]
)
def test_bad_rate_and_noise_for_the_series(rate, noise):
    with pytest.raises(InvalidInput, match=r"rate|noise"):
        erfc_series(2.5, rate=rate, noise=noise)
