"""Who is let in: hosts, origins, methods, sizes, paths; and the headers of whatever goes out."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from renyi.web.app import create_app
from renyi.web.gate import HEADERS, MOST_PATH, MOST_QUERY
from renyi.web.site import Settings
from renyi.web.statics import NAMES
from tests.web.conftest import HOST


@pytest.mark.parametrize("path", ["/", "/answer?noise=x", "/nowhere", "/static/page.css", "/static/nowhere"])
def test_every_answer_carries_the_headers(page, path):
    headers = page.get(path).headers
    for name, value in HEADERS.items():
        assert headers[name] == value or (name == "cache-control" and headers[name] == "no-cache")


def test_an_answer_to_a_failure_of_ours_carries_them_too(monkeypatch):
    async def fails(self, request):
        raise RuntimeError

    monkeypatch.setattr("renyi.web.app._Calculator.page", fails)
    app = create_app(Settings(frozenset({HOST}), workers=1))
    with TestClient(app, base_url=f"http://{HOST}", raise_server_exceptions=False) as client:
        found = client.get("/")
    assert (found.status_code, "RuntimeError" in found.text) == (500, False)
    assert found.headers.items() >= HEADERS.items()


def test_the_policy_allows_nothing_inline_and_nothing_from_elsewhere(page):
    policy = HEADERS["content-security-policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert "http" not in policy
    text = page.get("/").text
    for inline in ("<style", "style=", "onclick", "onload", "javascript:", "http://", "https://", "hx-on"):
        assert inline not in text, inline
    assert text.count("<script src=") == text.count("<script")


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8484", "localhost", "localhost:8485", "localhost:8484.evil", ""]
)
def test_a_foreign_name_that_points_here_is_refused(page, host):
    assert page.get("/", headers={"host": host}).status_code == 421


def test_either_name_of_this_machine_is_taken(page):
    assert page.get("/static/icon.svg", headers={"host": "127.0.0.1:8484"}).status_code == 200
    assert page.get("/static/icon.svg", headers={"host": "LOCALHOST:8484"}).status_code == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://localhost:8484", "http://localhost:8484.evil", ""]
)
def test_other_origins_are_refused(page, origin):
    assert page.get("/static/icon.svg", headers={"origin": origin}).status_code == 403


def test_our_own_origin_is_taken(page):
    assert page.get("/static/icon.svg", headers={"origin": "http://localhost:8484"}).status_code == 200


@pytest.mark.parametrize(
    ("mode", "dest", "status"),
    [("navigate", "document", 200), ("navigate", "iframe", 403), ("no-cors", "image", 403), ("cors", "empty", 403)],
)
def test_other_sites_may_link_to_the_page_and_not_load_or_frame_it(page, mode, dest, status):
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": mode, "sec-fetch-dest": dest}
    assert page.get("/static/icon.svg", headers=headers).status_code == status


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"])
def test_other_methods_are_refused(page, method):
    assert page.request(method, "/").status_code == 405


def test_what_is_posted_needs_an_origin_and_a_place(page):
    assert page.post("/").status_code == 403
    assert page.post("/", headers={"origin": "http://localhost:8484"}).status_code == 405


def test_oversized_requests_are_refused_unread(page):
    assert page.get("/?more=" + "a" * MOST_QUERY).status_code == 414
    assert page.get("/" + "a" * MOST_PATH).status_code == 414
    assert page.request("GET", "/", content=b"a").status_code == 413
    headers = {"origin": "http://localhost:8484"}
    assert page.post("/", content=b"a" * 50_000, headers=headers).status_code == 413
    assert page.post("/", content=iter([b"a"]), headers=headers).status_code == 411
    assert page.get("/", headers={"content-length": "9" * 5000}).status_code == 413
    assert page.get("/", headers={"content-length": "-1"}).status_code == 413


@pytest.mark.parametrize("name", NAMES)
def test_every_file_of_the_list_is_there_and_is_named_for_what_it_is(page, name):
    found = page.get(f"/static/{name}")
    assert found.status_code == 200
    assert found.content
    again = page.get(f"/static/{name}", headers={"if-none-match": found.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static/vendor/../../app.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/page.css%00.js",
        "/static/",
        "/static/vendor",
        "/templates/base.html",
        "/..%5c..%5capp.py",
    ],
)
def test_no_path_leads_outside_the_list(page, path):
    found = page.get(path)
    assert found.status_code == 404
    assert "import" not in found.text


def test_the_vendored_files_carry_their_licences(page):
    assert "Zero-Clause BSD" in page.get("/static/vendor/htmx-LICENSE.txt").text
    assert "MIT License" in page.get("/static/vendor/uplot-LICENSE.txt").text
