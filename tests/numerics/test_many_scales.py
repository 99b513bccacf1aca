"""Laws on lattices of many scales against all outcomes, one by one, and against a binomial law in closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from renyi.errors import ConvergenceError, TooLarge
from renyi.numerics.lattices import many_scales
from renyi.numerics.lattices.many_scales import ScaledLattices, ScaledLaw, _drawn_to, _Finer, _inwards, _outwards
from renyi.numerics.work import allowance

LEVELS = np.concatenate([np.linspace(-3.0, 3.0, 41), [-30.0, 30.0]])


def worth(x, mass, beyond=0.0, levels=LEVELS):
    """The mean of (1 - e^(level - x))+, at every level: what lies further right counts fully."""
    return (
        np.array([np.sum(mass * np.maximum(-np.expm1(np.minimum(level - x, 1.0)), 0.0)) for level in levels]) + beyond
    )


def worth_of(law, levels=LEVELS):
    return worth((law.scales.everywhere() + law.shift).ravel(), law.mass.ravel(), law.beyond, levels)


def law_of(scales, masses, outwards):
    """Masses at (level, place)."""
    mass = np.zeros((scales.levels, scales.width))
    for (level, place), value in masses.items():
        mass[level, place + scales.cells] += value
    return ScaledLaw(scales, mass, 0.0, outwards)


def test_points_rise_and_are_on_the_finest_lattice_that_has_them():
    scales = ScaledLattices(0.25, 8, 4)
    x, where = scales.points()
    assert np.all(np.diff(x) > 0.0)
    assert np.array_equal(scales.everywhere().ravel()[where], x)
    assert (x[0], x[-1]) == (-16.0, 16.0)
    assert set(np.unique(scales.everywhere())) == set(x)
    levels = where // scales.width
    assert np.all((levels == 0) | (np.abs(x) > 0.25 * 8 * 2.0 ** (levels - 1)))


rows = st.lists(st.floats(0.0, 1.0), min_size=9, max_size=9).map(np.array)


@given(rows, st.floats(1e-9, 1.0))
def test_outwards_raises_and_inwards_lowers(row, step):
    x, coarse = step * np.arange(-4, 5), 2.0 * step * np.arange(-2, 3)
    levels = step * np.linspace(-6.0, 6.0, 49)
    before, above, below = row, _outwards(row, step), _inwards(row, step)
    slack = 1e-13 * np.sum(row)
    assert np.all(worth(coarse, above, levels=levels) >= worth(x, before, levels=levels) - slack)
    assert np.all(worth(coarse, below, levels=levels) <= worth(x, before, levels=levels) + slack)
    assert np.sum(above) == pytest.approx(np.sum(row), rel=1e-13)
    assert np.sum(below) == pytest.approx(np.sum(row), rel=1e-13)
    assert np.sum(above * np.exp(-coarse)) == pytest.approx(np.sum(row * np.exp(-x)), rel=1e-13)
    assert np.sum(below * np.exp(-coarse)) >= np.sum(row * np.exp(-x)) * (1.0 - 1e-13)


@given(rows, st.floats(-1.0, 1.0), st.floats(0.01, 1.0))
def test_drawing_to_another_lattice_lowers(row, centre, step):
    """Whatever the offset, what falls off the left included; and little for a smooth row."""
    x = step * (np.arange(-4, 5) + centre)
    below = _drawn_to(x, row, step, 6)
    places, levels = step * np.arange(-6, 7), step * np.linspace(-8.0, 8.0, 65)
    assert np.all(worth(places, below, levels=levels) <= worth(x, row, levels=levels) + 1e-13)
    assert np.sum(below) <= np.sum(row) * (1.0 + 1e-13)


def test_a_smooth_row_keeps_its_mean_when_drawn():
    step = 0.01
    places = step * np.arange(-400, 401)
    row = np.exp(-0.5 * (places + 0.5 * 0.004) ** 2 / 0.5**2)
    below = _drawn_to(places + 0.004, row, step, 402)
    mean, before = (
        np.sum(mass * np.exp(-x)) / np.sum(mass)
        for mass, x in ((below, step * np.arange(-402, 403)), (row, places + 0.004))
    )
    assert 0.0 <= mean / before - 1.0 < 5e-5


@given(rows, rows, st.floats(-0.4, 0.4))
def test_finer_lattices_are_drawn_down(row, level, centre):
    step = 0.125
    finer = _Finer(row, centre)
    coarser = finer.coarser(level, step, outwards=False)
    x = np.concatenate([step * np.arange(-4, 5) + centre, step * np.arange(-4, 5)])
    mass = np.concatenate([row, level])
    places = 2.0 * step * np.arange(-4, 5) + coarser.centre
    assert np.all(worth(places, coarser.row) <= worth(x, mass) + 1e-13)


atoms = st.dictionaries(st.tuples(st.integers(0, 3), st.integers(-8, 8)), st.floats(1e-3, 1.0), min_size=1, max_size=6)


@settings(max_examples=60)
@given(atoms, atoms)
def test_two_laws_against_all_pairs(first, second):
    scales = ScaledLattices(0.0625, 8, 4)
    x, mass = (
        [
            np.array([key[0] if part == "x" else key[1] for key in items])
            for items in (
                [(0.0625 * 2.0**level * place, value) for (level, place), value in first.items()],
                [(0.0625 * 2.0**level * place, value) for (level, place), value in second.items()],
            )
        ]
        for part in ("x", "mass")
    )
    truth = worth(np.add.outer(*x).ravel(), np.multiply.outer(*mass).ravel())
    above, below = (
        law_of(scales, first, outwards).composed(law_of(scales, second, outwards), 0.0) for outwards in (True, False)
    )
    slack = 1e-12 * float(np.sum(mass[0]) * np.sum(mass[1]))
    assert np.all(worth_of(above) >= truth - slack)
    assert np.all(worth_of(below) <= truth + slack)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 64, 1000])
@pytest.mark.parametrize("probability", [0.5, 1e-3, 1e-8])
def test_repetitions_of_two_values_are_binomial(count, probability):
    """Losses 1 and -1/64, rarely and mostly: the tail is a binomial one, far down too."""
    scales = ScaledLattices(1.0 / 4096.0, 1024, 14)
    masses = {(2, 1024): probability, (0, -64): 1.0 - probability}
    k = np.arange(count + 1)
    x, log_p = k - (count - k) / 64.0, binom.logpmf(k, count, probability)
    levels = np.array([-1.0, 0.3, 0.9, 2.5, 5.5])
    truth = np.array(
        [np.sum(np.exp(log_p) * np.maximum(-np.expm1(np.minimum(level - x, 1.0)), 0.0)) for level in levels]
    )
    below, above = (
        worth_of(law_of(scales, masses, outwards).repeated(count, 1e-250), levels) for outwards in (False, True)
    )
    assert np.all(below <= truth * (1.0 + 1e-10))
    assert np.all(truth <= above * (1.0 + 1e-10) + 1e-240)
    shown = truth > 1e-200
    assert np.all(above[shown] <= 1.02 * truth[shown])
    assert np.all(below[shown] >= 0.98 * truth[shown])


def test_what_is_neglected_is_counted():
    scales = ScaledLattices(0.01, 64, 6)
    masses = {(0, 0): 1.0 - 1e-6, (4, 60): 1e-6}
    exact, rough = (law_of(scales, masses, True).repeated(8, small) for small in (0.0, 1e-9))
    assert np.all(worth_of(rough) >= worth_of(exact) * (1.0 - 1e-12))
    assert rough.beyond > exact.beyond
    below = law_of(scales, masses, False).repeated(8, 1e-9)
    assert np.all(worth_of(below) <= worth_of(exact) * (1.0 + 1e-12))


def test_what_lies_beyond_counts_fully_or_stays_at_the_end():
    scales = ScaledLattices(1.0, 4, 1)
    masses = {(0, 4): 0.5, (0, -4): 0.5}
    above, below = (
        law_of(scales, masses, outwards).composed(law_of(scales, masses, outwards), 0.0) for outwards in (True, False)
    )
    assert above.beyond == 0.25
    assert above.mass[0].tolist() == [0.25, 0, 0, 0, 0.5, 0, 0, 0, 0]
    assert below.beyond == 0.0
    assert below.mass[0].tolist() == [0, 0, 0, 0, 0.5, 0, 0, 0, 0.25]


def test_shifts_and_roundings_add_up():
    law = ScaledLaw(ScaledLattices(1.0, 4, 2), np.ones((2, 9)) / 18.0, 0.0, True, shift=0.125, rounding=1e-16)
    assert law.repeated(11, 0.0).shift == 11 * 0.125
    assert law.repeated(11, 0.0).rounding == pytest.approx(11e-16)
    assert law.total == pytest.approx(1.0)


def test_work_has_an_end(monkeypatch):
    law = law_of(ScaledLattices(1.0, 64, 3), {(0, 0): 0.5, (0, 9): 0.5}, True)
    monkeypatch.setattr(many_scales, "MOST_WORK", 10)
    with pytest.raises(ConvergenceError, match="too long"):
        law.repeated(5, 0.0)


def test_masses_keep_their_digits_however_faint():
    """A Fourier transform would lose all of this next to a mass of 1."""
    scales = ScaledLattices(0.5, 16, 3)
    law = law_of(scales, {(0, 0): 1.0, (0, 7): 1e-150}, True)
    assert law.composed(law, 0.0).mass[0, 16 + 7] == pytest.approx(2e-150, rel=1e-14)
    assert law.composed(law, 0.0).mass[0, 16 + 14] == pytest.approx(1e-300, rel=1e-14)
    assert math.fsum(law.mass.ravel()) == 1.0


@pytest.mark.parametrize("outwards", [True, False])
def test_lattices_are_paid_for_even_where_hardly_anything_is_convolved(outwards):
    scales = ScaledLattices(0.25, 512, 20)
    law = law_of(scales, {(0, 1): 0.5, (0, -1): 0.5}, outwards)
    with allowance(1e5), pytest.raises(TooLarge):
        law.repeated(2**10, 1e-30)
    with allowance(1e8):
        assert law.repeated(2**10, 1e-30).total == pytest.approx(1.0)


def test_masses_on_finer_lattices_are_moved_once():
    law = law_of(ScaledLattices(0.25, 8, 4), {(0, 1): 0.5, (1, -5): 0.25, (2, 7): 0.25}, True)
    assert law.finer is law.finer
    assert [float(np.sum(one.row)) for one in law.finer] == pytest.approx([0.0, 0.5, 0.75, 1.0])
