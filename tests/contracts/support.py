"""The table of which combinations give a number: `python -m tests.contracts.support` writes docs/support.md."""

from __future__ import annotations

from pathlib import Path

from renyi import Relation, UnsupportedError
from renyi.accountants.accountant import Accountant
from renyi.composing.question import EpsilonAt
from renyi.events.mechanism import MECHANISMS
from renyi.events.sampling import SAMPLINGS
from tests import examples

PATH = Path(__file__).parents[2] / "docs" / "support.md"
HEADER = [
    "# What is supported",
    "",
    "Written by `make support`; a test holds it to the code. A cell is *number* (an upper bound, numerical error",
    "included), *unsupported* (`UnsupportedError`: no theorem here, so no number) or *partly* (a number unless the",
    "mechanism may fail outright).",
    "",
    "| mechanism | sampling | accountant | " + " | ".join(relation.value for relation in Relation) + " |",
    "|---|---|---|" + "---|" * len(Relation),
]


def registered(registry) -> list[str]:
    return [name for name in registry.names() if not name.startswith("test_")]


Combination = tuple[str, str | None, Accountant]
COMBINATIONS: list[Combination] = [
    (name, sampling, accountant)
    for name in registered(MECHANISMS)
    for sampling in (None, *registered(SAMPLINGS))
    for accountant in examples.ACCOUNTANTS
]


def cell(accountant, event, relation: Relation) -> str:
    """What one combination gives; anything but a number or UnsupportedError is a failure of the contract."""
    try:
        value = accountant.answer((event * 10).canonical(), EpsilonAt(1e-6), (relation,)).interval.upper
    except UnsupportedError:
        return "unsupported"
    if not 0.0 <= value < float("inf"):
        raise AssertionError(f"{event} {relation}: {value}")
    return "number"


def table() -> str:
    return "\n".join([*HEADER, *map(line, COMBINATIONS)]) + "\n"


def line(combination: Combination) -> str:
    """One row of the table."""
    name, sampling, accountant = combination
    cells = [row_cell(accountant, name, sampling, relation) for relation in Relation]
    return "| " + " | ".join([name, sampling or "none", type(accountant).__name__, *cells]) + " |"


def row_cell(accountant, name: str, sampling: str | None, relation: Relation) -> str:
    """One word for all examples of a mechanism and a sampling: they must agree, or be told apart by a failure mass."""
    words = set()
    for mechanism in MECHANISMS.get(name).examples():
        for scheme in [None] if sampling is None else SAMPLINGS.get(sampling).examples():
            words.add(cell(accountant, mechanism if scheme is None else mechanism.on(scheme), relation))
    if words == {"number", "unsupported"}:
        return "partly"
    (word,) = words
    return word


if __name__ == "__main__":
    PATH.write_text(table(), encoding="utf-8")
