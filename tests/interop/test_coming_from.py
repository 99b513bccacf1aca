"""docs/coming-from.md: its numbers are those of `make interop`, and a part of them is recomputed here."""

from __future__ import annotations

import json
import logging
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from benchmarks import interop
from benchmarks.interop_rows import AUTODP, DP_ACCOUNTING, OPACUS, PRV, ROWS, TF_PRIVACY, ZCDP
from dp_accounting import NeighboringRelation, dp_event
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant
from dp_accounting.rdp import rdp_privacy_accountant as rdp

ROOT = Path(__file__).parents[2]
PAGE = interop.PAGE.read_text(encoding="utf-8")
RESULT = json.loads(interop.RESULT.read_text(encoding="utf-8"))
PAIRS = list(zip(ROWS, RESULT["rows"], strict=True))
UNPOISSON = "A run with poisson_sampling=False"
SLOW = {"What a run really cost", "Training with our accountant", "The noise for a target"}
"""Seconds each, and held otherwise by test_opacus."""
BOTH = [pair for pair in PAIRS if pair[0].library in (DP_ACCOUNTING, OPACUS, ZCDP) and pair[0].title not in SLOW]
OURS = [pair for pair in PAIRS if pair[0].library in (TF_PRIVACY, PRV, AUTODP)]
"""Rows of libraries that are not here: ours is recomputed beside what `make interop` found of theirs."""


def named(pair):
    return f"{pair[0].library}: {pair[0].title}"


@pytest.fixture(autouse=True)
def quiet():
    """dp-accounting logs the orders that it leaves out, and NumPy warns where it cuts infinity to an integer."""
    logging.disable(logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield
    logging.disable(logging.NOTSET)


def test_the_page_is_what_the_result_says():
    assert interop.renewed(PAGE, RESULT) == PAGE
    assert [(row.library, row.title) for row in ROWS] == [
        (found["library"], found["title"]) for found in RESULT["rows"]
    ]


def test_the_tables_name_no_earlier_release_of_ours():
    assert PAGE.count(" | renyi |\n") == len(ROWS)
    assert not re.search(r"\| renyi \d", PAGE)


def test_the_packages_were_the_pinned_ones():
    pins = dict(re.findall(r"^([\w-]+)==(.+)$", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE))
    assert {name: pins[name] for name in RESULT["versions"] if name != "renyi"} == {
        name: version for name, version in RESULT["versions"].items() if name != "renyi"
    }


def numbers(answers):
    return [number for value in answers.values() for number in (value if isinstance(value, list) else [value])]


@pytest.mark.parametrize("pair", BOTH, ids=named)
def test_both_numbers_are_found_again(pair):
    row, found = pair
    again = interop.compared(row)
    for side in ("theirs", "ours"):
        assert list(again[side]) == list(found[side])
        assert numbers(again[side]) == pytest.approx(numbers(found[side]), rel=1e-6)


@pytest.mark.parametrize("pair", OURS, ids=named)
def test_our_numbers_are_found_again(pair):
    row, found = pair
    again = interop.answers(interop.value_of(row.ours, {}))
    assert numbers(again) == pytest.approx(numbers(found["ours"]), rel=1e-6)


def ends(value):
    return value if isinstance(value, list) else [value, value]


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if not pair[0].fault], ids=named)
def test_theirs_is_a_looser_bound_or_for_another_sampler(pair):
    row, found = pair
    for name, theirs in found["theirs"].items():
        lower, upper = ends(found["ours"].get(name, theirs))
        if row.title == UNPOISSON:
            assert theirs < lower
        elif name == "lower end":
            assert theirs <= lower
        else:
            assert theirs >= upper


def test_faults_lie_below_the_truth_but_for_one():
    below = [
        min(theirs / ends(found["ours"][name])[0] for name, theirs in found["theirs"].items())
        for row, found in PAIRS
        if row.fault
    ]
    assert [share < 0.5 for share in below] == [True, True, True, False]
    assert below[3] == pytest.approx(1.035, abs=1e-3)


def test_what_the_page_says_beside_the_snippets_is_so():
    found = {row.title: answers for row, answers in PAIRS}
    loss = found["The same run, by Renyi DP"]
    assert loss["theirs"]["epsilon"] / loss["ours"]["epsilon"][1] == pytest.approx(1.09, abs=5e-3)
    replace = NeighboringRelation.REPLACE_ONE

    answer = dp_event.RandomizedResponseDpEvent(0.5, 4)
    loop = PLDAccountant(replace)
    for _ in range(10):
        loop.compose(answer)
    curve = rdp.RdpAccountant(neighboring_relation=replace).compose(answer, 10)
    assert [loop.get_epsilon(1e-5), curve.get_epsilon(1e-5)] == pytest.approx([16.09] * 2, abs=5e-3)

    twice = PLDAccountant(replace).compose(dp_event.GaussianDpEvent(1.0)).get_epsilon(1e-5)
    assert twice == pytest.approx(found["Replace-one at half the distance"]["ours"]["epsilon"][1], rel=1e-6)
    everybody = dp_event.SampledWithoutReplacementDpEvent(10, 10, dp_event.GaussianDpEvent(1.0))
    for event in (dp_event.LaplaceDpEvent(1.0), everybody):
        same = [rdp.RdpAccountant(neighboring_relation=replace).compose(event).get_epsilon(1e-5)]
        alone = everybody.event if event is everybody else event
        assert same == [rdp.RdpAccountant().compose(alone).get_epsilon(1e-5)]

    orders = [order for order in rdp.DEFAULT_RDP_ORDERS if order != int(order)]
    curve = rdp.RdpAccountant(orders).compose(dp_event.PoissonSampledDpEvent(0.3, dp_event.GaussianDpEvent(2.0)))
    assert f"{np.isinf(curve.rdp).sum()} of the {len(orders)} fractional orders" in " ".join(PAGE.split())


def test_every_event_of_dp_accounting_stands_in_the_table():
    kinds = [
        each.__name__
        for each in vars(dp_event).values()
        if isinstance(each, type) and issubclass(each, dp_event.DpEvent)
    ]
    assert [name for name in kinds if name != "DpEvent" and f"`{name}" not in PAGE] == []


def test_a_snippet_ends_in_its_answer():
    assert interop.answers(interop.value_of("x = 2\nx + 1", {})) == {"epsilon": 3.0}
    with pytest.raises(ValueError, match="last line"):
        interop.value_of("x = 2", {})
    with pytest.raises(ValueError, match="no line"):
        interop.renewed("", RESULT)
