"""erfcx in decimal digits, against ball arithmetic."""

from __future__ import annotations

from decimal import Decimal, localcontext

import pytest
from flint import arb, ctx

from renyi.papers.sampled_gaussian.decimal_erfcx import erfcx

POINTS = [0.0, 1e-30, 0.3, 1.0, 2.5, 5.4, 5.6, 9.9, 10.1, 40.0, 1e4, 1e9]


@pytest.mark.parametrize("digits", [2, 17, 30, 100, 250])
@pytest.mark.parametrize("x", POINTS + [-x for x in POINTS if x < 1e4])
def test_all_digits_are_right(x, digits):
    with localcontext(prec=digits):
        computed = str(erfcx(Decimal(x)))
    ctx.prec = 12_000
    truth = (arb(x) * arb(x)).exp() * arb(x).erfc()
    assert abs(arb(computed) / truth - 1) < arb(10) ** -(digits - 1)
