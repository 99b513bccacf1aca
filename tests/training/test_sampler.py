"""Poisson draws: every unit with the rate, independently of the others, whatever the rate."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import special, stats

from renyi.errors import InvalidInput
from renyi.training import seeded
from renyi.training.randomness import sampler
from renyi.training.randomness.refinement import further_bits
from renyi.training.randomness.sampler import _certain, _gaps, poisson_draw
from renyi.training.randomness.stream import Reader
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
    rate, units, times = 0.5, 64, 10_000
    taken = np.zeros((times, units))
    for row, drawn in zip(taken, draws(seeded(3), units=units, rate=rate, times=times), strict=True):
        row[drawn] = 1
    centred = (taken - rate) / np.sqrt(rate * (1 - rate))
    between_units = (centred.T @ centred / np.sqrt(times))[np.triu_indices(units, 1)]
    between_steps = (centred[1:] * centred[:-1]).sum(0) / np.sqrt(times - 1)
    for z in (between_units, between_steps):
        assert stats.chi2.sf(float(z @ z), z.size) > LOWEST
        assert stats.chi2.cdf(float(z @ z), z.size) > LOWEST


def _exact(key, word, number, rate):
    """The gap of a word by rational arithmetic alone: the g for which miss^(g + 1) < U <= miss^g, from 512 further bits."""
    miss, bits = 1 - Fraction(rate), 512
    known = (word << bits) + further_bits(key, number, bits // 8)[0]
    gap, power = 0, Fraction(1)
    while Fraction(known, 2 ** (64 + bits)) <= power * miss:
        gap, power = gap + 1, power * miss
    assert Fraction(known + 1, 2 ** (64 + bits)) <= power
    return gap


@pytest.mark.parametrize("rate", [0.9, 0.5, 1 / 3, 0.07])
def test_gaps_are_those_of_exact_arithmetic_at_the_edges_too(rate):
    """Words around every power of 1 - rate, where float64 cannot tell which gap it is, the largest and smallest, and any."""
    miss, key = 1 - Fraction(rate), bytes(range(32))
    edges = [int(miss**power * 2**64) + shift for power in range(12) for shift in (-1, 0, 1)]
    random = np.random.default_rng(0).integers(0, 2**64 - 1, 40, dtype=np.uint64)
    words = [word for word in (*edges, 2**64 - 1, 2**64 - 600, *map(int, random)) if 2**40 < word < 2**64]
    found = _gaps(key, np.array(words, dtype=np.uint64), rate, first=7, most=10**6)
    assert found.tolist() == [_exact(key, word, 7 + place, rate) for place, word in enumerate(words)]


def test_float64_is_believed_only_where_it_is_certain(monkeypatch):
    """Each gap that float64 decides is the one that many digits give, also at rates where most are in doubt."""
    for rate in (0.3, 1e-3, 1e-9, 3e-15, 2e-17):
        words = np.random.default_rng(1).integers(0, 2**64 - 1, 60, dtype=np.uint64)
        found = _gaps(bytes(32), words, rate, first=0, most=2**46)
        assert found.tolist() == [
            min(_certain(bytes(32), int(word), place, rate), 2**46) for place, word in enumerate(words)
        ]
    refined = []
    monkeypatch.setattr(sampler, "_certain", lambda *given: refined.append(given) or _certain(*given))
    words = np.random.default_rng(2).integers(0, 2**64 - 1, 10_000, dtype=np.uint64)
    _gaps(bytes(32), words, 1e-3, first=0, most=10**9)
    assert not refined
    assert _gaps(bytes(32), np.array([0, 1, 2**64 - 1], dtype=np.uint64), 1e-3, first=0, most=10**4).tolist() == [
        10**4,
        10**4,
        0,
    ]
    assert not refined  # the first two pass over everything, whatever their further bits are
    assert _gaps(bytes(32), np.array([0], dtype=np.uint64), 1e-3, first=0, most=10**9)[0] > 44_000
    assert len(refined) == 1


@pytest.mark.parametrize("rate", [0.9, 0.2, 1e-3])
def test_gaps_are_geometric_into_the_tail(rate):
    """Chi-square over the gaps up to the point that one in 2^20 passes, and the longest gap, against the exact law."""
    words = 1 << 19
    reader = Reader(seeded(4).key("draw", 0))
    gaps = _gaps(bytes(32), reader.numbers(words), rate, first=0, most=2**46)
    cuts = np.unique(np.ceil(np.log1p(-np.append(np.linspace(0, 1, 200)[1:-1], 1 - 2.0**-14)) / np.log1p(-rate)))
    above = np.concatenate([[1.0], np.exp(cuts * np.log1p(-rate)), [0.0]])
    observed = np.bincount(np.searchsorted(cuts, gaps, side="right"), minlength=len(cuts) + 1)
    assert stats.chisquare(observed, -np.diff(above) * words).pvalue > LOWEST
    longest = np.exp((gaps.max() + 1) * np.log1p(-rate)) * words  # how many gaps are expected to be longer
    assert longest + np.exp(gaps.max() * np.log1p(-rate)) * words > 1e-4
    assert longest < 14  # of which none is seen with probability e^-14


def test_draws_over_a_thousand_million_units_cost_what_the_batch_costs():
    """As many random words, and as many calls, as for a million units with the same expected batch; and the same law."""
    taken, counted = {}, {}
    for units in (10**6, 10**9):
        rate = 2000 / units
        draw = [poisson_draw(seeded(5).key("draw", step), units=units, rate=rate) for step in range(50)]
        taken[units] = np.concatenate(draw)
        counted[units] = calls(lambda n=units, p=rate: poisson_draw(bytes(32), units=n, rate=p))
        sizes = np.array([len(one) for one in draw])
        z = (sizes.sum() - 50 * 2000) / np.sqrt(50 * 2000)
        assert 2 * special.ndtr(-abs(z)) > LOWEST
        assert stats.chi2.sf(float(((sizes - 2000) ** 2 / 2000).sum()), 50) > LOWEST
        places = np.bincount(taken[units] * 100 // units, minlength=100)
        assert stats.chisquare(places).pvalue > LOWEST
    assert counted[10**9] <= 1.1 * counted[10**6] < 300


def test_more_units_than_any_dataset_has_are_refused():
    with pytest.raises(InvalidInput, match="at most 70,368,744,177,664 units"):
        poisson_draw(bytes(32), units=2**46 + 1, rate=0.5)
    assert len(poisson_draw(bytes(32), units=2**46, rate=2.0**-40)) in range(20, 120)


@pytest.mark.parametrize("units", [0, 1, 7, 8, 9, 10_000, 300_001])
def test_any_number_of_units(units):
    drawn = poisson_draw(bytes(32), units=units, rate=0.3)
    assert drawn.dtype == np.int64
    assert (np.diff(drawn) > 0).all()
    assert drawn.size == 0 or 0 <= drawn[0] <= drawn[-1] < units
    assert poisson_draw(bytes(32), units=units, rate=1.0).size == units
    assert poisson_draw(bytes(32), units=units, rate=0.0).size == 0
    assert poisson_draw(bytes(32), units=units, rate=1e-30).size == 0
    assert poisson_draw(bytes(32), units=units, rate=5e-324).size == 0
    assert poisson_draw(bytes(32), units=units, rate=1 - 2.0**-53).size == units


def test_how_many_gaps_are_drawn_at_a_time_does_not_matter(monkeypatch):
    wanted = poisson_draw(bytes(32), units=10_000, rate=0.05)
    monkeypatch.setattr(sampler, "ROUND", 7)
    assert poisson_draw(bytes(32), units=10_000, rate=0.05).tolist() == wanted.tolist()
