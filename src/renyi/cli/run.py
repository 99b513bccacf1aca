"""Turns a function that returns a report into a command that prints it and sets the exit code."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from renyi.errors import CalibrationError, PrivacyError, UnsupportedError
from renyi.report import Report
from renyi.signatures import meant

UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""What typer raises for a command line that it cannot read; it has no public name there."""

BAD_INPUT, NO_THEOREM, NO_VALUE, NO_PROMISE, NO_BUDGET, TAMPERED, NO_STORE = range(2, 9)


class Command(TyperCommand):
    """A command that answers an unknown option with the one that was probably meant."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except UsageError as error:
            if (wrong := getattr(error, "option_name", None)) and hasattr(error, "possibilities"):
                near = meant(wrong, [name for one in self.params for name in one.opts if name.startswith("--")])
                error.possibilities = [near] if near else error.possibilities
            raise


def register(app: typer.Typer, name: str, function: Callable[..., Report], *, group: str = "") -> None:
    """Add the function as a command, with ``--json``; ``group`` is what stands before its name in errors."""

    @functools.wraps(function)
    def run(*, as_json: bool, **arguments: Any) -> None:
        try:
            report = function(**arguments)
        except PrivacyError as error:
            typer.echo(f"renyi {group}{name}: {error}", err=True)
            raise typer.Exit(exit_code(error)) from None
        if as_json:
            typer.echo(report.json())
        else:
            typer.echo(report.text())
            for message in report.messages:
                typer.echo(message, err=True)
        if report.promises_nothing:
            raise typer.Exit(NO_PROMISE)

    # typer reads options from the signature, so the wrapper shows that of the function plus --json.
    option = inspect.Parameter(
        "as_json",
        inspect.Parameter.KEYWORD_ONLY,
        default=False,
        annotation=Annotated[bool, typer.Option("--json", help="Print the whole answer as JSON.")],
    )
    signature = inspect.signature(function, eval_str=True)
    run.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), option], return_annotation=None
    )
    run.__annotations__ = {p.name: p.annotation for p in run.__signature__.parameters.values()}  # type: ignore[attr-defined]
    app.command(name, cls=Command)(run)


def exit_code(error: PrivacyError) -> int:
    """The exit code of an error; what is none of the others is bad input."""
    from renyi.ledger.errors import Exhausted, TamperedLedger, Unavailable  # a room that few commands need

    match error:
        case UnsupportedError():
            return NO_THEOREM
        case CalibrationError():
            return NO_VALUE
        case Exhausted():
            return NO_BUDGET
        case TamperedLedger():
            return TAMPERED
        case Unavailable():
            return NO_STORE
        case _:
            return BAD_INPUT
