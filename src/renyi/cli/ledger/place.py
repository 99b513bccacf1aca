"""The options that the commands of a ledger share: where it is, which dataset, who pays, who says so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from renyi.cli import options
from renyi.ledger import Ledger

Where = Annotated[
    str,
    typer.Option(
        "--ledger",
        envvar="RENYI_LEDGER",
        show_envvar=True,
        show_default="budget.db",
        help="A file, or a URL such as postgresql+psycopg://user@host/database. A URL with a password belongs into the "
        "environment variable: others can see the arguments of a command.",
    ),
]
BUDGET_FILE = "budget.db"

DatasetName = Annotated[str | None, typer.Option("--dataset", help="The dataset; may be left out where there is one.")]
Team = Annotated[str | None, typer.Option("--team", help="The team that pays, out of its share.")]
Purpose = Annotated[str | None, typer.Option("--purpose", help="The purpose that pays, out of its share.")]
Part = Annotated[str | None, typer.Option("--part", help="The part of the data that is used, if not the whole.")]
Key = Annotated[str | None, typer.Option("--key", help="A name for this release: a retry under it is charged once.")]
Who = Annotated[str | None, typer.Option("--who", help="Who asks; the user of this process, if not given.")]
Why = Annotated[str | None, typer.Option("--why", help="What it is for.")]
WholeAt = Annotated[
    float | None,
    typer.Option(
        "--whole-at",
        parser=options.number,
        metavar="DELTA",
        help="For a plan that is fixed in advance and booked whole, at its exact epsilon for this delta; none is refunded.",
    ),
]
NewFile = Annotated[Path, typer.Argument(help="The file to write, which must not exist yet.")]


@contextmanager
def opened(where: str, *, who: str | None = None, create: bool = False) -> Iterator[Ledger]:
    """The ledger, closed at the end."""
    ledger = Ledger.open(where, who=who, create=create)
    try:
        yield ledger
    finally:
        ledger.close()


def plain(text: object) -> str:
    """A text that somebody wrote, without characters that would move the cursor."""
    return "".join(character if character.isprintable() else "?" for character in str(text))
