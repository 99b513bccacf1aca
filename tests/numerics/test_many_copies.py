"""Sums of many copies against plain convolutions: from above, from below, with and without jumps."""

from __future__ import annotations

import math

import numpy as np
import pytest

from renyi.errors import ConvergenceError
from renyi.numerics.lattices.many_copies import Level, ManyCopies


def convolved(mass, count):
    total = np.ones(1)
    for _ in range(count):
        total = np.convolve(total, mass)
    return total


def gathered(copies, size):
    total = np.zeros(size)
    for part in copies.parts():
        inside = part.place < size
        np.add.at(total, part.place[inside], np.exp(part.log_mass[inside]))
    return total


def heavy(size):
    """Most of the mass near 0, and a tail like k^-3."""
    mass = np.exp(-0.5 * (np.arange(size) - 6.0) ** 2 / 4.0) + 1e-2 / (1.0 + np.arange(size)) ** 3
    return mass / mass.sum()


@pytest.mark.parametrize("count", [1, 2, 5, 12])
@pytest.mark.parametrize("spans", [(0.0, 5.0, 9.0), (0.0, -5.0, -9.0)])
def test_masses_above_and_below(count, spans):
    mass = heavy(65)
    place, log_mass = np.arange(mass.size), np.log(mass)
    exact = convolved(mass, count)
    ends = (16, 32, 64)
    for upper in (True, False):
        levels = [
            Level(place[(place > low) & (place <= end)], log_mass[(place > low) & (place <= end)], 1)
            for low, end in zip((-1, *ends), ends, strict=False)
        ]
        found = gathered(ManyCopies(levels, count, spans, upper), exact.size)
        wanted = slice(int(6.5 * count), None) if spans[-1] > 0 else slice(0, int(6.5 * count) + 1)
        if upper:
            assert np.all(found[wanted] >= exact[wanted] * (1 - 1e-12) - 1e-24)  # what lies outside of all windows
            assert np.sum(found[wanted] - exact[wanted]) < 1e-9
        else:
            assert np.all(found <= exact * (1 + 1e-12) + 1e-300)
            assert np.sum(exact[wanted] - found[wanted]) < 1e-9


def test_coarser_levels_raise_the_mean_of_convex_functions():
    mass = heavy(257)
    place, log_mass, count = np.arange(mass.size), np.log(mass), 6
    levels, low = [], -1
    for end, step in ((32, 1), (64, 4), (256, 16)):
        inside = (place > low) & (place <= end)
        coarse = place[inside]
        if step > 1:
            coarse = coarse[coarse % step == 0]
            # The law itself has its masses on the coarser lattice already.
            logs = np.log(np.add.reduceat(mass[inside], np.arange(0, inside.sum(), step)))
            levels.append(Level(coarse, logs, step))
        else:
            levels.append(Level(coarse, log_mass[inside], 1))
        low = end
    law = np.zeros(mass.size)
    for level in levels:
        law[level.place] = np.exp(level.log_mass)
    exact = convolved(law, count)
    found = gathered(ManyCopies(levels, count, (0.0, 5.0, 9.0), True), exact.size + 64)
    x = np.arange(found.size)
    for threshold in (45, 60, 120):
        pay = np.maximum(x - threshold, 0.0)
        truth = np.sum(exact * pay[: exact.size])
        assert truth * (1 - 1e-12) <= np.sum(found * pay) <= truth * 1.15 + 1e-12


def test_what_is_too_long_is_refused():
    level = Level(np.array([0, 10**7]), np.log(np.array([0.5, 0.5])), 1)
    with pytest.raises(ConvergenceError):
        list(ManyCopies([level], 10, (0.0, 5.0), True).parts())
    assert math.isinf(-ManyCopies([level], 1, (0.0, 5.0), True).log_tails(0.0, 1e8)[1])
