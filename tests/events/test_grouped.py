"""Groups: the mixture pair against integrals, chains of laws by brute force, and where the node may stand."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import renyi
from renyi import (
    TCDP,
    ZCDP,
    Adjacency,
    ApproximateDP,
    Composed,
    Exact,
    ExponentialMechanism,
    Gaussian,
    Grouped,
    InvalidInput,
    Laplace,
    LossGrid,
    Poisson,
    PureDP,
    RandomAllocation,
    RandomizedResponse,
    Rdp,
    Relation,
    Repeated,
    Sampled,
    Tuned,
    UnsupportedError,
    WithoutReplacement,
)
from renyi.composing.event_laws import renyi_curve
from renyi.events.difference import dearer
from renyi.events.nodes import NOTHING
from renyi.laws.curves.curve import RenyiCurve
from renyi.laws.curves.group import group_curve
from renyi.laws.pairs.gaussian import GaussianPair
from renyi.sampling.poisson.group_mixture_pair import GroupMixturePair
from renyi.sampling.poisson.pair import PoissonPair
from tests.sampling.mixtures import Line

LEVELS = np.array([-2.0, -0.1, 0.0, 1e-4, 0.05, 0.5, 2.0, 6.0])


def test_a_group_of_one_is_the_poisson_pair():
    for noise, rate, adding in itertools.product((0.3, 1.0, 8.0), (1e-3, 0.2, 0.9), (False, True)):
        one = GroupMixturePair(noise, rate, 1, adding).log_profile(LEVELS)
        other = PoissonPair(GaussianPair(noise), rate, adding).log_profile(LEVELS)
        assert one == pytest.approx(other, abs=1e-11)


@pytest.mark.parametrize(("noise", "rate", "size"), [(1.0, 0.1, 3), (0.5, 0.4, 8), (4.0, 0.01, 30), (2.0, 0.95, 5)])
def test_the_mixture_to_forty_digits(noise, rate, size):
    with mpmath.workdps(60):
        s, q = mpmath.mpf(noise), mpmath.mpf(rate)
        weight = [mpmath.binomial(size, j) * q**j * (1 - q) ** (size - j) for j in range(size + 1)]
        ratio = lambda z: mpmath.fsum(w * mpmath.e ** ((2 * j * z - j * j) / (2 * s * s)) for j, w in enumerate(weight))  # noqa: E731
        tail = lambda z: mpmath.erfc(z / s / mpmath.sqrt(2)) / 2  # noqa: E731

        def threshold(epsilon):  # where the ratio is e^epsilon, by bisection
            low, high = mpmath.mpf(-4000), mpmath.mpf(4000)
            for _ in range(220):
                middle = (low + high) / 2
                low, high = (middle, high) if mpmath.log(ratio(middle)) < epsilon else (low, middle)
            return low

        for epsilon in (0.0, 0.05, 0.5, 2.0):
            y = mpmath.e ** mpmath.mpf(epsilon)
            z = threshold(epsilon)
            exact = mpmath.fsum(w * tail(z - j) for j, w in enumerate(weight)) - y * tail(z)
            found = GroupMixturePair(noise, rate, size).log_profile(np.array([epsilon]))[0]
            assert found == pytest.approx(float(mpmath.log(exact)), abs=1e-11)
            if 1 / y > weight[0]:
                z = threshold(-epsilon)
                exact = 1 - tail(z) - y * mpmath.fsum(w * (1 - tail(z - j)) for j, w in enumerate(weight))
                found = GroupMixturePair(noise, rate, size, adding=True).log_profile(np.array([epsilon]))[0]
                assert found == pytest.approx(float(mpmath.log(exact)), abs=1e-11)


def test_users_whose_examples_differ_stay_below_the_mixture():
    """Three examples of one user with contributions of norm at most 1, on a line and partly opposed."""
    noise, rate = 0.9, 0.3
    line = Line(noise)
    for examples in ((1.0, 1.0, 1.0), (1.0, -1.0, 0.5), (0.2, 0.9, -0.3), (-1.0, -1.0, 1.0)):
        mixture: dict[float, float] = {}
        for drawn in itertools.product((0, 1), repeat=3):
            mean = sum(x for x, one in zip(examples, drawn, strict=True) if one)
            mixture[mean] = mixture.get(mean, 0.0) + math.prod(rate if one else 1 - rate for one in drawn)
        for adding in (False, True):
            pair = GroupMixturePair(noise, rate, 3, adding)
            first, second = ({0.0: 1.0}, mixture) if adding else (mixture, {0.0: 1.0})
            for epsilon in (-0.5, 0.0, 0.4, 1.0):
                exact, bound = line.hockey(first, second, epsilon), math.exp(pair.log_profile(np.array([epsilon]))[0])
                assert exact <= bound * (1 + 1e-8) + 1e-12
                if examples == (1.0, 1.0, 1.0):
                    assert exact == pytest.approx(bound, rel=1e-6)
            curve = renyi_curve(
                Grouped(Gaussian(noise).on(Poisson(rate)), 3), Relation.ADD if adding else Relation.REMOVE
            )
            for order in (1.5, 2.0, 4.0):
                exact = line.renyi(line.law(first), line.law(second), order)
                assert exact <= curve.at(order) * (1 + 1e-9)


def test_noise_on_a_line_is_a_matter_of_distance():
    for accountant in (Exact(), LossGrid(), Rdp()):
        grouped = accountant.epsilon(Grouped(Gaussian(6.0), 3), delta=1e-6)
        assert grouped.upper == pytest.approx(accountant.epsilon(Gaussian(2.0), delta=1e-6).upper, rel=1e-9)
    assert renyi.epsilon(Grouped(Laplace(4.0), 4) * 2, delta=1e-6) == pytest.approx(
        renyi.epsilon(Laplace(1.0) * 2, delta=1e-6), rel=1e-9
    )
    assert renyi.epsilon(Grouped(Gaussian(6.0), 3), delta=1e-6, adjacency=Adjacency.REPLACE_ONE) == pytest.approx(
        renyi.epsilon(Gaussian(1.0), delta=1e-6), rel=1e-9
    )


def test_pure_losses_add():
    assert renyi.epsilon(Grouped(PureDP(0.25), 4), delta=0.0) == pytest.approx(1.0)
    exact = renyi.epsilon(PureDP(1.0) * 3, delta=1e-6)
    assert renyi.epsilon(Grouped(PureDP(0.25), 4) * 3, delta=1e-6) == pytest.approx(exact, rel=1e-9)
    # Three people who answer independently: enumeration of all answers.
    t, size = 0.7, 3
    p, q = np.array([t, 1 - t]), np.array([1 - t, t])
    first, second = (np.prod(list(itertools.product(law, repeat=size)), axis=1) for law in (p, q))
    for epsilon in (0.0, 0.5, 1.5, 2.5):
        exact = float(np.sum(np.maximum(first - math.exp(epsilon) * second, 0.0)))
        assert exact <= renyi.delta(Grouped(RandomizedResponse(t), size), epsilon=epsilon) * (1 + 1e-12)


def test_no_chain_of_laws_exceeds_the_bound_of_its_links():
    rng = np.random.default_rng(8)

    def divergence(p, q, order):
        return np.array([np.logaddexp.reduce(a * np.log(p) + (1 - a) * np.log(q)) / (a - 1) for a in order])

    for _ in range(60):
        size = int(rng.integers(2, 6))
        laws = [rng.dirichlet(np.ones(4)) * 0.9 + 0.025]
        for _ in range(size):
            moved = laws[-1] * np.exp(rng.normal(0.0, 0.3, size=4))
            laws.append(moved / moved.sum())

        def link(order, laws=laws):
            return np.max([divergence(p, q, order) for p, q in itertools.pairwise(laws)], axis=0)

        limit = max(float(np.max(np.log(p / q))) for p, q in itertools.pairwise(laws))
        group = group_curve(RenyiCurve(link, limit=limit), size)
        orders = np.array([1.05, 1.5, 2.0, 3.0, 8.0])
        assert (divergence(laws[0], laws[-1], orders) <= group(orders) * (1 + 1e-9)).all()
        assert (np.diff(group(orders)) >= -1e-2 * group(orders)[1:]).all()  # up to the spacing of its ladder


@pytest.mark.parametrize("size", [2, 5, 16, 100, 10**9])
def test_zcdp_of_a_group_is_its_square(size):
    """Bun & Steinke (2016), Proposition 1.9; truncated at a k-th of the order."""
    assert ZCDP(0.01).for_group(size).rho == pytest.approx(0.01 * size**2, rel=1e-15)
    for accountant in (Exact(), Rdp()):
        group = accountant.epsilon(Grouped(ZCDP(0.01), size), delta=1e-6).upper
        assert group == accountant.epsilon(ZCDP(0.01).for_group(size), delta=1e-6).upper
    assert ZCDP(0.0, xi=0.1).for_group(size).xi == pytest.approx(0.1 * size, rel=1e-15)
    truncated = TCDP(0.01, 40.0).for_group(size)
    assert truncated is None if size > 40 else truncated.omega == pytest.approx(40.0 / size)
    for order in (1.0, 2.0, 30.0):
        curve = renyi_curve(Grouped(TCDP(0.01, 40.0), size), Relation.ADD)
        expected = 0.01 * size**2 * order if order * size <= 40.0 else math.inf
        assert curve.at(order) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("size", [2, 3, 10, 32])
def test_zcdp_with_an_offset_is_the_sum_over_the_chain(size):
    """xi grows by at most k (1 + 1/2 + ... + 1/k): Bun & Steinke (2016), section 5; by k at large orders."""
    rho, xi = 0.001, 0.05
    curve = group_curve(renyi_curve(ZCDP(rho, xi=xi), Relation.REMOVE), size)
    for order in (1.0, 1.5, 4.0, 100.0):
        grown = sum(size * order / (size * order - i) for i in range(size))
        assert curve.at(order) <= (rho * size**2 * order + xi * grown) * (1 + 1e-12)
        assert curve.at(order) <= (rho * size**2 * order + xi * size * sum(1 / i for i in range(1, size + 1))) * (
            1 + 1e-12
        )
    assert curve.at(1e6) == pytest.approx(rho * size**2 * 1e6 + xi * size, rel=1e-9)


@pytest.mark.parametrize("event", [Laplace(2.0), RandomizedResponse(0.8), Gaussian(1.0).on(Poisson(0.1))], ids=repr)
def test_the_chain_is_no_worse_than_two_halves(event):
    """Mironov (2017), Proposition 11 and its corollary: (alpha - 1/2)/(alpha - 1) D(2 alpha) + D(2 alpha - 1)."""
    curve = renyi_curve(event, Relation.REMOVE)
    for order in (1.2, 2.0, 5.0, 40.0):
        halves = (order - 0.5) / (order - 1.0) * curve.at(2.0 * order) + curve.at(2.0 * order - 1.0)
        assert group_curve(curve, 2).at(order) <= halves * (1 + 1e-9)


def test_a_long_chain_is_close_to_all_of_its_terms():
    curve = renyi_curve(ZCDP(0.001, xi=0.01), Relation.REMOVE)
    for size, order in itertools.product((40, 1000), (1.0, 1.1, 2.0, 20.0)):
        every = sum(size * order / (size * order - i) * curve.at(size * order - i) for i in range(size))
        found = group_curve(curve, size)
        assert found.at(order) <= 1.1 * every
        if order == 20.0:
            assert every <= found.at(order) * (1 + 1e-9)


def test_ranges_add_along_a_chain():
    """Laws whose losses lie in an interval of length epsilon, link by link: the ends lie in one of k epsilon."""
    rng = np.random.default_rng(3)
    size, level = 3, 0.4
    pair = ExponentialMechanism(level).for_group(size).pair(Relation.REMOVE)
    assert pair.epsilon == pytest.approx(size * level)
    for _ in range(200):
        laws = [rng.dirichlet(np.ones(4))]
        for _ in range(size):
            moved = laws[-1] * np.exp(level * rng.integers(0, 2, size=4))
            laws.append(moved / moved.sum())
        exact = np.maximum(laws[0] - np.exp(LEVELS[:, None]) * laws[-1], 0.0).sum(axis=1)
        assert (exact <= np.exp(pair.log_profile(LEVELS)) * (1 + 1e-12) + 1e-15).all()
    assert renyi.epsilon(Grouped(ExponentialMechanism(0.1), 4), delta=1e-6) == renyi.epsilon(
        ExponentialMechanism(0.4), delta=1e-6
    )


def test_curves_alone_come_close_to_the_exact_group():
    for size in (2, 5, 16):
        bound = renyi.epsilon(Grouped(ZCDP(0.01), size), delta=1e-6)
        exact = Exact().epsilon(Gaussian(math.sqrt(50.0) / size), delta=1e-6).lower
        assert exact < bound < 1.1 * exact
    run = Gaussian(2.0).on(Poisson(0.01)) * 1000
    exact = Exact().epsilon(Grouped(run, 8), delta=1e-6)
    assert exact.lower > 0.999 * exact.upper
    assert exact.upper < Rdp().epsilon(Grouped(run, 8), delta=1e-6).upper < 1.1 * exact.upper


@pytest.mark.parametrize("accountant", [Rdp(), Exact()], ids=repr)
@pytest.mark.parametrize("size", [2, 3, 10])
def test_larger_groups_cost_more_whatever_was_sampled(accountant, size):
    cases = [
        (Gaussian(3.0).on(Poisson(0.01)) * 10, Adjacency.ADD_OR_REMOVE),
        (Laplace(3.0).on(Poisson(0.01)) * 10, Adjacency.ADD_OR_REMOVE),
        (Gaussian(3.0).on(Poisson(0.01)) * 10, Adjacency.REPLACE_ONE),
        (Gaussian(3.0).on(WithoutReplacement(1, 100)) * 10, Adjacency.REPLACE_ONE),
        (Gaussian(3.0).on(RandomAllocation(50)), Adjacency.ADD_OR_REMOVE),
    ]
    for run, adjacency in cases:
        small = accountant.epsilon(Grouped(run, size - 1), delta=1e-6, adjacency=adjacency).upper
        large = accountant.epsilon(Grouped(run, size), delta=1e-6, adjacency=adjacency).upper
        assert 0.0 < small <= large < math.inf


a, b, s = Gaussian(1.0), Laplace(2.0), Poisson(0.1)
leaves = st.sampled_from([a, b, a.on(s), (a + b).on(s), Tuned(a, 5.0), Grouped(b, 2)])
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda parts: Composed(tuple(parts))),
        st.tuples(inner, st.integers(0, 4)).map(lambda pair: Repeated(*pair)),
        st.tuples(inner, st.integers(1, 4)).map(lambda pair: Grouped(*pair)),
        st.tuples(inner, st.sampled_from([1.0, 2.5])).map(lambda pair: Tuned(*pair)),
    ),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(trees, st.integers(1, 4), st.integers(1, 4))
def test_algebra(event, size, other):
    assert Grouped(event, 1) == event
    assert Grouped(Grouped(event, size), other) == Grouped(event, size * other) == Grouped(Grouped(event, other), size)
    assert Grouped(event + a, size) == Grouped(a, size) + Grouped(event, size)
    assert Grouped(event * 3, size) == Grouped(event, size) * 3
    canonical = Grouped(event, size).canonical()
    assert canonical.canonical() is canonical
    back = renyi.from_json(Grouped(event, size).to_json())
    assert back == Grouped(event, size)
    assert hash(back) == hash(Grouped(event, size))
    assert back.to_json() == canonical.to_json()


def test_where_it_may_stand():
    assert Grouped(NOTHING, 5) == NOTHING
    assert Grouped(Tuned(a, 5.0), 3) == Tuned(Grouped(a, 3), 5.0)
    assert Grouped(a, 2) != Grouped(a, 3) != a
    with pytest.raises(InvalidInput, match=r"Grouped\(a.on\(s\), size\)"):
        Sampled(Grouped(a, 2), s)
    for size in (0, -1, 2.0, True):
        with pytest.raises(InvalidInput, match="size"):
            Grouped(a, size)
    with pytest.raises(InvalidInput, match="events are combined with events"):
        Grouped("a", 2)
    with pytest.raises(UnsupportedError, match="fail outright"):
        renyi.epsilon(Grouped(ApproximateDP(0.1, 1e-9), 2), delta=1e-6)


def test_json_as_documented_and_a_guarantee_that_keeps_its_references():
    document = renyi.events.serial.to_dict(Grouped(a, 2))
    assert document == {"kind": "grouped", "size": 2, "event": renyi.events.serial.to_dict(a)}
    answer = renyi.guarantee(Grouped(a.on(s), 2), delta=1e-6)
    assert set(answer.references) >= {*a.references, *s.references}


def test_sizes_means_and_what_is_inside_tell_which_event_is_dearer():
    a, b = Gaussian(1.0).on(Poisson(0.1)), Gaussian(2.0).on(Poisson(0.1))
    assert dearer(Grouped(a, 2), Grouped(a, 3)) is True
    assert dearer(Grouped(a, 2), a) is False
    assert dearer(Grouped(a, 2), Grouped(b, 2)) is False
    assert dearer(Grouped(a, 2), Grouped(b, 3)) is None
    assert dearer(Tuned(a, 5.0), Tuned(a, 10.0)) is True
    assert dearer(Tuned(a, 5.0), Tuned(b, 5.0)) is False
    assert dearer(Tuned(a, 5.0), Tuned(a, 5.0, shape=0.5)) is None
    assert dearer(Tuned(a, 5.0), a) is None


def test_a_parameter_that_moves_past_those_of_other_releases_keeps_its_trend():
    others = (Gaussian(12.0), Gaussian(9.0), renyi.Laplace(3.0))
    beside = [Composed((*others, Gaussian(noise))) for noise in (100.0, 20.0, 12.0, 10.0, 3.0)]
    for cheap, dear in itertools.pairwise(beside):
        assert dearer(cheap, dear) is True
        assert dearer(dear, cheap) is False
    assert dearer(Composed(others), beside[0]) is True
    assert dearer(Composed(others), Composed(others)) is None
    scaled = [Composed(tuple(Gaussian(scale * noise) for noise in (8.0, 9.0, 11.0))) for scale in (1.0, 1.2)]
    assert dearer(*scaled) is False
    assert dearer(Gaussian(1.0) * 3, Gaussian(0.5)) is None
    assert dearer(Composed((others[0], others[1])), Composed((others[0], others[2]))) is None


def test_noise_for_a_user_is_calibrated():
    noise = renyi.calibrate(lambda x: Grouped(Gaussian(x).on(Poisson(0.01)), 4) * 100, epsilon=1.0, delta=1e-6)
    assert renyi.epsilon(Grouped(Gaussian(noise).on(Poisson(0.01)), 4) * 100, delta=1e-6) <= 1.0
    assert renyi.epsilon(Grouped(Gaussian(noise * 0.999).on(Poisson(0.01)), 4) * 100, delta=1e-6) > 1.0
