"""The method of Renyi divergences among the others."""

from __future__ import annotations

import pytest

from renyi import ZCDP, Gaussian, Interval, Relation
from renyi.composing.method import Found
from renyi.composing.question import DeltaAt, EpsilonAt
from renyi.composing.renyi import Renyi
from renyi.composing.steps import event_steps


@pytest.mark.parametrize("question", [EpsilonAt(1e-6), DeltaAt(1.0)], ids=repr)
def test_it_is_asked_where_another_method_composed_the_steps_and_found_no_bound(question):
    """Of a law that only dominates a bound by another method is enough: the default compares it with the curve's."""
    steps = event_steps((ZCDP(0.1) + Gaussian(2.0)).canonical(), Relation.REMOVE)
    assert Renyi().covers(steps, question, Found(question.unknown, "another method"))
    assert not Renyi().covers(
        steps, question, Found(Interval(0.0, 0.9 * min(question.unknown.upper, 10.0)), "another method")
    )
