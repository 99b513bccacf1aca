"""What each notion loses on one event."""

from __future__ import annotations

import math

import pytest

from renyi import ApproximateDP, Gaussian, InvalidInput, Laplace, Poisson
from renyi.papers.exposition.notions import notions


def costs(event, delta=1e-5):
    return {row.name: row.epsilon for row in notions(event, delta=delta)}


def test_gaussian_noise_loses_only_in_the_conversion():
    """zCDP and CDP describe it exactly: 5.2985 by their conversion, 4.7285 by a better one, 4.3772 in truth."""
    found = costs(Gaussian(10.0) * 100)
    assert found["pure DP"] == math.inf
    assert found["CDP"] == pytest.approx(5.298526, rel=1e-6)
    assert found["zCDP"] == pytest.approx(5.298526, rel=1e-6)
    assert found["RDP"] == pytest.approx(4.7284, rel=1e-4)
    assert found["exact"] == pytest.approx(4.377178, rel=1e-6)
    assert found["(epsilon, delta)-DP"] == pytest.approx(28.47, rel=1e-3)


def test_a_sampled_gaussian_is_tcdp_but_hardly_zcdp():
    found = costs(Gaussian(1.1).on(Poisson(256 / 60_000)) * 14_063)
    assert found["exact"] < found["RDP"] < found["tCDP"] < 3.1
    assert found["CDP"] > 100
    assert found["zCDP"] > 1000


def test_laplace_noise_is_better_described_by_its_level_than_by_its_moments():
    found = costs(Laplace(10.0) * 1000)
    assert (
        found["exact"] < found["(epsilon, delta)-DP"] < found["RDP"] < found["CDP"] < found["zCDP"] < found["pure DP"]
    )


def test_a_failure_has_no_moments():
    found = costs(ApproximateDP(0.1, 1e-9) * 100)
    assert found["CDP"] == found["zCDP"] == found["tCDP"] == found["pure DP"] == math.inf
    assert found["(epsilon, delta)-DP"] == pytest.approx(found["exact"], rel=1e-9)


def test_no_description_is_below_the_truth():
    for event in (Gaussian(3.0) * 7, Laplace(2.0).on(Poisson(0.1)) * 30, Gaussian(2.0) + Laplace(4.0)):
        found = costs(event, 1e-6)
        assert min(found.values()) == found["exact"]


def test_delta_0_is_refused():
    with pytest.raises(InvalidInput, match="delta > 0"):
        notions(Gaussian(1.0), delta=0.0)
