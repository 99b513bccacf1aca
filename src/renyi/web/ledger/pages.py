"""The ledger's pages: looking at a budget, trying a release, and charging it with the token."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from renyi.errors import InvalidInput, PrivacyError
from renyi.web.form import Form
from renyi.web.ledger.fields import Charging
from renyi.web.site import Site, in_address, pairs_of, refusal, refused
from renyi.web.workers import OutOfTime, Refused

_NONE = "This page was started without a ledger. To see one here: renyi serve --ledger budget.db"
_READ_ONLY = "This page was started to read the ledger only. To charge from here: renyi serve --ledger ... --token"
_WRONG_TOKEN = "Nothing was charged: this is not the token that `renyi serve` wrote when it was started."
_UNKNOWN = (
    "Nobody knows whether this was charged. Draw no noise; charge it again under the same key, which costs no more."
)

_STATUS = {"Exhausted": 409, "KeyReused": 409, "Unavailable": 503}
"""Errors of a ledger that are not about what was asked, but about what is there."""


class LedgerPages:
    """The handlers; without a ledger they say how to start with one."""

    def __init__(self, site: Site) -> None:
        self._site, self._where, self._token = site, site.settings.ledger, site.settings.token

    async def page(self, request: Request) -> Response:
        """A budget, and what a run would do to it if the address describes one."""
        if self._where is None:
            return PlainTextResponse(f"{_NONE}\n", 404)
        try:
            charging, form = _read(in_address(request))
        except PrivacyError as error:
            return refused(error)
        # The words of a charge are written by whoever charges, and never by a link.
        return await self._page(replace(charging, who="", why="", key=""), form)

    async def spent(self, request: Request) -> Response:
        """How a budget was spent, as a drawing."""
        if self._where is None:
            return PlainTextResponse(f"{_NONE}\n", 404)
        try:
            charging, _ = _read(in_address(request))
        except PrivacyError as error:
            return refused(error)
        found = await self._asked("spent", charging)
        return self._site.rendered("spent.html", found.get("status", 200), charging=charging, plot=found)

    async def spend(self, request: Request) -> Response:
        """Charge what was posted."""
        if self._where is None or self._token is None:
            return PlainTextResponse(f"{_NONE if self._where is None else _READ_ONLY}\n", 403)
        try:
            pairs = await _posted(request)
            tokens = [text for name, text in pairs if name == "token"]
            charging, form = _read([pair for pair in pairs if pair[0] != "token"])
            if form is None:
                raise InvalidInput("say what is to be charged.")
        except PrivacyError as error:
            return refused(error)
        if len(tokens) != 1 or not hmac.compare_digest(tokens[0].encode(), self._token.encode()):
            return await self._page(charging, form, {"refused": _WRONG_TOKEN, "status": 403})
        return await self._page(charging, form, await self._asked("spend", charging, form))

    async def _page(self, charging: Charging, form: Form | None, charged: dict[str, Any] | None = None) -> Response:
        book = await self._asked("book", charging)
        done = charged is not None and "refused" not in charged
        tried = None
        if form is not None and not done and "name" in book:
            tried = await self._asked("what_if", replace(charging, budget=book["name"]), form)
        status = 200 if charged is None else charged.get("status", 200)
        return self._site.rendered(
            "ledger.html",
            status if status != 200 else book.get("status", 200),
            charging=charging,
            form=form,
            book=book,
            tried=tried,
            charged=charged,
            key=charging.key or f"page-{secrets.token_hex(8)}",
        )

    async def _asked(self, name: str, charging: Charging, form: Form | None = None) -> dict[str, Any]:
        """A worker's answer, or why there is none."""
        described = () if form is None else (form.to_dict(),)
        try:
            return await self._site.workers.ask_ledger(name, self._where, *described, charging.to_dict())
        except Refused as error:
            return {"refused": str(error), "status": _STATUS.get(error.kind, 422)}
        except OutOfTime as error:
            found = refusal(error)
            if name == "spend":
                found |= {"refused": f"{_UNKNOWN} ({found['refused']})", "unknown": True}
            return found
        except PrivacyError as error:
            return refusal(error)


async def _posted(request: Request) -> list[tuple[str, str]]:
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != "application/x-www-form-urlencoded":
        raise InvalidInput("what is charged is posted as a form of this page posts it.")
    return pairs_of(await request.body())


def _read(pairs: Sequence[tuple[str, str]]) -> tuple[Charging, Form | None]:
    """What is said of a charge, and the run if there is one."""
    charging, rest = Charging.split(pairs)
    return charging, Form.of(rest) if rest else None
