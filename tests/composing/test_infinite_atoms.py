"""Outcomes that only one of the two datasets can cause, beside other parts: both ends, held against closed forms."""

from __future__ import annotations

import math

import pytest
from scipy.optimize import brentq

from renyi import ApproximateDP, Exact, FinitePair, Gaussian, Laplace, LossGrid, Poisson, Relation
from renyi.composing.question import DeltaAt, EpsilonAt

ACCOUNTANTS = [Exact(), LossGrid()]


def laplace_profile(epsilon: float, loss: float) -> float:
    if epsilon < -loss:
        return -math.expm1(epsilon)
    return max(-math.expm1((epsilon - loss) / 2.0), 0.0)


def beside_laplace(p: list[float], q: list[float], loss: float, epsilon: float) -> float:
    """delta of a finite pair beside Laplace noise: given the outcome, the other loss must exceed what is left of epsilon."""
    return sum(
        a * (1.0 if b == 0.0 else laplace_profile(epsilon - math.log(a / b), loss))
        for a, b in zip(p, q, strict=True)
        if a > 0.0
    )


def root(p: list[float], q: list[float], loss: float, delta: float) -> float:
    """The epsilon at which that is delta."""
    return brentq(lambda epsilon: beside_laplace(p, q, loss, epsilon) - delta, 0.0, 50.0, xtol=1e-13)


def approximate(epsilon: float, delta: float) -> tuple[list[float], list[float]]:
    high = (1.0 - delta) / (1.0 + math.exp(-epsilon))
    low = (1.0 - delta) - high
    return [delta, high, low, 0.0], [0.0, low, high, delta]


def mixed(p: list[float], q: list[float], rate: float) -> list[float]:
    return [(1.0 - rate) * b + rate * a for a, b in zip(p, q, strict=True)]


CASES = {
    "finite": (FinitePair((0.0, 1.0), (1e-3, 0.999)), ([0.0, 1.0], [1e-3, 0.999])),
    "one loss": (FinitePair((0.5, 0.5, 0.0), (0.5, 0.0, 0.5)), ([0.5, 0.5, 0.0], [0.5, 0.0, 0.5])),
    "approximate": (ApproximateDP(0.5, 1e-3), approximate(0.5, 1e-3)),
    "sampled": (
        ApproximateDP(0.5, 1e-3).on(Poisson(0.1)),
        (mixed(*approximate(0.5, 1e-3), 0.1), approximate(0.5, 1e-3)[1]),
    ),
}


@pytest.mark.parametrize("accountant", ACCOUNTANTS, ids=repr)
@pytest.mark.parametrize("name", CASES)
def test_both_ends_hold_the_truth_and_are_close(name, accountant):
    event, (p, q) = CASES[name]
    noise = 0.414
    run = (event + Laplace(noise)).canonical()
    for relation, first, second in ((Relation.REMOVE, p, q), (Relation.ADD, q, p)):
        for epsilon in (0.0, 0.3, 1.5):
            truth = beside_laplace(first, second, 1.0 / noise, epsilon)
            found = accountant.answer(run, DeltaAt(epsilon), (relation,)).interval
            assert found.lower <= truth <= found.upper
            assert found.upper - found.lower < 1e-3 * truth, (relation, epsilon)
        for delta in (0.01, 0.2):
            if beside_laplace(first, second, 1.0 / noise, 50.0) >= delta:
                continue
            truth = root(first, second, 1.0 / noise, delta)
            found = accountant.answer(run, EpsilonAt(delta), (relation,)).interval
            assert found.lower <= truth * (1.0 + 1e-12)
            assert truth <= found.upper * (1.0 + 1e-12)
            assert found.upper - found.lower < 1e-3 * truth, (relation, delta)


@pytest.mark.parametrize("accountant", ACCOUNTANTS, ids=repr)
def test_where_delta_is_the_mass_itself(accountant):
    run = (FinitePair((0.5, 0.5), (0.0, 1.0)) + Laplace(1.0)).canonical()
    relation = (Relation.REMOVE,)
    assert accountant.answer(run, EpsilonAt(0.4999), relation).interval.lower == math.inf
    assert accountant.answer(run, EpsilonAt(0.5001), relation).interval.upper < 2.0
    assert accountant.answer(run, DeltaAt(40.0), relation).interval.lower == pytest.approx(0.5, rel=1e-12)


def test_infinite_losses_that_are_no_part_of_delta_leave_the_ends_close():
    """They have probability 1e-157 here, and delta is 0.7."""
    event = (ApproximateDP(8.9, 2e-159) * 11).on(Poisson(3.9e-7)) * 6_400_000 + Gaussian(10.0)
    ends = LossGrid().answer(event.canonical(), DeltaAt(90.0), (Relation.REMOVE,)).interval
    assert 0.7 < ends.lower <= ends.upper <= 1.001 * ends.lower
