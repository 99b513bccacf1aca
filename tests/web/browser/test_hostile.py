"""What another site makes a browser do: nothing is read, framed or charged, also under a name that leads to this machine."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from tests.web.browser.conftest import ELSEWHERE, PATIENCE
from tests.web.conftest import TOKEN

SITE = f"http://{ELSEWHERE}/"


@pytest.fixture
def elsewhere(chromium, address):
    """A tab at another site's page, and the statuses that our server gives to what it asks."""
    context = chromium.new_context()
    context.route(f"{SITE}**", lambda route: route.fulfill(body="<p>hello", content_type="text/html"))
    tab = context.new_page()
    tab.set_default_timeout(PATIENCE)
    statuses = []
    tab.on("response", lambda answer: statuses.append(answer.status) if answer.url.startswith(address) else None)
    tab.goto(SITE)
    yield tab, statuses
    context.close()


LOADED = """([kind, url]) => new Promise(done => {
  const one = document.createElement(kind);
  one.onload = () => done("loaded");
  one.onerror = () => done("refused");
  one.src = url;
  document.body.append(one);
})"""


@pytest.mark.parametrize(("kind", "path"), [("img", "static/icon.svg"), ("script", "static/page.js")])
def test_another_site_loads_nothing(elsewhere, address, kind, path):
    tab, statuses = elsewhere
    assert tab.evaluate(LOADED, [kind, f"{address}{path}"]) == "refused"
    assert set(statuses) <= {403}


def test_another_site_frames_nothing(elsewhere, address):
    tab, statuses = elsewhere
    tab.evaluate(LOADED, ["iframe", address])
    assert set(statuses) <= {403}
    assert all("Privacy loss" not in frame.content() for frame in tab.frames)


def test_another_site_reads_nothing(elsewhere, address):
    tab, statuses = elsewhere
    read = "url => fetch(url).then(answer => answer.text(), () => 'refused')"
    assert tab.evaluate(read, f"{address}answer?noise=2") == "refused"
    assert set(statuses) <= {403}


POSTED = """([url, fields]) => {
  const form = Object.assign(document.createElement("form"), { method: "post", action: url });
  for (const name in fields) form.append(Object.assign(document.createElement("input"), { name, value: fields[name] }));
  document.body.append(form);
  form.submit();
}"""


def test_another_site_charges_nothing_even_if_it_knows_the_token(elsewhere, address):
    tab, statuses = elsewhere
    fields = {"budget": "clinics", "more": "laplace:noise_multiplier=40", "noise": "", "token": TOKEN, "key": "hostile"}
    with tab.expect_navigation():
        tab.evaluate(POSTED, [f"{address}ledger/spend", fields])
    assert statuses == [403]
    assert "not those of other sites" in tab.content()


def test_another_site_may_link_to_the_page(elsewhere, address):
    tab, statuses = elsewhere
    with tab.expect_navigation():
        tab.evaluate("url => { location.href = url; }", f"{address}samplers?more=laplace:noise_multiplier=1")
    assert statuses[0] == 422  # answered: there is nothing to compare for such a run


def test_a_foreign_name_that_leads_here_is_refused(chromium, address):
    context = chromium.new_context()
    tab = context.new_page()
    assert tab.goto(f"http://{ELSEWHERE}:{urlsplit(address).port}/", timeout=PATIENCE).status == 421
    context.close()
