"""Poisson draws: every unit with the rate, independently of the others, whatever the rate."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import special, stats

from renyi.training import seeded
from renyi.training.randomness.entropy import Keys
from renyi.training.randomness.sampler import BLOCK, poisson_draw
from tests.counting import calls

LOWEST = 1e-6


def draws(keys, *, units, rate, times):
    return [poisson_draw(keys.key("draw", step), units=units, rate=rate) for step in range(times)]


@pytest.mark.parametrize("rate", [0.003, 1 / 256, 0.3, 0.75])
def test_inclusion_and_batch_sizes_over_a_million_draws(keys, rate):
    """A million decisions: per index the number of inclusions, and the sizes of the draws, both by chi-square."""
    units, times = 500, 2000
    taken = draws(keys, units=units, rate=rate, times=times)
    counts = np.bincount(np.concatenate(taken), minlength=units)
    inclusion = float(((counts - times * rate) ** 2).sum() / (times * rate * (1 - rate)))
    assert stats.chi2.sf(inclusion, units) > LOWEST
    assert stats.chi2.cdf(inclusion, units) > LOWEST
    sizes = np.array([len(drawn) for drawn in taken])
    cells = np.unique(stats.binom.ppf(np.linspace(0, 1, 12)[1:-1], units, rate))
    expected = np.diff(np.concatenate([[0.0], stats.binom.cdf(cells, units, rate), [1.0]])) * times
    observed = np.bincount(np.searchsorted(cells, sizes), minlength=expected.size)
    assert stats.chisquare(observed, expected).pvalue > LOWEST
    total = (counts.sum() - units * times * rate) / np.sqrt(units * times * rate * (1 - rate))
    assert 2 * special.ndtr(-abs(total)) > LOWEST


def test_a_million_sizes_are_binomial(keys):
    """One draw over a million groups of twenty is a million draws over twenty, if the units are independent."""
    groups, size, rate = 1_000_000, 20, 0.2
    drawn = poisson_draw(keys.key("draw", 0), units=groups * size, rate=rate)
    sizes = np.bincount(np.bincount(drawn // size, minlength=groups), minlength=size + 1)
    expected = stats.binom.pmf(np.arange(size + 1), size, rate) * groups
    far = 11  # the rare large sizes as one cell
    sizes, expected = np.append(sizes[:far], sizes[far:].sum()), np.append(expected[:far], expected[far:].sum())
    assert stats.chisquare(sizes, expected, sum_check=False).pvalue > LOWEST
    places = np.bincount(drawn % size, minlength=size)
    assert stats.chi2.sf(float(((places - groups * rate) ** 2).sum() / (groups * rate * (1 - rate))), size) > LOWEST


def test_a_rate_of_a_hundredth_less_is_noticed():
    rate, units, times = 0.3, 500, 2000
    counts = sum(len(drawn) for drawn in draws(seeded(2), units=units, rate=rate / 1.01, times=times))
    assert special.ndtr((counts - units * times * rate) / np.sqrt(units * times * rate * (1 - rate))) < LOWEST


def test_units_and_steps_are_independent():
    rate, units, times = 0.5, 64, 20_000
    taken = np.zeros((times, units))
    for row, drawn in zip(taken, draws(seeded(3), units=units, rate=rate, times=times), strict=True):
        row[drawn] = 1
    centred = (taken - rate) / np.sqrt(rate * (1 - rate))
    between_units = (centred.T @ centred / np.sqrt(times))[np.triu_indices(units, 1)]
    between_steps = (centred[1:] * centred[:-1]).sum(0) / np.sqrt(times - 1)
    for z in (between_units, between_steps):
        assert stats.chi2.sf(float(z @ z), z.size) > LOWEST
        assert stats.chi2.cdf(float(z @ z), z.size) > LOWEST


def test_the_probability_is_the_rate_rounded_down_to_64_bits():
    """With all the random bits known, the decision is that of an exact comparison."""
    for rate in (0.1, 0.3, 1 / 3, 2.0**-20, 1e-5, 0.999999):
        threshold = int(rate * 2.0**64)
        assert Fraction(threshold, 2**64) <= Fraction(rate) < Fraction(threshold + 1, 2**64)
        generator = _Replayed(threshold)
        from renyi.training.randomness.sampler import _drawn

        drawn = _drawn(generator, len(generator.units), threshold)
        wanted = [i for i, unit in enumerate(generator.units) if unit < threshold]
        assert drawn.tolist() == wanted


class _Replayed:
    """Gives chosen 64-bit numbers, in the order in which the sampler asks for their parts."""

    def __init__(self, threshold):
        random = np.random.default_rng(0)
        near = [threshold + shift for shift in (-1, 0, 1, -2, 2)]
        far = [int(unit) for unit in random.integers(0, 2**64 - 1, 59, dtype=np.uint64)]
        self.units = [unit % 2**64 for unit in near + far]
        first = np.array([unit >> 56 for unit in self.units], dtype=np.uint8)
        rest = [unit % 2**56 << 8 for unit in self.units if unit >> 56 == threshold >> 56]
        self._answers = [first.view(np.uint64), np.array(rest, dtype=np.uint64)]

    def numbers(self, count):
        answer = self._answers.pop(0)
        assert len(answer) == count
        return answer


@pytest.mark.parametrize("units", [0, 1, 7, 8, 9, BLOCK - 1, BLOCK + 5])
def test_any_number_of_units(units):
    drawn = poisson_draw(bytes(32), units=units, rate=0.01)
    assert drawn.dtype == np.int64
    assert (np.diff(drawn) > 0).all()
    assert drawn.size == 0 or 0 <= drawn[0] <= drawn[-1] < units
    assert poisson_draw(bytes(32), units=units, rate=1.0).size == units
    assert poisson_draw(bytes(32), units=units, rate=1e-30).size == 0


def test_ten_million_units_are_drawn_in_blocks():
    """A few calls for each block of units, none for each unit."""
    drawn = []
    assert calls(lambda: drawn.append(poisson_draw(Keys().key("draw", 0), units=10_000_000, rate=1e-4))) < 1000
    assert 700 < drawn[0].size < 1300
