"""What all pages share: the workers, the templates, and how a refusal is answered."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

import renyi
from renyi.errors import InvalidInput, PrivacyError
from renyi.report.forms.hundred import hundred
from renyi.web.form import Form, on_the_page
from renyi.web.layout import FIELDS, MORE_EXAMPLES, PLOTS
from renyi.web.workers import Busy, OutOfTime, Workers

_MOST_FIELDS = 40
"""Fields of an address, or of what is posted: there are half as many."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What ``renyi serve`` was started with; ``hosts`` are those under which the page is reached, ports included.

    ``ledger`` names a file or a database, perhaps with a password, and ``token`` is what a charge has to bring; without one
    the page writes nothing.
    """

    hosts: frozenset[str]
    workers: int = 2
    seconds: float = 20.0
    ledger: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)


class Site:
    """Workers and templates, and nothing of any visitor."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.workers = Workers.of(
            workers=settings.workers, seconds=settings.seconds, ledger=settings.ledger is not None
        )
        self._templates = Environment(
            loader=PackageLoader("renyi.web"),
            autoescape=select_autoescape(default=True),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.globals |= {
            "version": renyi.__version__,
            "fields": FIELDS,
            "examples": MORE_EXAMPLES,
            "plots": PLOTS,
            "hundred": lambda found: Markup(hundred(found)),
            "has_ledger": settings.ledger is not None,
            "may_write": settings.token is not None,
        }

    @contextlib.asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """Start workers before they are asked, and end them."""
        warming = asyncio.create_task(self.workers.warm())
        try:
            yield
        finally:
            warming.cancel()
            await asyncio.wait([warming])
            await self.workers.end()

    async def asked(self, name: str, form: Form, *more: Any, quick: bool = False) -> dict[str, Any]:
        """A worker's answer, or why there is none."""
        try:
            return await self.workers.ask(name, form.to_dict(), *more, quick=quick)
        except PrivacyError as error:
            return refusal(error)

    def rendered(self, template: str, status: int, **values: Any) -> Response:
        """A page."""
        return HTMLResponse(self._templates.get_template(template).render(**values), status)


def pairs_of(text: bytes) -> list[tuple[str, str]]:
    """The fields of an address, or of what a form posts."""
    try:
        return parse_qsl(text.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise InvalidInput(f"there are at most {_MOST_FIELDS} fields, in UTF-8.") from None


def in_address(request: Request) -> list[tuple[str, str]]:
    """The fields of a request's address."""
    return pairs_of(request.scope["query_string"])


def refusal(error: PrivacyError) -> dict[str, Any]:
    """Why there is no answer, and the status that says whose turn it is."""
    return {"refused": on_the_page(error), "status": 503 if isinstance(error, Busy | OutOfTime) else 422}


def refused(error: PrivacyError) -> Response:
    """The same as a page of one line."""
    found = refusal(error)
    return PlainTextResponse(f"{found['refused']}\n", found["status"])
