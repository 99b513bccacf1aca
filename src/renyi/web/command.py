"""``renyi serve``: the local page, until it is interrupted."""

from __future__ import annotations

import importlib.util
import secrets
from typing import Annotated

import typer

from renyi.cli.ledger import place
from renyi.errors import InvalidInput, PrivacyError
from renyi.report import Report

Port = Annotated[int, typer.Option(help="The port; 0 takes any that is free.")]
Seconds = Annotated[float, typer.Option(help="How long one question may take before it is ended.")]
Workers = Annotated[int, typer.Option(help="Processes for quick questions, and as many for plots.")]

Ledger = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        envvar="RENYI_SERVE_LEDGER",
        show_envvar=True,
        help="Show a ledger, too: a file, or a URL such as postgresql+psycopg://user@host/database. A URL with a password "
        "belongs into the environment variable: others can see the arguments of a command. Whoever has an account on this "
        "machine can then read the budgets and their history.",
    ),
]
Token = Annotated[
    bool,
    typer.Option("--token", help="Allow to charge releases to the ledger by a token, which is printed at the start."),
]

_LONGEST, _MOST_WORKERS = 3600.0, 64
"""Limits of the limits: an hour, and more processes than a machine for one person has."""


def command(
    port: Port = 8484, seconds: Seconds = 20.0, workers: Workers = 2, ledger: Ledger = None, token: Token = False
) -> Report:
    """Serve the calculator as a page for browsers on this machine, until it is interrupted (Ctrl-C).

    Examples:

        renyi serve

        renyi serve --port 9000

        renyi serve --ledger budget.db --token
    """
    if not 0 <= port <= 65_535:
        raise InvalidInput(f"--port is a number from 0 to 65535; got {port}.")
    if not 1.0 <= seconds <= _LONGEST:
        raise InvalidInput(f"--seconds is a number from 1 to {_LONGEST:g}; got {seconds:g}.")
    if not 1 <= workers <= _MOST_WORKERS:
        raise InvalidInput(f"--workers is a number from 1 to {_MOST_WORKERS}; got {workers}.")
    missing = [name for name in ("starlette", "uvicorn", "jinja2") if importlib.util.find_spec(name) is None]
    if missing:
        raise PrivacyError(f"the page needs {' and '.join(missing)}: pip install 'renyi[web]', in a clone '.[web]'")
    if token and ledger is None:
        raise InvalidInput("a token lets the page charge releases to a ledger: say to which by --ledger.")
    if ledger is not None:
        with place.opened(ledger):
            pass  # what is wrong with it is said now, and not to the first visitor
    from renyi.web.serving import serve

    address = serve(
        port,
        workers=workers,
        seconds=seconds,
        ledger=ledger,
        token=secrets.token_urlsafe(24) if token else None,
        say=lambda text: typer.echo(text, err=True),
    )
    return Report((address,), ("Stopped.",), {"address": address})
