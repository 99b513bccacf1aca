"""A part of the accountants' campaign, the committed result of the whole, and its judges."""

from __future__ import annotations

import json

import numpy as np
import pytest

from renyi import Adjacency, Gaussian, Interval
from renyi.events.mechanism import MECHANISMS
from tests import examples
from tests.soundness import campaign, exact_campaign, random_events, reference

SHARE = 100 if examples.FULL else 300
"""One point in so many of the whole campaign is asked here."""


def test_a_part_of_the_gaussian_compositions():
    numbers = range(exact_campaign.GAUSSIAN_POINTS // SHARE)
    outcomes = [exact_campaign.check_gaussian(examples.SEED, number) for number in numbers]
    assert [(o.number, o.point, o.failures) for o in outcomes if o.failures] == [], f"seed {examples.SEED}"


@pytest.mark.parametrize("part", range(4))
def test_a_part_of_the_events(part):
    """Numbers decide what is asked besides the answer: consecutive ones ask everything."""
    size = exact_campaign.POINTS // SHARE // 4
    numbers = range(size * part, size * (part + 1))
    outcomes = [exact_campaign.check(examples.SEED, number) for number in numbers]
    assert [(o.number, o.point, o.failures) for o in outcomes if o.failures] == [], f"seed {examples.SEED}"


def test_the_committed_campaign_left_no_fault():
    found = json.loads(campaign.RESULT.read_text(encoding="utf-8"))["accountants"]
    assert exact_campaign.failures(found) == []
    assert found["points"]["points"] == exact_campaign.POINTS
    assert found["Gaussian compositions"]["points"] == exact_campaign.GAUSSIAN_POINTS
    assert found["points"]["peak memory in MB"] < exact_campaign.MOST_MEMORY
    assert set(found["points"]["parameters moved"]) >= {"count", "Poisson.rate", "Gaussian.noise_multiplier"}


def test_every_mechanism_is_drawn():
    rng = np.random.default_rng(1)
    drawn = {
        type(mechanism)
        for _ in range(400)
        for term in random_events.terms(rng, Adjacency.ADD_OR_REMOVE)
        for mechanism, _ in term.releases
    }
    ours = {MECHANISMS.get(name) for name in MECHANISMS.names()}
    assert drawn == {cls for cls in ours if cls.__module__.startswith("renyi.")}


def test_a_point_depends_on_its_seed_and_number_alone():
    assert str(exact_campaign.point(7, 12)) == str(exact_campaign.point(7, 12))
    assert str(exact_campaign.point(7, 12)) != str(exact_campaign.point(8, 12))


def test_the_judges_condemn():
    """A default above another accountant, ends that contradict each other, a delta above one."""
    good, low, high = Interval(1.0, 2.0), Interval(0.0, 0.5), Interval(1.0, 3.0)
    assert not list(exact_campaign._ordered({"default": good, "Rdp": high}, exact_campaign.Findings()))
    assert (
        len(list(exact_campaign._ordered({"default": high, "Rdp": Interval(0.0, 2.0)}, exact_campaign.Findings()))) == 1
    )
    assert len(list(exact_campaign._ordered({"default": low, "Rdp": good}, exact_campaign.Findings()))) == 1
    term = random_events.Term(((Gaussian(1.0), 1),), None, 1)
    at_epsilon = exact_campaign.Question((term,), Adjacency.ADD_OR_REMOVE, None, 1.0)
    assert len(list(exact_campaign._sane(at_epsilon, {"default": good}))) == 1


def test_the_closed_form_decides_at_the_last_digits():
    """Gaussian(2) * 4 is N(1, 1) against N(0, 1): 0.12693673750664397... at epsilon 1 (Balle & Wang 2018, Theorem 8)."""
    parts = [(2.0, 4)]
    assert reference.gaussian_exceeds(parts, 1.0, 0.12693673750664)
    assert not reference.gaussian_exceeds(parts, 1.0, 0.12693673750665)
    assert abs(reference.gaussian_excess(parts, 1.0 + 1e-9, 0.12693673750664397) - 1e-9) < 1e-12
