"""Noise on vectors: the whole shift along one axis is the worst at every level (docs/several-dimensions.md)."""

from __future__ import annotations

import functools
import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from renyi import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace, Relation

ROOT = Path(__file__).parents[2]


def profile(mechanism, level: float) -> float:
    """The pair's hockey-stick divergence at the level e^level, any real level."""
    return float(np.exp(mechanism.pair(Relation.REMOVE).log_profile(np.array([level]))[0]))


def hockey_stick(first: np.ndarray, second: np.ndarray, level: float) -> float:
    return float(np.sum(np.maximum(first - math.exp(level) * second, 0.0)))


def laplace_masses(scale: float, shift: float, edges: np.ndarray) -> np.ndarray:
    """Of the cells between the edges, by the distribution function."""
    z = (edges - shift) / scale
    return np.diff(np.where(z < 0.0, 0.5 * np.exp(np.minimum(z, 0.0)), 1.0 - 0.5 * np.exp(-np.maximum(z, 0.0))))


def in_the_plane(scale: float, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Laplace noise about a point of L1 norm 1, and about the origin, by the masses of small squares.

    Merging outcomes never raises a hockey stick, so the squares give it from below.
    """
    edges = np.arange(-12.0 * scale, 12.0 * scale + 1.0, 0.02 * scale)
    still = laplace_masses(scale, 0.0, edges)
    moved = [laplace_masses(scale, part, edges) for part in (share, 1.0 - share)]
    return np.outer(*moved), np.outer(still, still)


@pytest.mark.parametrize("scale", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("share", [0.05, 0.3, 0.5])
def test_a_divided_shift_of_laplace_noise_is_below_the_pair_at_every_level(scale, share):
    first, second = in_the_plane(scale, share)
    for part in (-0.9, -0.3, 0.0, 0.2, 0.5, 0.8, 0.97):
        level = part / scale
        found, bound = hockey_stick(first, second, level), profile(Laplace(scale), level)
        assert found <= bound
        # Halfway there is room: a pair that were too small by as little would be seen.
        assert part != 0.5 or share != 0.5 or found < 0.98 * bound


@pytest.mark.parametrize("scale", [0.3, 1.0, 4.0])
def test_the_integral_in_the_plane_finds_the_pair_itself_on_an_axis(scale):
    first, second = in_the_plane(scale, 0.0)
    for part in (-0.3, 0.2, 0.5, 0.8):
        level = part / scale
        assert hockey_stick(first, second, level) == pytest.approx(profile(Laplace(scale), level), rel=2e-3)


@pytest.mark.parametrize("angle", [0.0, 0.4, math.pi / 4])
def test_gaussian_noise_looks_the_same_from_all_sides(angle):
    line = np.arange(-8.0, 9.0, 0.02)

    def law(x: float, y: float) -> np.ndarray:
        return np.outer(*(0.02 * np.exp(-0.5 * (line - c) ** 2) / math.sqrt(2.0 * math.pi) for c in (x, y)))

    for level in (0.0, 1.0, 2.5):
        found = hockey_stick(law(math.cos(angle), math.sin(angle)), law(0.0, 0.0), level)
        assert found == pytest.approx(profile(Gaussian(1.0), level), rel=2e-3)
        shorter = hockey_stick(law(0.8 * math.cos(angle), 0.8 * math.sin(angle)), law(0.0, 0.0), level)
        assert shorter < profile(Gaussian(1.0), level)


def discrete_laplace(scale: float, shift: int) -> np.ndarray:
    x = np.arange(-60, 67)
    return math.tanh(0.5 / scale) * np.exp(-np.abs(x - shift) / scale)


@pytest.mark.parametrize("scale", [0.4, 1.0, 3.0])
@pytest.mark.parametrize("shifts", [(1, 1), (1, 2), (2, -2), (1, 5), (1, 1, 1), (0, 2, -1)], ids=repr)
def test_a_divided_shift_of_discrete_laplace_noise_is_below_the_pair_at_every_level(scale, shifts):
    first = functools.reduce(np.multiply.outer, [discrete_laplace(scale, shift) for shift in shifts])
    second = functools.reduce(np.multiply.outer, [discrete_laplace(scale, 0) for _ in shifts])
    length = sum(map(abs, shifts))
    for part in (-0.7, 0.0, 0.1, 0.45, 0.9, 1.0):
        level = part * length / scale
        bound = profile(DiscreteLaplace(scale, sensitivity=length), level)
        assert hockey_stick(first, second, level) <= bound * (1.0 + 1e-9) + 1e-12
    assert hockey_stick(first, second, 0.0) < profile(DiscreteLaplace(scale, sensitivity=length), 0.0)


@pytest.mark.parametrize(("c", "d"), list(itertools.product(range(1, 7), repeat=2)))
def test_two_coordinates_have_less_mass_at_the_ends_and_no_less_between(c, d):
    """The step of the proof, for the factors beside r^k."""
    for r in (0.001, 0.3, 0.7, 0.999):
        one, other = (np.array([1.0, *[1.0 - r] * (shift - 1), 1.0]) for shift in (c, d))
        two = np.convolve(one, other)
        whole = (1.0 + r) * np.array([1.0, *[1.0 - r] * (c + d - 1), 1.0])
        assert (two[[0, -1]] < whole[[0, -1]]).all()
        assert (two[1:-1] >= whole[1:-1]).all()
        masses = r ** np.arange(c + d + 1.0) / (1.0 + r) ** 2
        assert np.sum(masses * two) == pytest.approx(1.0)
        assert np.sum(masses * whole) == pytest.approx(1.0)


@pytest.mark.parametrize("mechanism", [Laplace, DiscreteLaplace, DiscreteGaussian])
def test_the_claim_points_at_its_proof(mechanism):
    page = "docs/several-dimensions.md"
    assert page in " ".join((mechanism.__doc__ or "").split())
    assert f"`{mechanism.__name__}`" in (ROOT / page).read_text(encoding="utf-8")
