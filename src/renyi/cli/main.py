"""The entry point of the command line."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from renyi import __version__
from renyi.cli.run import register

COMMANDS = (
    "epsilon",
    "delta",
    "noise",
    "steps",
    "curve",
    "risk",
    "gdp",
    "report",
    "certify",
    "verify",
    "audit",
    "plot",
    "figures",
    "train-demo",
    "serve",
    "ledger",
)
"""Every command, in the order of ``--help``; each is a file of this room, but ``ledger`` a folder, and ``serve`` in ``web``."""


class Commands(TyperGroup):
    """The commands, loaded when they are asked for: ``renyi epsilon`` does not wait for plots and ledgers."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        for name in [cmd_name] if cmd_name in COMMANDS else COMMANDS:  # a wrong name is compared with all of them
            if name not in self.commands:
                self.commands[name] = _loaded(name)
        return super().get_command(ctx, cmd_name)


def _loaded(name: str) -> Any:
    if name == "ledger":
        from renyi.cli.ledger.group import app as one
    else:
        one = typer.Typer(add_completion=False, rich_markup_mode="markdown")
        # By name, because the page stands to the right of the command and reads its options.
        module = "renyi.web.command" if name == "serve" else f"renyi.cli.{name.replace('-', '_')}"
        register(one, name, import_module(module).command)
    return typer.main.get_command(one)


app = typer.Typer(
    cls=Commands,
    name="renyi",
    help="How much privacy did that cost?",
    epilog="Numbers go to standard output, messages to standard error. Exit codes: 0 an answer; 2 bad input or usage; "
    "3 no theorem covers the question; 4 no value meets the target; 5 the answer is infinite, or is a delta of 1: nothing is "
    "promised; 6 the budget does not admit the release; 7 a ledger was tampered with; 8 a ledger cannot be reached; "
    "9 a certificate was refused.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _main(
    version: bool = typer.Option(False, "--version", help="Print the version.", callback=_version, is_eager=True),
) -> None:
    pass


def main() -> None:
    """Run the command line."""
    app()
