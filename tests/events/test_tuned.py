"""The cost of a search, against exact enumeration of small mechanisms; and where the node may stand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import renyi
from renyi import (
    Adjacency,
    ApproximateDP,
    Exact,
    Gaussian,
    Grouped,
    InvalidInput,
    Poisson,
    PureDP,
    RandomizedResponse,
    Rdp,
    Relation,
    Sampled,
    Tuned,
    UnsupportedError,
    WithoutReplacement,
)
from renyi.composing.event_laws import renyi_curve
from renyi.events.nodes import NOTHING
from renyi.events.trials import gamma_of, mean_of
from renyi.laws.curves.curve import RenyiCurve
from renyi.laws.curves.tuned import tuned_curve

ORDERS = np.array([1.1, 1.5, 2.0, 4.0, 12.0, 60.0])
LAWS = [(1.0, 1.0), (2.0, 1.0), (10.0, 1.0), (10.0, 0.0), (3.0, -0.5), (50.0, 4.0)]
POISSON = [(0.3, math.inf), (1.0, math.inf), (10.0, math.inf)]


def pmf(mean, shape, most=4000):
    """The probabilities of 0, 1, 2, ... runs: Papernot & Steinke (2022), Definitions 1 and 5."""
    k = np.arange(most + 1.0)
    if math.isinf(shape):
        log_p = k * math.log(mean) - mean - np.array([math.lgamma(n + 1.0) for n in k])
        return np.exp(log_p)
    gamma = gamma_of(mean, shape)
    if gamma == 1.0:
        return (k == 1.0).astype(float)
    weight = np.zeros(most + 1)
    term = 1.0 - gamma  # up to a constant
    for n in range(1, most + 1):
        weight[n] = term
        term *= (1.0 - gamma) * (n + shape) / (n + 1.0)
    return weight / weight.sum()


def generating(mean, shape, x):
    """E x^K."""
    p = pmf(mean, shape)
    return np.array([float(np.sum(p * value ** np.arange(p.size))) for value in x])


@pytest.mark.parametrize(("mean", "shape"), LAWS)
def test_the_law_has_the_mean_it_is_given(mean, shape):
    p = pmf(mean, shape)
    assert float(np.sum(p * np.arange(p.size))) == pytest.approx(mean, rel=1e-6)
    gamma = gamma_of(mean, shape)
    assert gamma == 1.0 or mean_of(gamma, shape) == pytest.approx(mean, rel=1e-12)
    assert Tuned(Gaussian(1.0), mean, shape).gamma == gamma


def best_of(law, mean, shape):
    """The law of the best of K runs, outcomes in rising order of merit; what is not run at all comes first."""
    below = np.concatenate([[0.0], np.cumsum(law)])
    below[-1] = 1.0
    reached = generating(mean, shape, below)
    return np.concatenate([[reached[0]], np.diff(reached)]) if math.isinf(shape) else np.diff(reached)


def divergence(p, q, order):
    return np.array([np.logaddexp.reduce(a * np.log(p) + (1 - a) * np.log(q)) / (a - 1) for a in order])


@pytest.mark.parametrize(("mean", "shape"), LAWS + POISSON)
def test_no_mechanism_of_four_outcomes_exceeds_the_bound(mean, shape):
    rng = np.random.default_rng(4)
    closest = 0.0
    for trial in range(12):
        p = rng.dirichlet(np.ones(4)) * 0.9 + 0.025
        q = p * np.exp(rng.normal(0.0, (0.05, 0.5, 1.5)[trial % 3], size=4))
        q /= q.sum()
        curves = [
            RenyiCurve(
                lambda order, a=a, b=b: divergence(a, b, np.maximum(order, 1.0 + 1e-9)),
                limit=float(np.log(a / b).max()),
            )
            for a, b in ((p, q), (q, p))
        ]
        tuned = tuned_curve(*curves, mean, shape, gamma_of(mean, shape))
        for first, second in ((p, q), (q, p)):
            best, other = best_of(first, mean, shape), best_of(second, mean, shape)
            exact = divergence(best, other, ORDERS)
            assert (exact <= tuned(ORDERS) * (1 + 1e-9) + 1e-12).all()
            assert math.log(float(np.max(best / other))) <= tuned.limit * (1 + 1e-9)
            closest = max(closest, float(np.max(exact / tuned(ORDERS))))
    assert closest > 0.05
    rising = tuned(np.concatenate([[1.0], ORDERS, [1e4]]))
    assert (np.diff(rising) >= -1e-2 * rising[1:]).all()


def test_no_run_at_all_has_to_be_counted():
    """Without e^-mu the printed bound would be negative for a mean below 1."""
    nothing = RenyiCurve.zero()
    tuned = tuned_curve(nothing, nothing, 0.5, math.inf, 1.0)
    printed = math.log(0.5) / (ORDERS - 1.0)
    assert (printed < 0.0).all()
    assert (tuned(ORDERS) >= 0.0).all()


def test_pure_runs_cost_two_plus_shape_times_one():
    """Papernot & Steinke (2022), after Theorem 2: a geometric number of pure runs costs at most three."""
    assert Rdp().epsilon(Tuned(PureDP(0.1), 1000.0), delta=0.0).upper == pytest.approx(0.3)
    assert Rdp().epsilon(Tuned(PureDP(0.1), 1000.0, 0.0), delta=0.0).upper == pytest.approx(0.2)


@pytest.mark.parametrize("shape", [-0.5, 0.0, 1.0, math.inf])
def test_the_formula_as_printed_for_a_gaussian(shape):
    """rho = 1/2, mean 10: the bound by hand on a fine ladder, at an order above its own minimum."""
    mean, order = 10.0, 40.0
    event = Tuned(Gaussian(1.0), mean, shape)
    value = renyi_curve(event.canonical(), Relation.REMOVE).at(order)
    if math.isinf(shape):
        epsilon = math.log1p(1 / (order - 1))
        delta = renyi.delta(Gaussian(1.0), epsilon=epsilon)
        lowest = order / 2 + mean * delta + math.log(mean) / (order - 1)
        assert lowest <= value <= lowest + mean * 0.5
    else:
        beta = 1.0 + np.geomspace(1e-2, 1e4, 1_000_000)
        extra = np.min((1 - 1 / beta) * beta / 2 + math.log(1 / event.gamma) / beta)
        expected = order / 2 + (1 + shape) * extra + math.log(mean) / (order - 1)
        assert expected <= value * (1 + 1e-9)
        assert value == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("accountant", [Rdp(), Exact()], ids=repr)
def test_more_runs_cost_more_and_far_less_than_all_of_them(accountant):
    run = Gaussian(2.0).on(Poisson(0.01)) * 1000
    one = accountant.epsilon(run, delta=1e-6).upper
    costs = [accountant.epsilon(Tuned(run, mean), delta=1e-6).upper for mean in (1.5, 5.0, 50.0)]
    assert one < costs[0] < costs[1] < costs[2] < 50 * one
    assert costs[2] < 3.5 * one


def test_other_neighbours():
    step = Gaussian(2.0).on(WithoutReplacement(1, 100)) * 10
    for adjacency, event in ((Adjacency.REPLACE_ONE, step), (Adjacency.ZERO_OUT, Gaussian(2.0))):
        plain = renyi.epsilon(event, delta=1e-6, adjacency=adjacency)
        assert renyi.epsilon(Tuned(event, 4.0), delta=1e-6, adjacency=adjacency) > plain
    with pytest.raises(UnsupportedError):
        renyi.epsilon(Tuned(step, 4.0), delta=1e-6)


def test_canonical_form_and_json():
    a, b = Gaussian(1.0), RandomizedResponse(0.7)
    assert Tuned(a + b, 5.0) == Tuned(b + a, 5.0)
    assert Tuned(a, 1.0) == a
    assert Tuned(a, 1.0, math.inf) != a
    assert Tuned(NOTHING, 7.0) == NOTHING
    assert Tuned(a, 5.0) * 2 == Tuned(a, 5.0) + Tuned(a, 5.0)
    assert Tuned(a * 2, 5.0) != Tuned(a, 5.0) * 2
    assert Tuned(a, 5.0) != Tuned(a, 5.0, 0.0)
    for event in (
        Tuned(a, 5.0),
        Tuned(a, 0.5, math.inf),
        Tuned(Grouped(b.on(Poisson(0.1)), 2) * 3, 8, -0.5),
        Tuned(Tuned(a, 2.0), 3.0),
    ):
        back = renyi.from_json(event.to_json())
        assert back == event
        assert hash(back) == hash(event)
        assert back.to_json() == event.to_json()
    document = renyi.events.serial.to_dict(Tuned(a, 5.0, math.inf))
    assert document == {"kind": "tuned", "mean": 5.0, "shape": "inf", "event": renyi.events.serial.to_dict(a)}


def test_where_it_may_stand():
    a = Gaussian(1.0)
    with pytest.raises(InvalidInput, match=r"Tuned\(a.on\(s\), mean\)"):
        Sampled(Tuned(a, 3.0), Poisson(0.1))
    for mean, shape in itertools.product((0.0, -1.0, 0.5, math.nan, "3", True), (1.0,)):
        with pytest.raises(InvalidInput):
            Tuned(a, mean, shape)
    for shape in (-1.0, -2.0, math.nan, "geometric"):
        with pytest.raises(InvalidInput):
            Tuned(a, 3.0, shape)
    with pytest.raises(InvalidInput):
        Tuned("a", 3.0)


def test_runs_that_may_fail_outright_are_bounded_by_their_profile_alone():
    """Of 3 runs on average each fails with probability 1e-9, so that the best is a failure with at most 3e-9."""
    search = Tuned(ApproximateDP(0.1, 1e-9), 3.0)
    assert Rdp().epsilon(search, delta=1e-6).upper == math.inf
    assert 0.1 < renyi.epsilon(search, delta=1e-6) < 0.3
    assert renyi.epsilon(search, delta=1e-9) == math.inf
    assert renyi.delta(search, epsilon=10.0) == pytest.approx(3e-9, rel=1e-6)


@pytest.mark.parametrize("shape", [-0.5, 0.0, 1.0, 3.0])
def test_the_least_over_orders_is_found_to_eight_digits(shape):
    """Of a Gaussian both minima have closed forms: (1+eta) (sqrt(2 L) - 1/2) and 1/2 + sqrt(2 log E[K])."""
    event = Tuned(Gaussian(1.0), 10.0, shape).canonical()
    level = math.log(1.0 / event.gamma)
    least = (1.0 + shape) * (math.sqrt(2.0 * level) - 0.5) + 0.5 + math.sqrt(2.0 * math.log(10.0))
    found = renyi_curve(event, Relation.REMOVE).at(1.0)
    assert least <= found <= least * (1.0 + 1e-7)


def test_a_logarithmic_number_of_faint_runs():
    search = Tuned(Gaussian(50**0.5), mean_of(0.01, 0.0), 0.0).canonical()
    assert renyi_curve(search, Relation.REMOVE).at(1.0) == pytest.approx(0.779504, abs=5e-7)


def test_a_search_among_runs_whose_curve_takes_long_is_answered_by_few_orders():
    """All orders of the ladder took more work than a question is given, and the search was refused."""
    one = renyi.GaussianMixture(53.0, (0.0, 1.0, 2.0, 3.0), (0.38, 0.01, 0.18, 0.43)) * 23
    other = renyi.FromRenyi(((1.5, 0.2), (8.0, 0.4), (math.inf, 1.0))) * 17
    run = (one + other).on(Poisson(0.004)) * 354
    search = Tuned(run, mean=803.0)
    assert renyi.epsilon(run, delta=1e-200) < renyi.epsilon(search, delta=1e-200) < math.inf
