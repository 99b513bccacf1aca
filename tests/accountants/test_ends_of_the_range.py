"""A delta of 1 costs nothing, and an infinite epsilon leaves the losses that are infinite."""

from __future__ import annotations

import math

import numpy as np
import pytest

import renyi
from renyi import (
    ZCDP,
    ApproximateDP,
    Classical,
    Exact,
    FinitePair,
    Gaussian,
    InvalidInput,
    Laplace,
    LossGrid,
    Poisson,
    RandomAllocation,
    Rdp,
    Tuned,
)

ACCOUNTANTS = [None, Exact(), Rdp(), LossGrid(), Classical()]

MASSES = [
    (Gaussian(1.0), 0.0),
    (Gaussian(1.0) * 5 + Laplace(2.0), 0.0),
    (Gaussian(1.0).on(Poisson(0.1)) * 10, 0.0),
    (ZCDP(0.1), 0.0),
    (Tuned(Gaussian(1.0), 3.0), 0.0),
    (Laplace(1.0) * 0, 0.0),
    (ApproximateDP(1.0, 1e-3), 1e-3),
    (ApproximateDP(1.0, 1e-3) * 5, 1.0 - 0.999**5),
    (ApproximateDP(1.0, 1e-3).on(Poisson(0.1)) * 5, 1.0 - 0.9999**5),
    ((ApproximateDP(1.0, 1e-3) + Gaussian(1.0)).on(Poisson(0.1)) * 5, 1.0 - 0.9999**5),
    (FinitePair((0.0, 1.0), (1e-3, 0.999)) + Laplace(0.414), 1e-3),
    (Gaussian(0.0), 1.0),
    (Gaussian(0.0).on(Poisson(0.1)) * 3, 1.0 - 0.9**3),
    (Gaussian(0.0).on(RandomAllocation(10)), 1.0),
]


@pytest.mark.parametrize("accountant", ACCOUNTANTS, ids=repr)
@pytest.mark.parametrize(("event", "mass"), MASSES, ids=repr)
def test_infinite_epsilon_leaves_the_mass_at_infinity(event, mass, accountant):
    found = renyi.delta(event, epsilon=math.inf, accountant=accountant)
    assert found >= mass * (1.0 - 1e-15)
    curve_alone = isinstance(accountant, Rdp) and mass > 0.0  # which says of an infinite divergence no more than that
    # A search charges a few times the smallest float for what underflows.
    assert found <= mass * (1.0 + 1e-12) + 1e-320 or (curve_alone and found == 1.0)


@pytest.mark.parametrize("accountant", ACCOUNTANTS, ids=repr)
@pytest.mark.parametrize(("event", "mass"), MASSES, ids=repr)
def test_a_delta_of_one_costs_nothing(event, mass, accountant):
    assert renyi.epsilon(event, delta=1, accountant=accountant) == 0.0
    assert renyi.epsilon(event, delta=[0.999, 1.0], accountant=accountant)[1] == 0.0


def test_the_guarantee_says_so():
    assert str(renyi.guarantee(Gaussian(1.0), delta=1.0)).startswith(
        "Gaussian noise (multiplier 1) is (0, 1)-differentially private"
    )
    answer = renyi.guarantee(ApproximateDP(1.0, 1e-3), epsilon=math.inf)
    assert (answer.epsilon.upper, answer.delta) == (math.inf, 1e-3)


@pytest.mark.parametrize("delta", [1.0000001, -1e-9, math.inf, math.nan, True, np.bool_(True), "1"])
def test_no_other_number_is_a_delta(delta):
    with pytest.raises(InvalidInput, match="delta"):
        renyi.guarantee(Gaussian(1.0), delta=delta)


@pytest.mark.parametrize("epsilon", [-math.inf, -1e-9, math.nan, True, "inf"])
def test_no_other_number_is_an_epsilon(epsilon):
    with pytest.raises(InvalidInput, match="epsilon"):
        renyi.guarantee(Gaussian(1.0), epsilon=epsilon)
