"""A plan: public constants, checked when made, calibrated on the safe side, the same after JSON."""

from __future__ import annotations

import dataclasses
import math

import pytest

import renyi
from renyi import Adjacency, Gaussian, InvalidInput, Poisson, UnsupportedError
from renyi.training import AdaptiveClip, Plan, Schedule
from renyi.training.planning.clip import LayerClip
from tests.training.support import plan


def test_a_plan_says_what_one_step_and_all_steps_release():
    made = plan(noise_multiplier=1.5, steps=7)
    assert made.event(3) == Gaussian(1.5).on(Poisson(0.3))
    assert made.events() == Gaussian(1.5).on(Poisson(0.3)) * 7
    assert made.events(2, 5) == Gaussian(1.5).on(Poisson(0.3)) * 3
    assert made.cost() == renyi.epsilon(made.events(), delta=1e-5)


@pytest.mark.parametrize("target", [0.3, 1.0, 3.0, 10.0])
def test_calibration_is_on_the_safe_side_and_close(target):
    made = plan(noise_multiplier=None, epsilon=target, steps=100)
    assert target * (1 - 1e-6) <= made.cost() <= target
    assert made.noise_multiplier == pytest.approx(
        renyi.noise_multiplier(epsilon=target, delta=1e-5, rate=0.3, steps=100), rel=1e-8
    )


def test_calibration_with_a_schedule_and_an_adaptive_clip_counts_everything():
    schedule = Schedule.pieces((50, 1.0), (50, 0.8))
    made = plan(
        noise_multiplier=None,
        epsilon=2.0,
        steps=100,
        noise_schedule=schedule,
        clip=AdaptiveClip(1.0, count_noise_multiplier=12.0),
    )
    sigma = made.noise_multiplier
    by_hand = (Gaussian(sigma) + Gaussian(12.0)).on(Poisson(0.3)) * 50
    by_hand = by_hand + (Gaussian(sigma * 0.8) + Gaussian(12.0)).on(Poisson(0.3)) * 50
    assert made.events() == by_hand
    assert 1.999 < renyi.epsilon(by_hand, delta=1e-5) <= 2.0


def test_the_count_of_adaptive_clipping_is_inside_the_one_sampled_event():
    made = plan(clip=AdaptiveClip(1.0, count_noise_multiplier=1.0), sampling=Poisson(0.01), steps=1000)
    apart = Gaussian(1.0).on(Poisson(0.01)) * 2000
    assert made.event(0) == (Gaussian(1.0) + Gaussian(1.0)).on(Poisson(0.01))
    assert made.cost() > 1.5 * renyi.epsilon(apart, delta=1e-5)  # what booking the two apart would have claimed


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"noise_multiplier": None, "epsilon": 2.0},
        {"clip": {"0": 0.5, "2": 1.0}},
        {"clip": AdaptiveClip(0.7, quantile=0.4, rate=0.3, count_noise_multiplier=9.0)},
        {
            "noise_schedule": Schedule.cosine(1.0, 0.5, steps=6),
            "learning_rate_schedule": Schedule.linear(0.1, 1.0, steps=3),
        },
        {"adjacency": Adjacency.ZERO_OUT, "unit": "person"},
    ],
    ids=str,
)
def test_json_both_ways(change):
    made = plan(**change)
    again = Plan.from_json(made.to_json())
    assert again == made
    assert again.hash == made.hash
    assert hash(again) == hash(made)


def test_every_constant_is_in_the_hash():
    changes = [
        {"sampling": Poisson(0.31)},
        {"steps": 7},
        {"clip": 1.1},
        {"clip": {"0": 1.0}},
        {"expected_batch": 19},
        {"noise_multiplier": 1.1},
        {"delta": 2e-5},
        {"unit": "person"},
        {"adjacency": Adjacency.ZERO_OUT},
        {"noise_schedule": Schedule.pieces((1, 1.0))},
        {"learning_rate_schedule": Schedule.pieces((1, 1.0))},
        {"epsilon": 50.0},
    ]
    assert len({plan().hash, *(plan(**change).hash for change in changes)}) == len(changes) + 1


def test_a_plan_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        plan().clip = 2.0


