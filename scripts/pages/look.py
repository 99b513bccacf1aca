"""Opens every page of the site in a browser, at the widths of a desk and of a phone: what sticks out, and a picture of each.

Usage: python -m scripts.pages.look SITE [PICTURES]    SITE is what sphinx-build wrote; PICTURES a folder for the pictures
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import sync_playwright
from scripts import browser

WIDTHS = (1280, 390)

STICKS_OUT = """
() => {
  const wide = document.documentElement.clientWidth, found = [];
  if (document.documentElement.scrollWidth > wide) found.push(`the page is ${document.documentElement.scrollWidth} wide`);
  for (const one of document.querySelectorAll("article *")) {
    const style = getComputedStyle(one), box = one.getBoundingClientRect();
    const cut = (style.overflowX === "hidden" || style.overflowX === "clip") && one.scrollWidth > one.clientWidth + 1;
    if (cut && box.width > 1) found.push(`${one.tagName} is cut off: ${one.textContent.trim().slice(0, 60)}`);
    let around = one.parentElement;
    while (around && !["auto", "scroll", "hidden"].includes(getComputedStyle(around).overflowX)) around = around.parentElement;
    const out = !around && box.width && box.right > wide + 1;
    if (out) found.push(`${one.tagName} ends at ${box.right}: ${one.textContent.trim().slice(0, 60)}`);
  }
  return found;
}
"""
"""What is wider than the page, or cut off, and cannot be scrolled to."""


def pages(site: Path) -> list[Path]:
    """The pages that somebody wrote, and the index."""
    return [path for path in sorted(site.rglob("*.html")) if not path.relative_to(site).as_posix().startswith("_")]


def looked(site: Path, paths: list[Path], width: int, pictures: Path | None = None) -> Iterator[str]:
    """What sticks out of pages of the site at a width."""
    executable = browser.found()
    assert executable, browser.NONE
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=executable, args=list(browser.FLAGS))
        tab = running.new_page(viewport={"width": width, "height": 900})
        for path in paths:
            tab.goto(path.as_uri())
            name = path.relative_to(site).as_posix()
            yield from (f"{name} at {width}: {one}" for one in tab.evaluate(STICKS_OUT))
            if pictures:
                picture = f"{name.replace('/', '-').removesuffix('.html')}-{width}.png"
                tab.screenshot(path=pictures / picture, full_page=True)
        running.close()


def main() -> int:
    site, *pictures = (Path(text).resolve() for text in sys.argv[1:])
    for folder in pictures:
        folder.mkdir(parents=True, exist_ok=True)
    found = [one for width in WIDTHS for one in looked(site, pages(site), width, *pictures)]
    print("\n".join(found) or f"nothing sticks out of {len(pages(site))} pages at widths of {WIDTHS}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
