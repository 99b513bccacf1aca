"""The application: every page and answer by its address."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from renyi.errors import InvalidInput, PrivacyError
from renyi.web.form import Form, other_form
from renyi.web.gate import Gate
from renyi.web.layout import PLOTS
from renyi.web.leaving import Leaving
from renyi.web.ledger.pages import LedgerPages
from renyi.web.site import Settings, Site, in_address, refusal, refused
from renyi.web.statics import statics

_Handler = Callable[[Request], Awaitable[Response]]

_SOON = 0.1
"""Share of the seconds of a question for which the page waits for odds and mu; most runs take a tenth of that."""


def create_app(settings: Settings) -> Gate:
    """The application, whose workers live as long as it does; the gate stands around failures of ours, too."""
    site = Site(settings)
    calculator, ledger = _Calculator(site), LedgerPages(site)
    read: Sequence[tuple[str, _Handler]] = (
        ("/", calculator.page),
        ("/answer", calculator.answer),
        ("/odds", calculator.odds),
        ("/mu", calculator.mu),
        ("/curve", calculator.curve),
        ("/plots", calculator.plots),
        ("/samplers", calculator.samplers),
        ("/statement", calculator.statement),
        ("/event.json", calculator.event),
        ("/ledger", ledger.page),
        ("/ledger/spent", ledger.spent),
        ("/static/{name:path}", _Files().static),
    )
    written: Sequence[tuple[str, _Handler]] = (("/ledger/spend", ledger.spend),)
    pages = Starlette(
        routes=[
            *(Route(path, handler, methods=["GET"]) for path, handler in read),
            *(Route(path, handler, methods=["POST"]) for path, handler in written),
        ],
        middleware=[Middleware(Leaving)],
        exception_handlers={404: _missing, 405: _wrong_method, 500: _failed},
        lifespan=site.lifespan,
    )
    return Gate(pages, settings.hosts)


class _Calculator:
    """The pages about a run."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._asked, self._rendered = site.asked, site.rendered

    async def page(self, request: Request) -> Response:
        """The whole page, which needs no script."""
        try:
            form = _form(request)
        except PrivacyError as error:
            return self._page(Form(), answer=refusal(error), odds={}, mu={}, status=422)
        answer = await self._answer(form)
        odds: dict[str, Any] = {}
        mu: dict[str, Any] = {}
        if "refused" not in answer and not answer["promises_nothing"]:
            odds, mu = await asyncio.gather(self._soon("odds", form, quick=True), self._soon("mu", form))
        return self._page(form, answer=answer, odds=odds, mu=mu, status=answer.get("status", 200))

    async def _soon(self, name: str, form: Form, *, quick: bool = False) -> dict[str, Any]:
        """An answer that the page does not wait for if it takes long: the script asks again, and there is a link."""
        limit = _SOON * self._site.settings.seconds
        try:
            return await asyncio.wait_for(self._asked(name, form, quick=quick), limit)
        except TimeoutError:
            return {"later": name}

    def _page(self, form: Form, *, status: int, **parts: dict[str, Any]) -> Response:
        return self._rendered("page.html", status, form=form, **parts)

    async def answer(self, request: Request) -> Response:
        """The answer alone, for a page that has a script."""
        try:
            form = _form(request)
        except PrivacyError as error:
            return self._rendered("parts/answer.html", 422, form=Form(), answer=refusal(error))
        found = await self._answer(form)
        return self._rendered("parts/answer.html", found.get("status", 200), form=form, answer=found)

    async def _answer(self, form: Form) -> dict[str, Any]:
        """The answer, and that of the run to compare with if there is one."""
        found = await self._asked("answer", form, quick=True)
        if not form.beside or "refused" in found:
            return found
        try:
            other = other_form(form)
        except PrivacyError as error:
            return {**found, "other": refusal(error), "swapped": ""}
        return {
            **found,
            "other": await self._asked("answer", other, quick=True),
            "swapped": other.query(beside=form.query(beside="") or "solve=epsilon"),
        }

    async def odds(self, request: Request) -> Response:
        """The odds alone."""
        return await self._part(request, "odds", quick=True)

    async def mu(self, request: Request) -> Response:
        """The mu of Gaussian differential privacy alone."""
        return await self._part(request, "mu")

    async def _part(self, request: Request, name: str, *, quick: bool = False) -> Response:
        template = f"parts/{name}.html" if "hx-request" in request.headers else "part.html"
        try:
            form = _form(request)
            found = await self._asked(name, form, quick=quick)
        except PrivacyError as error:
            form, found = Form(), refusal(error)
        return self._rendered(template, found.get("status", 200), form=form, part=name, **{name: found})

    async def curve(self, request: Request) -> Response:
        """The numbers of a plot."""
        try:
            kind, form = _with_kind(request, "kind", "profile")
            return JSONResponse(await self._site.workers.ask("curve", form.to_dict(), kind))
        except PrivacyError as error:
            found = refusal(error)
            return JSONResponse({"refused": found["refused"]}, found["status"])

    async def plots(self, request: Request) -> Response:
        """All plots, drawn here: a page without a script."""
        try:
            form = _form(request)
        except PrivacyError as error:
            return refused(error)
        found = await asyncio.gather(*(self._asked("drawn", form, kind) for kind in PLOTS))
        return self._rendered("plots.html", 200, form=form, plots=found)

    async def samplers(self, request: Request) -> Response:
        """What the same noise costs by other samplers."""
        try:
            form = _form(request)
        except PrivacyError as error:
            return refused(error)
        found = await self._asked("samplers", form)
        return self._rendered("samplers.html", found.get("status", 200), form=form, samplers=found)

    async def statement(self, request: Request) -> Response:
        """The statement as a file."""
        try:
            kind, form = _with_kind(request, "form", "html")
        except PrivacyError as error:
            return refused(error)
        found = await self._asked("filed", form, kind)
        if "refused" in found:
            return PlainTextResponse(f"{found['refused']}\n", found["status"])
        disposition = {"content-disposition": f'attachment; filename="{found["name"]}"'}
        return Response(found["text"], headers=disposition, media_type=f"{found['media']}; charset=utf-8")

    async def event(self, request: Request) -> Response:
        """The run as an event in JSON, for ``renyi epsilon --event``."""
        try:
            found = await self._asked("answer", _form(request), quick=True)
        except PrivacyError as error:
            return refused(error)
        if "refused" in found or found["event"] is None:
            return PlainTextResponse(f"{found.get('refused', 'the event is too large')}\n", found.get("status", 422))
        disposition = {"content-disposition": 'attachment; filename="run.json"'}
        return Response(found["event"], headers=disposition, media_type="application/json")


