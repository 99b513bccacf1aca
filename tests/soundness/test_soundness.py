"""A hundredth of the soundness campaign, and the committed result of the whole."""

from __future__ import annotations

import json
import math

from flint import arb

from renyi import Gaussian, Poisson, Relation
from renyi.composing.event_laws import renyi_curve
from tests import examples
from tests.sampling.reference import sampled_gaussian_ball
from tests.soundness import campaign, reference


def test_a_hundredth_of_the_campaign():
    result = campaign.run(examples.SEED, 0.01, processes=1)
    assert result["points"] >= 1200
    assert result["failures"] == [], f"seed {examples.SEED}"


def test_the_committed_campaign_found_nothing_below_the_truth():
    document = json.loads(campaign.RESULT.read_text(encoding="utf-8"))
    assert document["failures"] == []
    assert document["points"] >= 120_000
    assert document["kinds"]["sampled Gaussian"]["points"] == 100_000
    assert document["kinds"]["sampled Gaussian"]["farthest above"] <= 1e-10
    assert not [kind for kind in document["kinds"] if "undecided" in kind]


def test_the_judge_condemns():
    """A number one part in 1e13 too small, or one in 1e9 too large, or an enclosure too wide, is a failure."""
    truth = arb(2).sqrt()
    assert not campaign.judged("", math.sqrt(2) * (1 + 1e-12), truth, "").bad
    assert campaign.judged("", math.sqrt(2) * (1 - 1e-13), truth, "").bad
    assert campaign.judged("", math.sqrt(2) * (1 + 1e-9), truth, "").bad
    assert campaign.judged("", 2.0, truth + arb(0, 0.1), "").bad


def test_two_references_agree():
    """The trapezoidal sum with its proven error against rigorous adaptive integration."""
    for rate, noise, order in [(0.01, 1.0, 7.3), (1e-6, 0.3, 2.5), (0.9, 4.0, 60.0), (1e-4, 30.0, 900.0)]:
        for adding in (False, True):
            relation = Relation.ADD if adding else Relation.REMOVE
            guess = renyi_curve(Gaussian(noise).on(Poisson(rate)), relation).at(order)
            ball = reference.sampled_gaussian(rate, noise, order, adding=adding, beside=guess)
            assert abs(float(ball.mid()) / sampled_gaussian_ball(rate, noise, order, adding=adding) - 1) < 1e-14
