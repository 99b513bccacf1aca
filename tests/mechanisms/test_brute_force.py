"""Every mechanism beyond the first three against 50-digit brute force, unsampled and on a Poisson sample, both ways."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from mpmath import exp, log, mp, mpf

import renyi
from renyi import (
    TCDP,
    ZCDP,
    Adjacency,
    ApproximateDP,
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    FinitePair,
    FromDensities,
    FromRenyi,
    Gaussian,
    InvalidInput,
    Laplace,
    Poisson,
    PureDP,
    RandomizedResponse,
    Relation,
    UnsupportedError,
)
from renyi.composing.event_laws import renyi_curve
from renyi.laws.conversion import optimal_epsilon

ORDERS = [1.0, 1 + 1e-9, 1.3, 2.0, 7.5, 40.0]


def rdp_epsilon(event, delta):
    return renyi.epsilon(event, delta=delta, accountant=renyi.Rdp())


def discrete_laws(weight, shift, reach):
    """Normalised weights about the shift and about 0, to 50 digits."""
    support = range(-reach, reach + shift + 1)
    p = [weight(x - shift) for x in support]
    q = [weight(x) for x in support]
    return [a / sum(p) for a in p], [b / sum(q) for b in q]


def laws_of(mechanism):
    """The worst pair of a mechanism as two lists of 50-digit probabilities: with the record, without it."""
    match mechanism:
        case DiscreteGaussian(scale, sensitivity):
            s = mpf(scale)
            return discrete_laws(
                lambda x: exp(-(mpf(x) ** 2) / (2 * s * s)), sensitivity, int(15 * scale) + 60 * sensitivity
            )
        case DiscreteLaplace(scale, sensitivity):
            return discrete_laws(lambda x: exp(-abs(mpf(x)) / mpf(scale)), sensitivity, int(130 * scale) + sensitivity)
        case PureDP(epsilon):
            likely = 1 / (1 + exp(-mpf(epsilon)))
            return [likely, 1 - likely], [1 - likely, likely]
        case RandomizedResponse(truth, outcomes):
            lie = (1 - mpf(truth)) / (outcomes - 1)
            rest = [lie] * (outcomes - 2)
            return [mpf(truth), lie, *rest], [lie, mpf(truth), *rest]
        case FinitePair(p, q):
            return [mpf(a) / sum(map(mpf, p)) for a in p], [mpf(b) / sum(map(mpf, q)) for b in q]
    raise LookupError(mechanism)


def divergence(p, q, order):
    if order == 1.0:
        return sum(a * log(a / b) for a, b in zip(p, q, strict=True))
    alpha = mpf(order)
    return log(sum(a**alpha * b ** (1 - alpha) for a, b in zip(p, q, strict=True))) / (alpha - 1)


FINITE = [
    DiscreteGaussian(0.4),
    DiscreteGaussian(0.7, sensitivity=2),
    DiscreteGaussian(3.0, sensitivity=3),
    DiscreteLaplace(0.3),
    DiscreteLaplace(1.5, sensitivity=4),
    PureDP(0.01),
    PureDP(5.0),
    RandomizedResponse(0.6, outcomes=5),
    FinitePair((0.5, 0.4, 0.1), (0.3, 0.5, 0.2)),
    FinitePair((0.2, 0.3, 0.5), (0.2, 0.31, 0.49)),
]


@pytest.mark.parametrize("mechanism", FINITE, ids=repr)
@pytest.mark.parametrize("rate", [1.0, 0.3, 1e-6])
def test_curve_is_the_brute_force_sum(mechanism, rate):
    with mp.workdps(50):
        p, q = laws_of(mechanism)
        mixture = [(1 - mpf(rate)) * b + mpf(rate) * a for a, b in zip(p, q, strict=True)]
        for order in ORDERS:
            for relation, (first, second) in {Relation.REMOVE: (mixture, q), Relation.ADD: (q, mixture)}.items():
                truth = divergence(first, second, order)
                published = renyi_curve(mechanism.on(Poisson(rate)), relation).at(order)
                assert truth <= mpf(published) * (1 + mpf(1e-25)), (order, relation)
                assert mpf(published) <= truth * (1 + mpf(3e-12)), (order, relation)


@pytest.mark.parametrize("level", [1e-6, 0.1, 2.0, 20.0])
def test_exponential_mechanism_is_the_largest_two_point_divergence(level):
    """Over a fine grid of t, no two-point pair with losses t and t - level exceeds the curve, and the best comes close."""
    curve = renyi_curve(ExponentialMechanism(level), Relation.REMOVE)
    with mp.workdps(50):
        e0 = mpf(level)
        for order in ORDERS:
            best = mpf(0)
            for i in range(1, 500):
                t = e0 * i / 500
                p = (1 - exp(t - e0)) / (1 - exp(-e0))
                best = max(best, divergence([p, 1 - p], [p * exp(-t), (1 - p) * exp(e0 - t)], order))
            assert best <= mpf(curve.at(order)) <= best * (1 + mpf(5e-3))
    assert curve.at(math.inf) >= level


def two_point_divergence(level, logit, rate, order, adding):
    """D of the sampled pair with losses t and t - level, log(t/(level - t)) = logit, written as a chord of the moment."""
    t = level / (1 + exp(-logit))
    low, high = exp(t - level), exp(t)
    chord = lambda phi: ((high - 1) * phi(low) + (1 - low) * phi(high)) / (high - low)  # noqa: E731
    mixed = lambda r: 1 - rate + rate * r  # noqa: E731
    if order == 1:
        return chord(lambda r: -log(mixed(r)) if adding else mixed(r) * log(mixed(r)))
    return log(chord(lambda r: mixed(r) ** (1 - order if adding else order))) / (order - 1)


def largest(function, low, high):
    """The largest value of a function with one peak, by golden section."""
    golden = (mp.sqrt(5) - 1) / 2
    x, y = high - golden * (high - low), low + golden * (high - low)
    f, g = function(x), function(y)
    while high - low > mpf(1e-12):
        if f > g:
            high, y, g = y, x, f
            x = high - golden * (high - low)
            f = function(x)
        else:
            low, x, f = x, y, g
            y = low + golden * (high - low)
            g = function(y)
    return max(f, g)


@pytest.mark.parametrize("level", [1e-6, 0.1, 2.0, 20.0])
@pytest.mark.parametrize("rate", [1e-6, 0.3, 0.999])
@pytest.mark.parametrize("relation", [Relation.REMOVE, Relation.ADD], ids=lambda relation: relation.value)
def test_sampled_exponential_mechanism_is_the_largest_sampled_two_point_divergence(level, rate, relation):
    curve = renyi_curve(ExponentialMechanism(level).on(Poisson(rate)), relation)
    with mp.workdps(60):
        for order in [*ORDERS, 1000.0]:
            params = (mpf(rate), mpf(order), relation is Relation.ADD)
            truth = largest(lambda z: two_point_divergence(mpf(level), z, *params), mpf(-40), mpf(40))  # noqa: B023
            assert truth <= mpf(curve.at(order)) <= truth * (1 + mpf(3e-12)), order


def test_sampled_two_point_divergence_has_one_peak():
    """What the search for the worst t relies on: it rises, then falls."""
    rng = np.random.default_rng(8)
    with mp.workdps(50):
        for _ in range(60):
            level, order = mpf(10 ** rng.uniform(-3, 2)), 1 + mpf(10 ** rng.uniform(-3, 3))
            rate = mpf(10 ** rng.uniform(-6, 0)) if rng.random() < 0.6 else 1 - mpf(10 ** rng.uniform(-6, -0.3))
            adding = bool(rng.random() < 0.5)
            values = [two_point_divergence(level, mpf(z), rate, order, adding) for z in np.linspace(-14, 14, 57)]
            falls = [a > b for a, b in itertools.pairwise(values)]
            assert falls == sorted(falls)


@pytest.mark.parametrize("rate", [1.0, 0.7, 0.05])
def test_exponential_mechanism_really_stays_below(rate):
    """A concrete exponential mechanism with scores moved by at most the sensitivity on a neighbour, on a sample or not."""
    rng = np.random.default_rng(3)
    level = 1.2
    event = ExponentialMechanism(level).on(Poisson(rate))
    orders = np.array([1.5, 2.0, 8.0])
    removing, adding = (renyi_curve(event, relation)(orders) for relation in (Relation.REMOVE, Relation.ADD))
    for _ in range(200):
        score = rng.uniform(0, 5, 8)
        moved = score + rng.uniform(-1, 1, 8)
        p, q = np.exp(level * score / 2), np.exp(level * moved / 2)
        p, q = p / p.sum(), q / q.sum()
        mixture = (1 - rate) * q + rate * p
        for order, remove, add in zip(orders, removing, adding, strict=True):
            assert math.log(np.sum(mixture**order * q ** (1 - order))) / (order - 1) <= remove
            assert math.log(np.sum(q**order * mixture ** (1 - order))) / (order - 1) <= add


def test_exponential_mechanism_of_any_level():
    orders = np.array([1.0, 1.5, 30.0, 1e6])
    for event in (ExponentialMechanism(0.0), ExponentialMechanism(0.0).on(Poisson(0.1))):
        assert (renyi.divergence(event, order=orders) == 0.0).all()
    for level in (1e-200, 1e-5, 800.0, 1e5):
        plain = renyi.divergence(ExponentialMechanism(level), order=orders)
        sampled = renyi.divergence(ExponentialMechanism(level).on(Poisson(0.1)), order=orders)
        assert (plain > 0.0).all()
        assert (plain <= level * (1 + 1e-12)).all()
        assert (sampled > 0.0).all()
        assert (sampled <= plain).all()


def test_discrete_gaussian_is_never_dearer_than_continuous_noise_and_not_monotone():
    for order in ORDERS:
        discrete = renyi.divergence(DiscreteGaussian(0.7), order=order)
        assert discrete <= renyi.divergence(Gaussian(0.7), order=order) * (1 + 1e-12)
    assert not DiscreteGaussian(1.0).trends()


def test_approximate_dp_fails_with_its_mass():
    event = ApproximateDP(0.5, 1e-8)
    assert renyi.epsilon(event, delta=1e-8) == 0.5
    assert renyi.epsilon(event, delta=math.nextafter(1e-8, 0.0)) == math.inf
    assert renyi.epsilon(event, delta=2e-8) <= 0.5 * (1 + 1e-12)
    assert renyi.epsilon(event * 100, delta=9e-7) == math.inf
    assert math.isfinite(renyi.epsilon(event * 100, delta=1.1e-6))
    # On a sample the mass shrinks with the rate: 100 x 1e-8 x 0.01.
    assert math.isfinite(renyi.epsilon(event.on(Poisson(0.01)) * 100, delta=1.1e-8))
    assert renyi.epsilon(event.on(Poisson(0.01)) * 100, delta=0.9e-8) == math.inf
    assert renyi.delta(event, epsilon=0.5) == pytest.approx(1e-8, rel=1e-9)


def test_concentrated_dp_is_a_line_and_truncation_ends_it():
    assert renyi.divergence(ZCDP(0.5), order=[1, 3, 100]) == pytest.approx([0.5, 1.5, 50.0], rel=1e-14)
    assert renyi.divergence(ZCDP(0.5, xi=0.25), order=2.0) == pytest.approx(1.25, rel=1e-14)
    assert list(renyi.divergence(TCDP(0.5, 8.0), order=[4.0, 8.0, 8.1])) == pytest.approx([2.0, 4.0, math.inf])
    assert rdp_epsilon(ZCDP(0.5), 1e-5) == pytest.approx(rdp_epsilon(Gaussian(1.0), 1e-5), rel=1e-12)
    with pytest.raises(InvalidInput, match="omega"):
        TCDP(0.5, 1.0)


def test_sampled_zcdp_gains_from_factor_one():
    """The figures of the general bound without the factor 3."""
    assert renyi.epsilon(ZCDP(0.5).on(Poisson(0.01)) * 1000, delta=1e-6) <= 2.437
    assert renyi.epsilon(ZCDP(0.125).on(Poisson(0.1)) * 500, delta=1e-6) <= 6.697


def test_a_statement_about_other_neighbours_is_refused():
    for cls in (PureDP, ZCDP, ExponentialMechanism):
        event = cls(1.0, adjacency=Adjacency.REPLACE_ONE)
        assert renyi.epsilon(event, delta=1e-6, adjacency=Adjacency.REPLACE_ONE) > 0
        with pytest.raises(UnsupportedError, match="replace-one"):
            renyi.epsilon(event, delta=1e-6)
        assert renyi.from_json(event.to_json()) == event
    assert PureDP(1.0, adjacency="replace-one") == PureDP(1.0, Adjacency.REPLACE_ONE)
    with pytest.raises(InvalidInput, match="adjacency"):
        PureDP(1.0, adjacency="near")


def test_a_table_is_interpolated_from_above():
    told = FromRenyi(tuple((a, a / 2) for a in (1.5, 2.0, 4.0, 16.0, 64.0)))
    orders = np.array([1.0, 1.2, 1.5, 1.7, 3.0, 10.0, 64.0])
    values, truth = renyi.divergence(told, order=orders), orders / 2
    assert (values >= truth * (1 - 1e-15)).all()
    assert values[2] == pytest.approx(0.75, rel=1e-14)
    assert renyi.divergence(told, order=65.0) == math.inf
    # Between 2 and 4 the log-moment goes from 1 to 6.
    assert values[4] == pytest.approx(((1 + 6) / 2) / 2, rel=1e-14)


def test_a_callable_curve_equals_the_mechanism_it_describes():
    told = FromRenyi(lambda order: order / 2 if order < math.inf else math.inf)
    assert rdp_epsilon(told * 10, 1e-6) == pytest.approx(rdp_epsilon(Gaussian(1.0) * 10, 1e-6), rel=1e-9)
    assert told != FromRenyi(lambda order: order / 2)
    with pytest.raises(InvalidInput, match="at every order"):
        renyi.epsilon(FromRenyi(lambda order: -1.0), delta=1e-6)


@pytest.mark.parametrize(
    "table", [(), ((0.5, 1.0),), ((3.0, 1.0), (2.0, 2.0)), ((2.0, -1.0),), ((2.0, math.nan),), 5, ((2.0,),)], ids=repr
)
def test_malformed_tables(table):
    with pytest.raises(InvalidInput, match="table"):
        FromRenyi(table)


def log_normal(x, centre=0.0):
    return -0.5 * (x - centre) ** 2 - 0.5 * math.log(2 * math.pi)


def test_densities_equal_the_mechanism_they_describe():
    event = FromDensities(lambda x: log_normal(x, 1.0), log_normal, -40.0, 41.0)
    known = Gaussian(1.0)
    for order in (1.0, 1.5, 2.0, 20.0):
        value = renyi.divergence(event, order=order)
        assert value == pytest.approx(renyi.divergence(known, order=order), rel=1e-8)
        assert value >= order / 2
    sampled = renyi.divergence(event.on(Poisson(0.1)), order=[1.5, 2.0, 10.0])
    assert sampled == pytest.approx(renyi.divergence(known.on(Poisson(0.1)), order=[1.5, 2.0, 10.0]), rel=1e-7)
    assert renyi.divergence(event, order=100.0) == math.inf  # its integrand lives outside of the interval
    assert any("numerical" in text for text in renyi.guarantee(event, delta=1e-5).assumptions)


def test_densities_must_be_densities():
    with pytest.raises(InvalidInput, match="integrates to"):
        FromDensities(lambda x: log_normal(x) + 1.0, log_normal, -40.0, 40.0)
    with pytest.raises(InvalidInput, match="low must be below"):
        FromDensities(log_normal, log_normal, 1.0, 0.0)
    with pytest.raises(InvalidInput, match="functions"):
        FromDensities(1.0, log_normal, -1.0, 1.0)


def test_finite_pairs_are_checked():
    with pytest.raises(InvalidInput, match="sum to 1"):
        FinitePair((0.5, 0.4), (0.5, 0.5))
    with pytest.raises(InvalidInput, match="same outcomes"):
        FinitePair((0.5, 0.5), (1.0,))
    with pytest.raises(UnsupportedError, match="not symmetric"):
        renyi.epsilon(
            FinitePair((0.5, 0.5), (0.4, 0.6), Adjacency.REPLACE_ONE), delta=0.1, adjacency=Adjacency.REPLACE_ONE
        )
    apart = FinitePair((1.0, 0.0), (0.0, 1.0))
    assert renyi.epsilon(apart, delta=0.1) == math.inf
    for disjoint in (apart, Gaussian(0.0), Laplace(0.0), RandomizedResponse(1.0)):
        for order in (1.0, 1.5, 3.0, 100.0):
            adding = renyi_curve(disjoint.on(Poisson(0.1)), Relation.ADD).at(order)
            assert adding == pytest.approx(-math.log1p(-0.1), rel=1e-12)
    partly = FinitePair((0.25, 0.75, 0.0), (0.0, 0.75, 0.25)).on(Poisson(0.5))
    truth = math.log(0.75 * 0.75**2 * 0.75**-2 + 0.25**2 / 0.125)
    assert renyi_curve(partly, Relation.ADD).at(2.0) == pytest.approx(truth, rel=1e-12)


def summed_by_hand(curve, count, delta):
    """The smallest one-order conversion of count times a curve, over a fine ladder of orders, and the pure sum."""
    best = min(
        optimal_epsilon(float(order), count * curve.at(float(order)), math.log(delta))
        for order in 1 + np.geomspace(1e-3, 1e6, 4000)
    )
    return min(best, count * curve.limit + math.log1p(-delta))


@pytest.mark.parametrize(
    ("mechanism", "count", "delta", "wrong"),
    [
        (RandomizedResponse(0.75), 50, 1e-6, 1.099),
        (ExponentialMechanism(0.1), 1000, 1e-6, 0.104),
        (PureDP(5.0), 10, 1e-50, 40.0),
    ],
    ids=repr,
)
def test_n_times_is_n_compositions(mechanism, count, delta, wrong):
    """Libraries that charge n releases as one report 1.099, 0.104 and 40 here."""
    from tests.examples import one_ulp_apart

    by_hand = summed_by_hand(mechanism.renyi(Relation.REMOVE), count, delta)
    repeated = rdp_epsilon(mechanism * count, delta)
    assert repeated <= by_hand * (1 + 1e-9)
    assert repeated == pytest.approx(by_hand, rel=1e-5)
    assert repeated > 1.2 * wrong
    nearly = sum(one_ulp_apart(mechanism, 5)) * (count // 5)
    assert rdp_epsilon(nearly, delta) == pytest.approx(repeated, rel=1e-9)


def exact_binary(level, count, delta):
    """epsilon of count binary responses of a level, by exact enumeration of the loss (count - 2l) level."""
    with mp.workdps(60):
        e = mpf(level)
        weights = [
            mp.binomial(count, miss) * exp((count - miss) * e) / (1 + exp(e)) ** count for miss in range(count + 1)
        ]
        losses = [(count - 2 * miss) * e for miss in range(count + 1)]

        def failure(epsilon):
            return sum(w * (1 - exp(epsilon - loss)) for w, loss in zip(weights, losses, strict=True) if loss > epsilon)

        low, high = mpf(0), count * e
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if failure(middle) > delta else (low, middle)
        return float(high)


@pytest.mark.parametrize(
    ("mechanism", "level", "count", "delta"),
    [(RandomizedResponse(0.75), math.log(3), 50, 1e-6), (PureDP(5.0), 5.0, 10, 1e-50)],
    ids=repr,
)
def test_exact_is_enumeration_and_renyi_not_much_above(mechanism, level, count, delta):
    exact = exact_binary(level, count, delta)
    published = rdp_epsilon(mechanism * count, delta)
    assert exact <= published <= 1.15 * exact
    ends = renyi.Exact().epsilon(mechanism * count, delta=delta)
    assert ends.lower * (1 - 1e-14) <= exact <= ends.upper * (1 + 1e-14)
    assert renyi.epsilon(mechanism * count, delta=delta) == pytest.approx(exact, rel=1e-12)


def test_counts_of_every_mechanism_are_monotone():
    for mechanism in (DiscreteGaussian(1.0), DiscreteLaplace(2.0), ExponentialMechanism(0.5), Laplace(2.0)):
        values = [renyi.epsilon(mechanism * n, delta=1e-6) for n in (1, 2, 5, 20, 100)]
        assert all(a < b for a, b in itertools.pairwise(values))
