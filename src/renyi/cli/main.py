"""The entry point of the command line."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from renyi import __version__
from renyi.cli.run import register

COMMANDS: Mapping[str, str] = {
    "epsilon": "cli.questions.epsilon",
    "delta": "cli.questions.delta",
    "noise": "cli.questions.noise",
    "steps": "cli.questions.steps",
    "curve": "cli.questions.curve",
    "risk": "cli.questions.risk",
    "gdp": "cli.questions.gdp",
    "report": "cli.documents.report",
    "certify": "cli.documents.certify",
    "verify": "cli.documents.verify",
    "audit": "cli.training.audit",
    "plot": "cli.documents.plot",
    "figures": "cli.documents.figures",
    "train-demo": "cli.training.train_demo",
    "serve": "web.command",
    "ledger": "cli.ledger.group",
}
"""Every command, in the order of ``--help``, and where it is: by name, because the page stands to the right of the command."""


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
    module = import_module(f"renyi.{COMMANDS[name]}")
    if name == "ledger":
        return typer.main.get_command(module.app)
    one = typer.Typer(add_completion=False, rich_markup_mode="markdown")
    register(one, name, module.command)
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
