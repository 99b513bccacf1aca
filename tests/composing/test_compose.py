"""Relations and methods, put together: the worst relation decides, whatever is ruled out on the way."""

from __future__ import annotations

import numpy as np
import pytest

from renyi import ZCDP, ApproximateDP, Exact, FinitePair, Gaussian, Laplace, LossGrid, Poisson, Relation
from renyi.composing.question import DeltaAt, EpsilonAt
from tests import examples

RARE = FinitePair((0.99, 0.01), (0.9, 0.1))
EVENTS = [
    RARE * 20,  # adding costs ten times as much as removing
    RARE * 20 + Laplace(2.0),
    FinitePair((0.9, 0.1), (0.99, 0.01)) * 20,
    Gaussian(0.5).on(Poisson(0.3)) * 10,
    RARE.on(Poisson(0.5)) * 30 + Gaussian(3.0).on(Poisson(0.01)) * 100,
    Laplace(1.0).on(Poisson(0.2)) * 5 + ApproximateDP(0.1, 1e-7),
]


@pytest.mark.parametrize("event", EVENTS, ids=examples.label)
@pytest.mark.parametrize("question", [EpsilonAt(1e-5), EpsilonAt(0.01), DeltaAt(0.5), DeltaAt(2.0)], ids=repr)
@pytest.mark.parametrize("accountant", [Exact(), LossGrid()], ids=repr)
def test_the_dearest_relation_decides(event, question, accountant):
    """In either order: a relation is passed over only if the other one covers it."""
    event = event.canonical()
    alone = [accountant.answer(event, question, (relation,)).interval for relation in (Relation.REMOVE, Relation.ADD)]
    upper = max(ends.upper for ends in alone)
    for relations in ((Relation.REMOVE, Relation.ADD), (Relation.ADD, Relation.REMOVE)):
        both = accountant.answer(event, question, relations).interval
        assert both.upper == pytest.approx(upper, rel=1e-9, abs=1e-300)
        assert both.lower <= upper
        assert both.lower >= max(ends.lower for ends in alone if ends.upper == upper) * (1 - 1e-9)


def test_the_dearest_relation_is_not_the_first():
    remove, add = (
        Exact().answer((RARE * 20).canonical(), EpsilonAt(1e-5), (r,)).interval for r in (Relation.REMOVE, Relation.ADD)
    )
    assert add.lower > 5.0 * remove.upper
    assert np.isclose(Exact().epsilon(RARE * 20, delta=1e-5).upper, add.upper, rtol=1e-12)


def test_lower_ends_of_laws_that_only_dominate_are_not_told():
    """Nor where the second relation is passed over: one curve for both, so neither costs more."""
    found = Exact().answer((ZCDP(2e-4, 0.1) * 95_148).canonical(), DeltaAt(2323.0), (Relation.REMOVE, Relation.ADD))
    assert found.interval.lower == 0.0
    assert not found.settled
