"""Products, repetitions and groups of Gaussian pairs: their noise is rounded down, for less noise costs more."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from renyi.laws.pairs.gaussian import GaussianPair

NOISES = (0.1, 0.7, 1.1, 3.0, 1e6)
CLOSE = 1 + Fraction(1, 10**14)


@pytest.mark.parametrize("count", [2, 3, 7, 1000, 10**12 + 1])
def test_a_repetition_has_no_more_noise_than_it_should(count):
    for noise in NOISES:
        found, truth = Fraction(GaussianPair(noise).repeated(count).noise) ** 2, Fraction(noise) ** 2 / count
        assert found <= truth <= found * CLOSE


@pytest.mark.parametrize("size", [2, 3, 7, 1000])
def test_nor_has_a_group(size):
    for noise in NOISES:
        found, truth = Fraction(GaussianPair(noise).grouped(size).noise), Fraction(noise) / size
        assert found <= truth <= found * CLOSE


def test_nor_has_a_product():
    for one, other in product(NOISES, NOISES):
        pair = GaussianPair(one).composed(GaussianPair(other))
        assert isinstance(pair, GaussianPair)
        found, truth = 1 / Fraction(pair.noise) ** 2, 1 / Fraction(one) ** 2 + 1 / Fraction(other) ** 2
        assert truth <= found <= truth * CLOSE
