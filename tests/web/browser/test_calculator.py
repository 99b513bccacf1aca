"""The page in a real Chromium: every control, both themes, keyboard only, a phone's width, no script, bad input."""

from __future__ import annotations

from playwright.sync_api import expect

import renyi
from renyi import Gaussian, Poisson
from renyi.numerics.printing import rounded_up
from tests.web.browser.conftest import PATIENCE, PHONE, QUICK, shows, width


def epsilon(noise=2.0, rate=0.1, steps=20, delta=1e-5):
    return rounded_up(renyi.epsilon(Gaussian(noise).on(Poisson(rate)) * steps, delta=delta))


def test_a_slider_a_box_and_the_keyboard_move_the_answer(opened):
    tab = opened()
    shows(tab, epsilon())
    slider = tab.locator("input[data-for=noise]")
    slider.focus()
    tab.keyboard.press("ArrowRight")
    noise = float(tab.locator("#noise").input_value())
    assert noise > 2.0
    shows(tab, epsilon(noise=noise))
    assert f"noise={noise:g}" in tab.url  # the address is the permalink
    assert slider.get_attribute("aria-valuetext") == f"{noise:g}"
    tab.locator("#steps").fill("30")
    shows(tab, epsilon(noise=noise, steps=30))
    tab.keyboard.press("Shift+Tab")
    assert tab.evaluate("document.activeElement.dataset.for || document.activeElement.id") == "rate"
    tab.locator("#steps").fill("many")
    expect(tab.get_by_role("alert")).to_contain_text("not a whole number", timeout=PATIENCE)
    tab.locator("#steps").fill("20")
    shows(tab, epsilon(noise=noise))


def test_every_figure_can_be_found_by_keys_alone(opened):
    tab = opened()
    tab.locator("[name=solve][value=epsilon]").focus()
    for field, hidden in (("delta", "delta"), ("noise", "noise"), ("rate", "rate"), ("steps", "steps")):
        tab.keyboard.press("ArrowRight")
        expect(tab.locator(f"[name=solve][value={field}]")).to_be_checked()
        expect(tab.locator(f"[data-field={hidden}]")).to_be_hidden()
    expect(tab.locator("#answer h1")).to_have_text("Steps", timeout=PATIENCE)
    steps = renyi.calibrate(lambda n: Gaussian(2.0).on(Poisson(0.1)) * int(n), epsilon=2.0, delta=1e-5, integer=True)
    shows(tab, str(int(steps)))
    tab.locator("[name=by][value=sizes]").check()
    expect(tab.locator("#batch")).to_be_visible()
    expect(tab.locator("#rate")).to_be_hidden()


def test_lines_are_added_and_the_plots_and_the_curve_can_be_moved(opened):
    tab = opened(plots=True)
    expect(tab.locator("#plots canvas")).to_have_count(4, timeout=PATIENCE)
    read, moved = tab.locator(".read"), tab.locator("#alarms")
    expect(read).to_contain_text("accepts 1 % false alarms")
    moved.focus()
    tab.keyboard.press("End")
    expect(read).to_contain_text("accepts 100 % false alarms")
    over = tab.locator("[data-plot=trade-off] .u-over")
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    tab.mouse.move(box["x"] + 0.9 * box["width"], box["y"] + 20)
    tab.mouse.down()
    tab.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 40, steps=3)
    tab.mouse.up()
    expect(read).to_contain_text("accepts 5")
    before = tab.locator("#answer .number").inner_text()
    tab.get_by_text("Further releases").click()
    tab.locator("[data-line]").first.click()
    expect(tab.locator("#more")).to_have_value("laplace:noise_multiplier=10 times 3")
    expect(tab.locator("#answer .number")).not_to_have_text(before, timeout=PATIENCE)


def test_on_a_phone_in_the_dark_nothing_is_cut_off_and_the_answer_stays_in_sight(opened):
    tab = opened(viewport=PHONE, color_scheme="dark", has_touch=True, plots=True)
    shows(tab, epsilon())
    expect(tab.locator(".bar")).to_be_in_viewport()
    assert width(tab) == PHONE["width"]
    dark = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    tab.emulate_media(color_scheme="light")
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") != dark
    unnamed = tab.evaluate(
        "[...document.querySelectorAll('input:not([type=hidden]), select, textarea, button')]"
        ".filter(e => !e.labels?.length && !e.ariaLabel && !e.textContent.trim()).length"
    )
    assert unnamed == 0


def test_without_a_script_the_form_answers_by_itself(opened):
    tab = opened(java_script_enabled=False, viewport=PHONE)
    tab.locator("#noise").fill("3")
    tab.get_by_role("button", name="Compute").click()
    shows(tab, epsilon(noise=3.0))
    expect(tab.locator("input[type=range]").first).to_be_hidden()
    tab.get_by_role("link", name="Show the plots").click()
    expect(tab.locator("main svg[role=img]")).to_have_count(4)
    assert width(tab) == PHONE["width"]


def test_what_is_written_into_a_field_is_never_run(opened):
    tab = opened(f"{QUICK}&more=%3Cimg+src%3Dx+onerror%3Dalert(1)%3E")
    expect(tab.get_by_role("alert")).to_contain_text("<img src")
    assert tab.locator("img").count() == 0
