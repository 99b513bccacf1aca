"""Statements with fixed numbers, dates and versions, and their forms as golden files.

Usage: python -m tests.report.cases    writes the golden files anew
"""

from __future__ import annotations

import datetime
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

from renyi import Adjacency, Gaussian, Interval, Laplace, Poisson, Relation, Shuffled, Statement, Tuned
from renyi.accountants.gdp import Gdp
from renyi.accountants.guarantee import guarantee_of
from renyi.composing.question import EpsilonAt
from renyi.report.odds import Odds
from renyi.report.statement import Ran

GOLDEN = Path(__file__).parent / "golden"
RUN = Gaussian(1.1).on(Poisson(256 / 60_000)) * 14_063


def promised(
    event, lower, upper, adjacency=Adjacency.ADD_OR_REMOVE, unit="record", method="exact composition (closed form)"
):
    """A guarantee with the given numbers, so that no golden file depends on the last digit of a computation."""
    made = guarantee_of(
        event, EpsilonAt(1e-5), adjacency, Interval(lower, upper), method, adjacency.relations[0], order=None
    )
    return replace(made, unit=unit, version="1.2.3", date=datetime.date(2026, 1, 2))


def full() -> Statement:
    """Everything is known, and nothing was searched for."""
    guarantee = promised(RUN, 2.38168123, 2.38168987, unit="person")
    return Statement(
        guarantee=guarantee,
        ran=Ran.RECORDED,
        gdp=Gdp(Interval(0.5861, 0.5862), 1e-5, 0.0031, guarantee.event, guarantee.adjacency, Relation.REMOVE),
        odds=Odds(
            Interval(0.0402, 0.0402065), Interval(0.6122, 0.612235), Interval(0.2244, 0.22447), "exact composition"
        ),
        data_covered="60,000 images of handwritten digits, one per person",
        data_not_covered='the 10,000 test images; statistics for normalisation: "public" | <published>',
        other_runs="none: this is the only release from these images",
        clipping="each unit's whole gradient to L2 norm 1",
        record=("no leak was found", "the journal has 14,064 lines, and its last hash is 00ff"),
        certificate="certificate.json, checked on 2 January 2026",
        audit="one attack with 1,000 canaries found epsilon at least 0.4",
    )


def shuffled() -> Statement:
    """Batches were shuffled and accounted for as Poisson samples."""
    ran = promised(Gaussian(1.1).on(Shuffled(234)) * 61, 10.76, 54.707, Adjacency.ZERO_OUT)
    return Statement(
        guarantee=ran,
        accounted=promised(RUN, 2.38168123, 2.38168987, method="exact composition (contour integration)"),
        ran=Ran.STATED,
        odds=Odds(Interval(0.5, 0.999), Interval(0.9, 0.99), Interval(0.9, 0.98), "exact composition"),
    )


def leaked() -> Statement:
    """A leak was found and rebutted, the noise was seeded, a search was accounted for, and almost nothing else is known."""
    return Statement(
        guarantee=promised(Tuned(RUN, 10.0) + Laplace(50.0), 0.0, float("inf")),
        ran=Ran.RECORDED,
        private=False,
        record=("LEAK FOUND by the look before release 8", "rebuttal of the leak, attested by A. N. Other"),
    )


CASES = {"full": full, "shuffled": shuffled, "leaked": leaked}
FORMS = {
    "sentence.txt": lambda made: f"{made}\n",
    "text.txt": Statement.to_text,
    "markdown.md": Statement.to_markdown,
    "json": lambda made: f"{made.to_json()}\n",
    "yaml": Statement.to_yaml,
    "card.md": Statement.to_model_card,
}


def without_curves(page: str) -> str:
    """A page without the points of its curves, whose last digits may depend on the machine."""
    return re.sub(r' (points|cx|cy|d)="M?[-0-9., ]+(l5 5l-5 5l-5 -5z)?"', r' \1="..."', page)


@cache
def page(case: str) -> str:
    """The HTML of a case, whose curves are computed once for all tests."""
    return CASES[case]().to_html()


def written(case: str, form: str) -> str:
    """One form of a case."""
    return without_curves(page(case)) if form == "html" else FORMS[form](CASES[case]())


def main() -> None:
    for case in CASES:
        for form in (*FORMS, "html"):
            (GOLDEN / f"{case}.{form}").write_text(written(case, form), encoding="utf-8")


if __name__ == "__main__":
    main()
