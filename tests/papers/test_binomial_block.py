"""Stretches of binomial sums, against exact rational weights and the sum of all terms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from flint import arb, ctx

from renyi.papers.zhu_wang import binomial_block
from renyi.papers.zhu_wang.binomial_block import log_block_excess


def reference(n, rate, first, last, slope, offset):
    """All terms, by ball arithmetic with 300 bits."""
    ctx.prec = 300
    q, growth = arb(rate), arb(slope).exp()
    weight = arb(math.comb(n, first)) * q**first * (1 - q) ** (n - first)
    factor = (arb(slope) * (first - 1) + arb(offset)).exp()
    total = arb(0)
    for k in range(first, last + 1):
        total += weight * (factor - 1)
        weight *= q * (n - k) / ((1 - q) * (k + 1))
        factor *= growth
    return float(total.log().mid())


STRETCHES = [
    (100, 3, 98),
    (100, 51, 50),
    (100, 51, 51),
    (1000, 3, 1000),
    (1000, 11, 990),
    (1000, 400, 600),
    (1000, 1, 90),
]


@pytest.mark.parametrize("offset", [0.0, math.log(3.0)])
@pytest.mark.parametrize("rate", [1e-9, 1e-3, 0.1, 0.5, 0.97, 1 - 1e-9])
@pytest.mark.parametrize(("n", "first", "last"), STRETCHES)
def test_every_digit_of_the_exponential_is_kept(n, first, last, rate, offset):
    """An error of the logarithm is a relative error of the sum."""
    for slope in (1e-18, 1e-6, 1e-2, 0.3, 2.0, 40.0, 900.0):
        computed = log_block_excess(n, rate=rate, first=first, last=last, slope=slope, offset=offset)
        if first > last:
            assert computed == -math.inf
        else:
            assert computed == pytest.approx(reference(n, rate, first, last, slope, offset), rel=2e-13, abs=2e-13)


def test_a_wide_stretch_takes_no_sum(monkeypatch):
    monkeypatch.setattr(binomial_block, "log_binomial_weight", None)
    assert math.isfinite(log_block_excess(10**6, rate=1e-6, first=3, last=10**6 - 3, slope=1.0))
    with pytest.raises(TypeError):
        log_block_excess(10**4, rate=1e-6, first=3, last=10**4 - 3, slope=1e-5)


def test_no_growth_no_excess_and_infinite_growth():
    assert log_block_excess(200, rate=0.1, first=3, last=190, slope=0.0) == -math.inf
    assert log_block_excess(200, rate=0.1, first=3, last=190, slope=math.inf) == math.inf
    plain = log_block_excess(200, rate=0.1, first=1, last=200, slope=0.0, offset=math.log(3.0))
    assert plain == pytest.approx(math.log(2.0) + np.log1p(-(0.9**200)), rel=1e-13)
