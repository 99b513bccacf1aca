"""The entry point of the command line."""

from __future__ import annotations

import typer

from renyi import __version__
from renyi.cli import curve, delta, epsilon, figures, gdp, noise, plot, report, risk, steps, train_demo
from renyi.cli.ledger import group as ledger
from renyi.cli.run import register

app = typer.Typer(
    name="renyi",
    help="How much privacy did that cost?",
    epilog="Numbers go to standard output, messages to standard error. Exit codes: 0 an answer; 2 bad input or usage; "
    "3 no theorem covers the question; 4 no value meets the target; 5 the answer is infinite, or a delta of 1: nothing is "
    "promised; 6 the budget does not admit the release; 7 a ledger was tampered with; 8 a ledger cannot be reached.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)

for module in (epsilon, delta, noise, steps, curve, risk, gdp, report, plot, figures):
    register(app, module.__name__.rsplit(".", 1)[-1], module.command)
register(app, "train-demo", train_demo.command)
app.add_typer(ledger.app, name="ledger")


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
