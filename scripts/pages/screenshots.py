"""The pictures of the page in the documents, taken from a server that is started for them; writes docs/figures/page*.png.

Usage: python -m scripts.pages.screenshots [FOLDER]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright
from scripts import browser

from renyi import Filter, Gaussian, Laplace, Ledger, Poisson

FIGURES = Path(__file__).parents[2] / "docs" / "figures"


def main() -> int:
    folder = Path(sys.argv[1]) if sys.argv[1:] else FIGURES
    executable = browser.found()
    if executable is None:
        print(browser.NONE, file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as scratch:
        ledger = Path(scratch) / "budget.db"
        spent(ledger)
        command = [sys.executable, "-m", "renyi", "serve", "--port", "0", "--seconds", "300", "--ledger", ledger.name]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=scratch) as server:
            assert server.stderr is not None
            address = server.stderr.readline().split(" at ")[1].split()[0]
            try:
                with sync_playwright() as playwright:
                    running = playwright.chromium.launch(executable_path=executable, args=list(browser.FLAGS))
                    taken(running, address, folder)
            finally:
                server.terminate()
    for path in folder.glob("page*.png"):
        Image.open(path).convert("RGB").quantize(128).save(path, optimize=True)
    return 0


def spent(path: Path) -> None:
    """A ledger as it might look in summer."""
    with Ledger.open(path, who="ada") as ledger:
        ledger.create("register", Filter(epsilon=2.0, delta=1e-6), unit="person")
        ledger.allot(0.5, team="health", why="agreed in March")
        ledger.spend(Laplace(40.0) * 6, why="counts by district, spring")
        ledger.spend(Gaussian(12.0) * 4, team="health", why="mean stays by clinic")
        ledger.reserve(Gaussian(4.0).on(Poisson(0.01)) * 500, why="a model of waiting times", team="health")
        ledger.spend(Laplace(60.0) * 3, why="counts by age")


def taken(running: Browser, address: str, folder: Path) -> None:
    """Each picture, once everything on it is drawn."""
    desk = running.new_page(viewport={"width": 1280, "height": 900}, color_scheme="light")
    calculator(desk, address)
    desk.screenshot(path=folder / "page.png", full_page=True)
    desk.goto(f"{address}ledger?noise=&more=laplace%3Anoise_multiplier%3D50&budget=register")
    desk.wait_for_selector("svg .curve")
    desk.locator("text=, in ").evaluate("one => { one.textContent = one.textContent.replace(/in .*[/]/, 'in '); }")
    desk.screenshot(path=folder / "page-ledger.png", full_page=True)
    desk.goto(f"{address}samplers")
    desk.screenshot(path=folder / "page-samplers.png", full_page=True)
    phone = running.new_page(viewport={"width": 390, "height": 844}, color_scheme="dark", has_touch=True)
    calculator(phone, address)
    phone.locator("#answer").scroll_into_view_if_needed()
    phone.evaluate("document.querySelector('#answer').scrollIntoView()")
    phone.screenshot(path=folder / "page-phone.png")
    running.close()


def calculator(tab: Page, address: str) -> None:
    tab.set_default_timeout(300_000)
    tab.goto(address)
    tab.locator("#plots canvas").nth(3).wait_for()
    expect(tab.locator("#plots .waiting")).to_have_count(0)


if __name__ == "__main__":
    sys.exit(main())