def test_epochs_give_rate_and_steps_rounded_up():
    made = Plan.from_epochs(epochs=60, batch_size=256, dataset_size=60_000, clip=1.0, noise_multiplier=1.1, delta=1e-5)
    assert (made.steps, made.sampling, made.expected_batch) == (14063, Poisson(256 / 60_000), 256.0)
    assert round(made.cost(), 4) == 2.3817
    with pytest.raises(InvalidInput, match="at most dataset_size"):
        Plan.from_epochs(epochs=1, batch_size=20, dataset_size=10, clip=1.0, noise_multiplier=1.1, delta=1e-5)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sampling": 0.01}, "Poisson(rate=0.01)"),
        ({"sampling": "shuffle"}, "Shuffled or fixed-size"),
        ({"sampling": Poisson(0.0)}, "never draws anybody"),
        ({"steps": 0}, "steps must be an integer >= 1"),
        ({"steps": 2.0}, "Write 2."),
        ({"clip": 0}, "clip must be above 0"),
        ({"clip": -1.0}, "clip must be a finite number >= 0"),
        ({"clip": {}}, "at least one bound"),
        ({"expected_batch": 0}, "expected_batch must be above 0"),
        ({"delta": 1.0}, "delta must be in [0, 1)"),
        ({"noise_multiplier": None}, "needs noise_multiplier, or a target epsilon"),
        ({"noise_multiplier": -1.0}, "noise_multiplier must be"),
        ({"epsilon": 0.001}, "Give only one of the two"),
        ({"unit": ""}, "whom the guarantee protects"),
        ({"adjacency": "neighbours"}, "Adjacency"),
        ({"adjacency": Adjacency.REPLACE_ONE}, "no theorem here for replace-one"),
        ({"noise_schedule": 0.5}, "must be a Schedule"),
    ],
    ids=str,
)
def test_errors_teach(change, words):
    with pytest.raises((InvalidInput, UnsupportedError)) as caught:
        plan(**change)
    assert words in str(caught.value)


def test_replace_one_and_zero_out_where_there_is_a_theorem():
    full = plan(sampling=Poisson(1.0), adjacency=Adjacency.REPLACE_ONE, steps=3)
    assert full.cost() == renyi.epsilon(Gaussian(1.0) * 3, delta=1e-5, adjacency=Adjacency.REPLACE_ONE)
    assert plan(adjacency=Adjacency.ZERO_OUT).cost() == plan().cost()


def test_no_noise_is_accepted_and_costs_infinity():
    assert plan(noise_multiplier=0.0).cost() == math.inf


@pytest.mark.parametrize(
    "text", ["", "3", "{}", '{"format": "renyi-plan", "version": 2}', plan().to_json()[:-1] + ', "x": 1}']
)
def test_what_is_not_a_plan(text):
    with pytest.raises(InvalidInput):
        Plan.from_json(text)


def test_schedules():
    warm = Schedule.linear(0.0, 1.0, steps=10, levels=5).then(Schedule.pieces((5, 0.5)))
    assert [warm.at(step) for step in (0, 1, 2, 9, 10, 14, 1000)] == [0.0, 0.0, 0.25, 1.0, 0.5, 0.5, 0.5]
    assert list(warm.between(9, 20)) == [(1, 1.0), (5, 0.5), (5, 0.5)]
    for start, stop in [(0, 15), (3, 4), (2, 40), (14, 16), (20, 30), (5, 5)]:
        assert sum(count for count, _ in warm.between(start, stop)) == stop - start
        spread = [factor for count, factor in warm.between(start, stop) for _ in range(count)]
        assert spread == [warm.at(step) for step in range(start, stop)]
    cosine = Schedule.cosine(1.0, 0.0, steps=1000)
    assert len(cosine.runs) == 100
    assert cosine.at(0) == 1.0
    assert cosine.at(999) == pytest.approx(0.0, abs=1e-12)
    for bad in ((), 3, ((0, 1.0),), ((1, -1.0),), ((1, 2, 3),)):
        with pytest.raises(InvalidInput):
            Schedule(bad)


def test_a_parameter_belongs_to_the_longest_name_it_lies_in():
    clip = LayerClip((("net", 3.0), ("net.0", 4.0)))
    assert clip.groups(["net.0.weight", "net.01.weight", "net.1.bias"]) == (
        (("net.01.weight", "net.1.bias"), 3.0),
        (("net.0.weight",), 4.0),
    )
    assert clip.bound == 5.0
    with pytest.raises(InvalidInput, match=r"head.weight has no clip bound"):
        clip.groups(["net.0.weight", "head.weight"])
    with pytest.raises(InvalidInput, match="no trainable parameter lies there"):
        clip.groups(["net.1.weight"])


@pytest.mark.parametrize(
    ("change", "warning"),
    [
        ({"delta": 0.3}, r"delta=0.3 is above 1/n = 0.01 for the declared dataset of 100 units"),
        ({"expected_batch": 1}, r"expected_batch=1 is far from rate x n = 30 for the declared dataset of 100 units"),
        ({"expected_batch": 100}, r"expected_batch=100 is far from rate x n = 30 .* 0.3 times as long"),
    ],
)
def test_constants_that_are_unusual_for_a_declared_dataset_are_remarked(change, warning):
    usual = {"expected_batch": 30, "dataset_size": 100}
    with pytest.warns(UserWarning, match=warning) as warned:
        made = plan(**(usual | change))
    assert warned[0].filename == plan.__code__.co_filename  # the line that makes the plan
    assert made == plan(**({"expected_batch": 30} | change))  # what is declared changes nothing
    assert plan(**usual) == plan(expected_batch=30)
    with pytest.raises(InvalidInput, match="dataset_size"):
        plan(dataset_size=0)


def test_a_plan_from_epochs_remarks_a_large_delta():
    given = {"epochs": 1, "batch_size": 10, "dataset_size": 1000, "clip": 1.0, "noise_multiplier": 1.0}
    with pytest.warns(UserWarning, match="above 1/n"):
        Plan.from_epochs(**given, delta=0.01)
    Plan.from_epochs(**given, delta=1e-4)
