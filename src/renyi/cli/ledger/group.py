"""The commands of ``renyi ledger``, put together."""

from __future__ import annotations

import typer

from renyi.cli.ledger import allot, backup, erase, export, history, import_, init, plot, spend, status, verify, what_if
from renyi.cli.run import register

app = typer.Typer(
    name="ledger",
    help="A budget shared by many: what was spent on a dataset, and what still fits.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
)

for name, module in {
    "init": init,
    "allot": allot,
    "spend": spend,
    "status": status,
    "what-if": what_if,
    "history": history,
    "plot": plot,
    "verify": verify,
    "erase": erase,
    "backup": backup,
    "export": export,
    "import": import_,
}.items():
    register(app, name, module.command, group="ledger ")
