"""Every control of the calculator does what it says; keys reach all of them; words can be read in both themes."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

import renyi
from renyi import Adjacency, Gaussian, Laplace, Poisson
from renyi.numerics.printing import rounded_up
from renyi.web.form import Form
from renyi.web.layout import FIELDS
from tests.web.browser.conftest import PATIENCE, PHONE, shows, width

RUN = Gaussian(2.0).on(Poisson(0.1)) * 20


def costs(event, **options):
    return rounded_up(renyi.epsilon(event, delta=1e-5, **options))


@pytest.mark.parametrize("by", ["rate", "sizes"])
def test_every_slider_moves_its_box_and_every_box_its_slider(opened, by):
    form = Form(solve="delta", by=by, noise="2", rate="0.1", steps="20", batch="100", dataset="1000", epochs="2")
    tab = opened(form.query())
    fields = [field.name for field in FIELDS if field.by in ("", by) and field.name != "delta"]
    assert tab.locator("#calculator input[type=range]:visible").count() == len(fields)
    moved = {}
    for name in fields:
        slider, box = tab.locator(f"[data-for={name}]"), tab.locator(f"#{name}")
        before, place = box.input_value(), slider.input_value()
        slider.press("PageUp")  # a tenth of its length: one step may round to the same whole number
        moved[name] = box.input_value()
        assert float(moved[name]) > float(before)
        assert slider.get_attribute("aria-valuetext") == moved[name]
        box.fill(before)
        assert slider.input_value() == place
        box.fill(moved[name])
    asked = Form(**{**form.to_dict(), **moved})
    expect(tab.locator("#permalink")).to_have_attribute("href", f"/?{asked.query()}", timeout=PATIENCE)


def test_neighbours_and_a_whole_event(opened):
    tab = opened()
    tab.get_by_label("Neighbours differ in").select_option("zero-out")
    shows(tab, costs(RUN, adjacency=Adjacency.ZERO_OUT))
    expect(tab.locator("#sentence")).to_contain_text("blanked out")
    tab.get_by_text("A whole event as JSON instead").click()
    tab.get_by_label("An event, or a guarantee").fill((Laplace(4.0) * 3).to_json())
    shows(tab, costs(Laplace(4.0) * 3, adjacency=Adjacency.ZERO_OUT))
    tab.get_by_role("link", name="Start again").click()
    shows(tab, "2.38169")


def test_no_answer_to_an_earlier_run_stands_beside_new_numbers(opened):
    tab = opened()
    held = []
    tab.route("**/answer?*", lambda route: held.append(route))
    with tab.expect_request("**/answer?*"):
        tab.locator("#noise").fill("3")
    for part in ("answer", "odds", "mu"):
        expect(tab.locator(f"#{part}")).to_have_attribute("aria-busy", "true")
    held.pop().abort()
    expect(tab.get_by_role("alert")).to_contain_text("The server did not answer")
    expect(tab.locator("#permalink")).to_have_count(0)
    tab.unroute_all()
    tab.locator("#noise").fill("4")
    shows(tab, costs(Gaussian(4.0).on(Poisson(0.1)) * 20))
    expect(tab.locator("[aria-busy=true]")).to_have_count(0)


def test_another_run_beside_this_one_and_the_two_exchanged(opened):
    tab = opened()
    tab.get_by_role("link", name="Compare with another run").click()
    expect(tab.get_by_role("heading", name="The other run")).to_be_visible()
    tab.locator("#noise").fill("3")
    third = Gaussian(3.0).on(Poisson(0.1)) * 20
    shows(tab, costs(third))
    other = tab.locator(".other .number")
    expect(other).to_contain_text(costs(RUN))
    tab.get_by_role("link", name="Exchange the two").click()
    shows(tab, costs(RUN))
    expect(other).to_contain_text(costs(third))
    tab.get_by_role("link", name="Only this run").click()
    expect(other).to_have_count(0)


def test_what_is_taken_away_is_the_run(opened):
    tab = opened(permissions=["clipboard-read", "clipboard-write"])
    for summary in tab.locator("#answer summary").all():
        summary.click()
    for language in ("python", "shell"):
        code = tab.locator(f"[data-lang={language}]")
        code.locator("xpath=../..").get_by_role("button", name="copy").click()
        expect(code.locator("xpath=../..").get_by_role("button")).to_have_text("copied")
        assert tab.evaluate("navigator.clipboard.readText()") == code.inner_text()
    for name, suffix in (("statement (HTML)", "html"), ("Markdown", "md"), ("YAML for the registry", "yaml")):
        with tab.expect_download() as file:
            tab.get_by_role("link", name=name).click()
        assert file.value.suggested_filename == f"statement.{suffix}"
    with tab.expect_download() as file:
        tab.get_by_role("link", name="event (JSON)").click()
    assert renyi.from_json(file.value.path().read_text(encoding="utf-8")) == RUN
    link = tab.locator("#permalink").get_attribute("href")
    assert (
        tab.locator("#answer .known").count()
        == tab.locator("#answer [aria-label='Published figures'] tbody tr").count()
    )
    shows(opened(link.partition("?")[2]), costs(RUN))


def test_samplers_stand_side_by_side(opened):
    tab = opened(viewport=PHONE)
    tab.get_by_role("link", name="Samplers side by side").click()
    rows = tab.locator("tbody tr")
    expect(rows).to_have_count(4)
    expect(rows.first).to_contain_text(costs(RUN))
    assert width(tab) == PHONE["width"]
    tab.locator("summary").first.click()
    expect(tab.locator("details p").first).to_be_visible()
    tab.get_by_role("link", name="Back to the run").click()
    shows(tab, costs(RUN))


STOPS = """() => [...document.querySelectorAll(
    "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']"
  )].filter(one => one.checkVisibility() && !(one.type === "radio" && !one.checked)).length"""

HERE = """() => { const one = document.activeElement, ring = one.closest(".pill")?.querySelector("span") || one;
    one.dataset.seen = "yes"; return getComputedStyle(ring).outlineStyle; }"""


def test_the_keyboard_reaches_every_control_and_shows_where_it_is(opened):
    tab = opened(plots=True)
    expect(tab.locator("#plots canvas")).to_have_count(4, timeout=PATIENCE)
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.textContent") == "To the answer"
    for _ in range(stops := tab.evaluate(STOPS)):
        assert tab.evaluate(HERE) != "none"
        tab.keyboard.press("Tab")
    assert tab.locator("[data-seen]").count() == stops
    tab.get_by_text("To the answer").focus()
    tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.id") == "main"


PALE = """() => {
  const parts = text => text.match(/[0-9.]+/g).map(Number);
  const linear = c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = text => { const [r, g, b] = parts(text).map(c => linear(c / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = one => { for (; one; one = one.parentElement) {
    const colour = getComputedStyle(one).backgroundColor;
    if (parts(colour)[3] !== 0) return colour; } return "rgb(255, 255, 255)"; };
  const pale = [];
  for (const one of document.querySelectorAll("body *")) {
    if (![...one.childNodes].some(node => node.nodeType === 3 && node.data.trim()) || !one.checkVisibility()) continue;
    const style = getComputedStyle(one), ink = light(one.closest("svg") ? style.fill : style.color), paper = light(behind(one));
    const contrast = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    if (contrast < 4.5) pale.push(`${one.textContent.trim().slice(0, 40)}: ${contrast.toFixed(2)}`);
  }
  return pale;
}"""
"""Words whose contrast with what is behind them is below 4.5, as WCAG 2.2 (1.4.3) asks for."""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("page", ["", "ledger"])
def test_words_can_be_read_in_both_themes(opened, theme, page):
    tab = opened("" if page else "noise=2", page=page, color_scheme=theme)
    assert tab.evaluate(PALE) == []