class _Files:
    """The files of the list, read once."""

    def __init__(self) -> None:
        self._statics = statics()

    async def static(self, request: Request) -> Response:
        """A file of the list."""
        found = self._statics.get(request.path_params["name"])
        if found is None:
            return PlainTextResponse("There is no such file.\n", 404)
        headers = {"etag": found.tag, "cache-control": "no-cache", "content-type": found.media}
        if request.headers.get("if-none-match") == found.tag:
            return Response(status_code=304, headers=headers)
        return Response(found.body, headers=headers)


def _form(request: Request) -> Form:
    return Form.of(in_address(request))


def _with_kind(request: Request, name: str, default: str) -> tuple[str, Form]:
    """A field of its own beside those of the form."""
    pairs = in_address(request)
    kinds = [text for key, text in pairs if key == name]
    if len(kinds) > 1:
        raise InvalidInput(f"the field {name} is given twice.")
    return kinds[0] if kinds else default, Form.of([pair for pair in pairs if pair[0] != name])


async def _missing(request: Request, error: Exception) -> Response:
    return PlainTextResponse("There is no such page.\n", 404)


async def _wrong_method(request: Request, error: Exception) -> Response:
    return PlainTextResponse("This page is read by GET.\n", 405)


async def _failed(request: Request, error: Exception) -> Response:
    return PlainTextResponse("This should not have happened; the messages of the server say more.\n", 500)
