"""The ledger in a real Chromium: a release is tried and charged, by keys, on a phone, with and without a script."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.web.browser.conftest import PATIENCE, PHONE, width
from tests.web.conftest import TOKEN


@pytest.mark.parametrize("script", [True, False], ids=["with a script", "without"])
def test_a_release_is_tried_and_charged_once(opened, script):
    tab = opened("budget=clinics", page="ledger", java_script_enabled=script)
    key = f"browser {script}"
    tab.get_by_label("Releases, one a line").fill("laplace:noise_multiplier=40")
    tab.get_by_role("button", name="Would it fit?").click()
    expect(tab.get_by_role("status")).to_have_text("It fits")
    entries = tab.get_by_role("heading", name="History")
    before = entries.inner_text()

    def charge(token):
        tab.get_by_label("What it is for").fill("ages")
        tab.get_by_label("Key:").fill(key)
        tab.get_by_label("Token").fill(token)
        tab.get_by_label("Token").press("Enter")

    charge("a guess")
    expect(tab.get_by_role("alert")).to_contain_text("not the token")
    assert entries.inner_text() == before
    charge(TOKEN)
    expect(tab.get_by_role("status")).to_contain_text("entry")
    assert entries.inner_text() != before
    tab.reload()  # posts the same once more
    expect(tab.get_by_text("Charged before, under this key")).to_be_visible()


def test_the_run_of_the_calculator_is_tried_and_a_budget_is_chosen(opened):
    tab = opened("by=rate&rate=0.1&steps=20&noise=40")
    tab.get_by_role("link", name="Would a budget admit it?").click()
    expect(tab.get_by_role("status")).to_have_text("It fits")
    tab.get_by_label("Team").select_option("health")
    tab.get_by_role("button", name="Would it fit?").click()
    expect(tab.locator("#what-if .sentence")).to_contain_text("paid by team health")
    tab.get_by_role("navigation", name="Budgets").get_by_role("link", name="clinics").click()
    expect(tab.get_by_role("heading", level=1)).to_have_text("clinics")


def test_on_a_phone_nothing_of_the_ledger_is_cut_off(opened):
    tab = opened("budget=census", page="ledger", viewport=PHONE, color_scheme="dark")
    expect(tab.locator("svg .curve").first).to_be_visible(timeout=PATIENCE)
    assert width(tab) == PHONE["width"]
    for table in tab.locator("table").all():
        assert table.evaluate("one => !!one.closest('.scroll')")
