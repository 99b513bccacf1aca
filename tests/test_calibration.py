"""Calibration is on the safe side, and close."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

import renyi
from renyi import (
    ExponentialMechanism,
    Gaussian,
    Laplace,
    Mechanism,
    Poisson,
    PureDP,
    RandomizedResponse,
    calibrate,
    noise_multiplier,
)
from renyi.accountants.accountant import Accountant
from renyi.accountants.best import Best
from renyi.composing.question import EpsilonAt
from renyi.laws.pair import FiniteLossPair
from tests.attacks import sampled_gaussian_tpr


@settings(max_examples=25, deadline=None)
@given(st.floats(0.05, 20.0), st.floats(-30.0, -2.0), st.floats(-4.0, 0.0), st.integers(1, 100_000))
def test_noise_meets_the_target_and_a_little_less_does_not(epsilon, log_delta, log_rate, steps):
    delta, rate = 10.0**log_delta, 10.0**log_rate
    noise = noise_multiplier(epsilon=epsilon, delta=delta, rate=rate, steps=steps)

    def cost(sigma):
        return renyi.epsilon(Gaussian(sigma).on(Poisson(rate)) * steps, delta=delta)

    assert cost(noise) <= epsilon
    assert noise == 0.0 or cost(noise * (1 - 1e-6)) > epsilon * (1 - 1e-9)


def test_steps():
    step = Gaussian(1.0).on(Poisson(0.01))
    count = calibrate(lambda n: step * n, epsilon=2.0, delta=1e-5, integer=True)
    assert isinstance(count, int)
    assert renyi.epsilon(step * count, delta=1e-5) <= 2.0 < renyi.epsilon(step * (count + 1), delta=1e-5)


def test_no_steps_at_all_if_one_is_too_dear():
    assert calibrate(lambda n: Gaussian(0.5) * n, epsilon=0.1, delta=1e-9, integer=True) == 0


def test_rate():
    def run(rate):
        return Gaussian(1.0).on(Poisson(rate)) * 1000

    rate = calibrate(run, epsilon=2.0, delta=1e-5)
    assert renyi.epsilon(run(rate), delta=1e-5) <= 2.0 < renyi.epsilon(run(rate * (1 + 1e-6)), delta=1e-5)


def test_a_target_that_every_rate_meets_gives_the_largest():
    assert calibrate(lambda q: Gaussian(10.0).on(Poisson(q)), epsilon=20.0, delta=1e-5) == 1.0


def test_pure_dp():
    scale = calibrate(lambda b: Laplace(b) * 10, epsilon=2.0, delta=0.0)
    assert scale == pytest.approx(5.0, rel=1e-8)
    assert renyi.epsilon(Laplace(scale) * 10, delta=0.0) <= 2.0


def test_one_parameter_of_an_unlike_run():
    run = Gaussian(2.0).on(Poisson(0.01)) * 1000

    def make(b):
        return run + Laplace(b) * 3

    scale = calibrate(make, epsilon=1.5, delta=1e-6)
    assert renyi.epsilon(make(scale), delta=1e-6) <= 1.5 < renyi.epsilon(make(scale * (1 - 1e-6)), delta=1e-6)


def test_probability_within_bounds():
    p = calibrate(lambda p: RandomizedResponse(p) * 10, epsilon=2.0, delta=1e-5, low=0.5, high=1.0)
    assert 0.5 < p < 1.0
    assert renyi.epsilon(RandomizedResponse(p) * 10, delta=1e-5) <= 2.0


@dataclass(frozen=True, slots=True)
class Wavy(Mechanism):
    """Costs less with more noise on the whole, but more between 1 and 1.2; not declared monotone."""

    name = "test_wavy"
    noise: float

    @classmethod
    def examples(cls):
        return (cls(1.0),)

    def pair(self, relation):
        level = 1.0 / self.noise + (2.0 if 1.0 < self.noise < 1.2 else 0.0)
        return RandomizedResponse(1.0 / (1.0 + 2.718281828459045**-level)).pair(relation)


def test_a_cost_that_is_not_monotone_is_scanned():
    noise = calibrate(Wavy, epsilon=1.5, delta=0.0)
    assert renyi.epsilon(Wavy(noise), delta=0.0) <= 1.5
    assert noise >= 1.2 - 0.05  # beyond the bump, not before it (where 0.67 would do)
    assert isinstance(Wavy(1.0).pair(renyi.Relation.REMOVE), FiniteLossPair)


@dataclass(frozen=True, slots=True)
class Asked(Accountant):
    """The default, which writes down every event it was asked for."""

    events: list[renyi.Event]

    def answer(self, event, question, relations):
        self.events.append(event)
        return Best().answer(event, question, relations)


def test_a_search_ends_with_the_value_that_costs_what_was_predicted():
    """Where the cost is smooth: fewer answers than closing in from both sides would take, and no looser for it."""
    asked = Asked([])
    noise = calibrate(lambda x: Gaussian(x) + Laplace(5.0), epsilon=1.5, delta=1e-6, accountant=asked)
    assert renyi.epsilon(Gaussian(noise) + Laplace(5.0), delta=1e-6) <= 1.5
    assert renyi.epsilon(Gaussian(noise * (1 - 2e-9)) + Laplace(5.0), delta=1e-6) > 1.5
    assert len(asked.events) <= 8


def test_a_cost_with_a_step_at_the_limit_is_closed_in_on():
    """The cost is the limit itself between 2 and 3: the smallest value that meets it is 2, not where it begins to fall."""

    def make(x):
        return PureDP(2.0 / x if x < 2.0 else 1.0 if x < 3.0 else 3.0 / x)

    assert calibrate(make, epsilon=1.0, delta=0.0, low=0.5, high=50.0) == pytest.approx(2.0, rel=1e-8)


def test_two_parameters_that_pull_in_opposite_directions_are_scanned():
    def make(x):
        return Gaussian(x) + Laplace(20.0 / x)

    x = calibrate(make, epsilon=3.0, delta=1e-6, low=1.0, high=12.0)
    assert renyi.epsilon(make(x), delta=1e-6) <= 3.0


def test_steps_that_cost_nothing_at_first():
    """One or two steps cost 0 at so large a delta; the direction comes from what is declared, not from comparing."""
    step = Gaussian(50.0)
    count = calibrate(lambda n: step * n, epsilon=0.5, delta=0.1, integer=True)
    assert renyi.epsilon(step, delta=0.1) == renyi.epsilon(step * 2, delta=0.1) == 0.0
    assert renyi.epsilon(step * count, delta=0.1) <= 0.5 < renyi.epsilon(step * (count + 1), delta=0.1)


def test_a_function_that_ignores_its_argument_is_told_so():
    with pytest.raises(renyi.CalibrationError, match="does not depend"):
        calibrate(lambda x: Gaussian(1.0), epsilon=1.0, delta=1e-6)


@pytest.mark.parametrize(
    "make", [Gaussian, lambda s: Gaussian(s).on(Poisson(0.01)) * 1000, Laplace], ids=["G", "SG", "L"]
)
@pytest.mark.parametrize(
    "target", [{"advantage": 0.1}, {"tpr": 0.05, "fpr": 0.01}, {"success": 0.6, "prior": 0.45}], ids=repr
)
def test_noise_that_meets_a_risk_and_a_little_less_does_not(make, target):
    noise = calibrate(make, **target)

    def reached(x):
        found = renyi.risk(make(x))
        if "advantage" in target:
            return found.advantage.upper, target["advantage"]
        if "tpr" in target:
            return found.true_positive_rate(target["fpr"]).upper, target["tpr"]
        return found.success(target["prior"]).upper, target["success"]

    upper, limit = reached(noise)
    assert upper <= limit
    upper, limit = reached(noise * (1 - 1e-6))
    assert upper > limit * (1 - 1e-9)


@pytest.mark.parametrize(("tpr", "fpr"), [(0.6, 0.3), (0.45, 0.4), (0.9, 0.7)])
def test_noise_for_a_rate_is_no_larger_than_the_best_tests_ask_for(tpr, fpr):
    """On a sample the two orders of the datasets have curves of their own, and the better of their best tests decides."""
    noise = calibrate(lambda s: Gaussian(s).on(Poisson(0.5)), tpr=tpr, fpr=fpr)
    reached = max(sampled_gaussian_tpr(noise, 0.5, fpr))
    assert tpr * (1 - 1e-8) <= reached <= tpr


def test_risks_of_gaussian_noise_in_closed_form():
    assert calibrate(Gaussian, advantage=0.1) == pytest.approx(1 / (2 * float(ndtri(0.55))), rel=1e-8)
    gap = float(ndtri(0.05) - ndtri(0.01))
    assert calibrate(Gaussian, tpr=0.05, fpr=0.01) == pytest.approx(1 / gap, rel=1e-8)
    assert calibrate(Gaussian, success=0.6, prior=0.5) == pytest.approx(1 / (2 * float(ndtri(0.6))), rel=1e-8)


def test_steps_and_probabilities_for_a_risk():
    step = Gaussian(5.0)
    count = calibrate(lambda n: step * n, advantage=0.2, integer=True)
    assert renyi.risk(step * count).advantage.upper <= 0.2 < renyi.risk(step * (count + 1)).advantage.upper
    assert calibrate(RandomizedResponse, tpr=0.05, fpr=0.01, low=0.5, high=1.0) == pytest.approx(5 / 6, rel=1e-8)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ({}, "one target"),
        ({"epsilon": 1.0}, "epsilon and delta"),
        ({"tpr": 0.1}, "tpr and fpr"),
        ({"prior": 0.1}, "success and prior"),
        ({"epsilon": 1.0, "delta": 1e-5, "advantage": 0.1}, "advantage=0.1"),
        ({"advantage": 1.5}, "advantage must be in"),
        ({"tpr": 0.001, "fpr": 0.01}, "at least fpr"),
        ({"success": 0.6, "prior": 0.3}, "at least max"),
    ],
    ids=repr,
)
def test_a_target_that_makes_no_sense_is_explained(target, words):
    with pytest.raises(renyi.InvalidInput, match=words):
        calibrate(Gaussian, **target)


def test_a_risk_that_nothing_meets_is_told():
    with pytest.raises(renyi.CalibrationError, match="no value meets an advantage <= 0"):
        calibrate(Gaussian, advantage=0.0)


@dataclass(frozen=True, slots=True)
class Counting(Accountant):
    """The default, which writes down how many relations it was asked for."""

    asked: list[int]

    def answer(self, event, question, relations):
        if isinstance(question, EpsilonAt):
            self.asked.append(len(relations))
        return Best().answer(event, question, relations)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_training_noise_takes_a_few_answers_and_ends_with_all_relations(epsilon):
    counting = Counting([])
    noise_multiplier(epsilon=epsilon, delta=1e-5, rate=0.01, steps=10_000, accountant=counting)
    assert len(counting.asked) <= 6
    assert counting.asked[-1] == 2


@pytest.mark.parametrize("adjacency", list(renyi.Adjacency))
@pytest.mark.parametrize("accountant", [None, renyi.Rdp()])
def test_noise_for_each_adjacency_and_by_another_accountant(adjacency, accountant):
    def cost(noise):
        run = Gaussian(noise).on(Poisson(0.02)) * 500
        return renyi.epsilon(run, delta=1e-6, adjacency=adjacency, accountant=accountant)

    noise = noise_multiplier(epsilon=2.0, delta=1e-6, rate=0.02, steps=500, adjacency=adjacency, accountant=accountant)
    assert cost(noise) <= 2.0 < cost(noise * (1 - 1e-8))


@pytest.mark.parametrize(
    ("epsilon", "delta", "rate", "steps"),
    [
        (1e-9, 1e-5, 0.01, 100),
        (1e4, 1e-5, 0.01, 100),
        (1.0, 1e-300, 1.0, 3),
        (0.5, 0.4, 0.1, 50),
        (1.0, 1e-5, 1e-9, 10**9),
    ],
)
def test_noise_at_the_edges_meets_the_target(epsilon, delta, rate, steps, monkeypatch):
    """In few questions: sums on lattices jitter by 1e-8, and where that was taken for the cost 32 noises were tried."""
    asked, answer = [], Best.answer
    monkeypatch.setattr(Best, "answer", lambda *given: asked.append(given) or answer(*given))
    noise = noise_multiplier(epsilon=epsilon, delta=delta, rate=rate, steps=steps)
    assert len(asked) <= 20
    assert renyi.epsilon(Gaussian(noise).on(Poisson(rate)) * steps, delta=delta) <= epsilon


@pytest.mark.parametrize(("rate", "steps"), [(0.0, 10), (0.5, 0)])
def test_nothing_needs_no_noise(rate, steps):
    assert noise_multiplier(epsilon=0.0, delta=0.0, rate=rate, steps=steps) == 0.0


@pytest.mark.parametrize(("epsilon", "optimum"), [(0.1, 30.77267), (1.0, 3.812817), (8.0, 0.8825285)])
def test_training_noise_is_the_known_optimum(epsilon, optimum):
    """The optima are from outside of this library, to seven digits."""
    found = noise_multiplier(epsilon=epsilon, delta=1e-5, rate=0.01, steps=10_000)
    assert found == pytest.approx(optimum, rel=1e-7)


@pytest.mark.parametrize("delta", [0.0, 1e-300, 1e-20])
@pytest.mark.parametrize(
    ("step", "count"),
    [(Laplace(2.0), 2), (Laplace(10.0), 10), (Laplace(3.0), 3), (PureDP(0.25), 4), (ExponentialMechanism(0.5), 2)],
    ids=repr,
)
def test_a_sum_of_pure_losses_that_meets_the_target_exactly_fits(step, count, delta):
    found = calibrate(lambda n: step * n, epsilon=1.0, delta=delta, integer=True)
    assert found == count
    assert renyi.epsilon(step * found, delta=delta) <= 1.0


def test_a_sum_that_exceeds_the_target_by_less_than_a_rounding_does_not_fit():
    """The float 0.1 is more than a tenth, so that ten of it are more than 1, if by 6e-17."""
    assert calibrate(lambda n: PureDP(0.1) * n, epsilon=1.0, delta=0.0, integer=True) == 9
    assert calibrate(lambda n: Laplace(math.nextafter(2.0, 0.0)) * n, epsilon=1.0, delta=0.0, integer=True) == 1


def test_no_largest_number_is_claimed_where_the_search_ended_first():
    with pytest.raises(renyi.CalibrationError, match=r"every value that was tried meets epsilon <= 1 .* up to 1e\+15"):
        calibrate(lambda n: Gaussian(1e9) * n, epsilon=1.0, delta=1e-5, integer=True)
    with pytest.raises(renyi.CalibrationError, match=r"up to 1e\+300"):
        calibrate(lambda x: Gaussian(1.0).on(Poisson(x / (1.0 + x))), epsilon=10.0, delta=1e-5)
    assert calibrate(lambda n: Gaussian(1e9) * n, epsilon=1.0, delta=1e-5, high=10**12, integer=True) == 10**12


@pytest.mark.parametrize("rate", [0.0, 256 / 60000, 0.999])
def test_a_rate_without_steps_is_asked_for_them(rate):
    with pytest.raises(renyi.InvalidInput, match=r"steps must be given beside rate=.* steps=1 for a single one"):
        noise_multiplier(epsilon=1.0, delta=1e-5, rate=rate)


def test_without_a_sampling_one_release_is_the_default():
    assert noise_multiplier(epsilon=1.0, delta=1e-5) == noise_multiplier(epsilon=1.0, delta=1e-5, steps=1)
    assert noise_multiplier(epsilon=1.0, delta=1e-5, rate=1.0) == noise_multiplier(epsilon=1.0, delta=1e-5)
