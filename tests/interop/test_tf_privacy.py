"""TF-Privacy's arguments: the same two runs as its statement, with exact numbers."""

from __future__ import annotations

import math

import pytest

import renyi
from renyi import Adjacency, Gaussian, GaussianDP, Grouped, InvalidInput, Poisson, Shuffled
from renyi.interop import from_tf_privacy

MNIST = {"number_of_examples": 60_000, "batch_size": 256, "num_epochs": 60, "noise_multiplier": 1.1, "delta": 1e-5}


def test_the_two_runs_of_the_statement():
    found = from_tf_privacy(**MNIST, used_microbatching=False)
    assert found.poisson.event == Gaussian(1.1).on(Poisson(256 / 60_000)) * 14_063
    assert found.poisson.adjacency is Adjacency.ADD_OR_REMOVE
    assert found.shuffled.event == Gaussian(1.1).on(Shuffled(235)) * 60
    assert found.shuffled.adjacency is Adjacency.ZERO_OUT
    once_per_epoch = renyi.epsilon(Gaussian(1.1) * 60, delta=1e-5)
    assert found.shuffled.epsilon.upper == pytest.approx(once_per_epoch, rel=1e-9)
    assert found.shuffled.epsilon.lower > found.poisson.epsilon.upper
    first, second = str(found).splitlines()
    assert first == str(found.shuffled)
    assert second.startswith("Only if batches were Poisson samples: 14,063 steps")


def test_microbatches_double_the_sensitivity_unless_they_are_denied():
    assert from_tf_privacy(**MNIST) == from_tf_privacy(**{**MNIST, "noise_multiplier": 0.55}, used_microbatching=False)


def test_part_of_an_epoch_costs_as_much_as_a_whole_one_and_has_no_lower_end():
    found = from_tf_privacy(**{**MNIST, "num_epochs": 1.5, "noise_multiplier": 2.0}, used_microbatching=False)
    assert found.poisson.event == Gaussian(2.0).on(Poisson(256 / 60_000)) * 352
    assert found.shuffled.event == Gaussian(2.0).on(Shuffled(235)) + GaussianDP(0.5, Adjacency.ZERO_OUT)


def test_users_with_several_examples():
    found = from_tf_privacy(**{**MNIST, "noise_multiplier": 4.0}, used_microbatching=False, max_examples_per_user=2)
    assert found.poisson.event == Grouped(Gaussian(4.0).on(Poisson(256 / 60_000)), 2) * 14_063
    assert found.shuffled.event == GaussianDP(0.5, Adjacency.ZERO_OUT) * 60
    assert "for one user blanked out" in str(found.shuffled)
    one = from_tf_privacy(**MNIST, max_examples_per_user=1)
    assert one == from_tf_privacy(**MNIST)


def test_no_noise_and_no_epochs():
    for users in (None, 3):
        bare = from_tf_privacy(**{**MNIST, "noise_multiplier": 0.0}, max_examples_per_user=users)
        assert bare.shuffled.epsilon.upper == bare.poisson.epsilon.upper == math.inf
    nothing = from_tf_privacy(**{**MNIST, "num_epochs": 0})
    assert nothing.shuffled.epsilon.upper == nothing.poisson.epsilon.upper == 0.0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"batch_size": 60_001}, "at most number_of_examples"),
        ({"batch_size": 0}, "batch_size"),
        ({"number_of_examples": 1e4}, "Write 10000"),
        ({"num_epochs": -1}, "num_epochs"),
        ({"noise_multiplier": "1"}, "noise_multiplier"),
        ({"delta": 2.0}, "delta"),
        ({"used_microbatching": 1}, "used_microbatching"),
        ({"max_examples_per_user": 0}, "max_examples_per_user"),
    ],
)
def test_wrong_arguments_are_refused_by_name(wrong, message):
    with pytest.raises(InvalidInput, match=message):
        from_tf_privacy(**{**MNIST, **wrong})
