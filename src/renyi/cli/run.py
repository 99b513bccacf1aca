"""Turns a function that returns a report into a command that prints it and sets the exit code."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from renyi.errors import CalibrationError, PrivacyError, UnsupportedError
from renyi.laws.relation import Adjacency
from renyi.report import Report
from renyi.signatures import meant

UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""What typer raises for a command line that it cannot read; it has no public name there."""

BAD_INPUT, NO_THEOREM, NO_VALUE, NO_PROMISE, NO_BUDGET, TAMPERED, NO_STORE, REFUSED = range(2, 10)


class Command(TyperCommand):
    """A command that answers an unknown option with the one that was probably meant."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except UsageError as error:
            error.message = error.message.removeprefix("Value error, ")  # type: ignore[attr-defined]  # of typer's parser
            if (wrong := getattr(error, "option_name", None)) and hasattr(error, "possibilities"):
                near = meant(wrong, [name for one in self.params for name in one.opts if name.startswith("--")])
                error.possibilities = [near] if near else error.possibilities
            raise


_ADJACENCY = re.compile(rf"(?:adjacency=)?(?:Adjacency\.)?\b({'|'.join(Adjacency.__members__)})\b")


def with_adjacency(words: str, said: Callable[[Adjacency], str]) -> str:
    """An error's words in which the neighbours to ask for are said in another way than in Python."""
    return _ADJACENCY.sub(lambda found: said(Adjacency[found[1]]), words)


def register(app: typer.Typer, name: str, function: Callable[..., Report], *, group: str = "") -> None:
    """Add the function as a command, with ``--json``; ``group`` is what stands before its name in errors."""

    signature = inspect.signature(function, eval_str=True)
    bundles: dict[str, type[Any]] = {
        one.name: one.annotation for one in signature.parameters.values() if _is_bundle(one.annotation)
    }

    @functools.wraps(function)
    def run(*, as_json: bool, **arguments: Any) -> None:
        for bundle, kind in bundles.items():
            arguments[bundle] = kind(**{field.name: arguments.pop(field.name) for field in fields(kind)})
        try:
            report = function(**arguments)
        except PrivacyError as error:
            words = with_adjacency(str(error), lambda one: f"--adjacency {one.value}")
            typer.echo(f"renyi {group}{name}: {words}", err=True)
            raise typer.Exit(exit_code(error)) from None
        if as_json:
            typer.echo(report.json())
        else:
            typer.echo(report.text())
            for message in report.messages:
                typer.echo(message, err=True)
        if report.promises_nothing:
            raise typer.Exit(NO_PROMISE)

    # typer reads options from the signature, so the wrapper shows that of the function, bundles opened, plus --json.
    option = inspect.Parameter(
        "as_json",
        inspect.Parameter.KEYWORD_ONLY,
        default=False,
        annotation=Annotated[bool, typer.Option("--json", help="Print the whole answer as JSON.")],
    )
    opened = [
        part
        for one in signature.parameters.values()
        for part in (_options(bundles[one.name]) if one.name in bundles else (one,))
    ]
    parameters = [*(one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in opened), option]
    run.__signature__ = signature.replace(parameters=parameters, return_annotation=None)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in run.__signature__.parameters.values()}  # type: ignore[attr-defined]
    app.command(name, cls=Command)(run)


def _is_bundle(annotation: object) -> bool:
    return isinstance(annotation, type) and is_dataclass(annotation)


def _options(bundle: type[Any]) -> tuple[inspect.Parameter, ...]:
    """The options that a dataclass of them holds."""
    return tuple(inspect.signature(bundle, eval_str=True).parameters.values())


def exit_code(error: PrivacyError) -> int:
    """The exit code of an error; what is none of the others is bad input."""
    from renyi.certificates.certificate import CertificateRefused
    from renyi.ledger.errors import Exhausted, TamperedLedger, Unavailable  # rooms that few commands need

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
        case CertificateRefused():
            return REFUSED
        case _:
            return BAD_INPUT
