"""The site builds without a warning, every link of it leads somewhere, and what it writes by itself is what the code says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest
from docutils.utils.math import MathError
from scripts.pages import commands, docstrings, found, maths

from renyi.cli.main import COMMANDS, app

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MADE = {"benchmark.md", "benchmark-exact.md", "benchmark-rdp.md"}
"""Pages whose rows are labelled by parameters, such as ``sigma=1``; they hold no formulas."""


class Page(HTMLParser):
    """The anchors of a page, and what it refers to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path, self.anchors, self.links = path, {""}, []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.anchors |= {values[name] for name in ("id", "name") if values.get(name)}
        self.links += [values[name] for name in ("href", "src") if values.get(name)]


def broken(site: Path) -> list[str]:
    """Every link into the site that leads nowhere: a file that is not there, or an anchor that its page lacks."""
    pages = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    wrong = []
    for path, page in pages.items():
        for link in page.links:
            place, anchor = urldefrag(link)
            if re.match(r"[a-z]+:|//", place):  # elsewhere: not ours to ask
                continue
            target = (path.parent / unquote(place.partition("?")[0])).resolve() if place else path
            there = target.exists() and (target not in pages or unquote(anchor) in pages[target].anchors)
            if not there:
                wrong.append(f"{path.relative_to(site)}: {link}")
    return wrong


def test_the_site_builds_with_warnings_as_errors_and_no_link_of_it_is_broken(tmp_path):
    site = tmp_path / "site"
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", str(DOCS), str(site)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for page in (*DOCS.rglob("*.md"), *DOCS.rglob("*.ipynb")):
        assert (site / page.relative_to(DOCS)).with_suffix(".html").exists(), page
    assert broken(site) == []
    text = (site / "groups-and-tuning.html").read_text(encoding="utf-8")
    assert "<munderover>" in text  # a sum that a browser draws by itself
    for page in (site / "api").glob("*.html"):
        said = re.sub(r"<(pre|code|dt|script).*?</\1>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert not re.search(r"\^|&lt;=|&gt;=|\b[A-Za-z]_[a-z]\b", re.sub(r"<[^>]+>", "", said)), page
    assert not re.search(r'<(script|link)[^>]*(src|href)="(https?:)?//', text)  # nothing from another machine
    (site / "index.html").write_text('<a href="nowhere.html"></a><a href="guide.html#nothing"></a>', encoding="utf-8")
    assert set(broken(site)) >= {"index.html: nowhere.html", "index.html: guide.html#nothing"}


WRITTEN_AS_TEXT = re.compile(r"\^|<=|>=|\bsqrt\b|\b[A-Za-z]_[a-z0-9{(]|\b(alpha|sigma|gamma|lambda|eta|kappa)\b")


PAGES = sorted({*DOCS.rglob("*.md"), *DOCS.rglob("*.ipynb")} - {DOCS / name for name in MADE})


def prose(path: Path) -> str:
    """A page, or the texts between the code of a notebook."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return text
    return "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_formulas_are_drawn_and_not_typed(path):
    text = prose(path)
    text = re.sub(r"^( *)(`{3,}|:{3,}).*?^\1\2\s*$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"\$\$.*?\$\$|\$[^$]+\$|`[^`]*`|\]\([^)]*\)", "", text, flags=re.DOTALL)
    typed = [line for line in text.splitlines() if WRITTEN_AS_TEXT.search(line)]
    assert [line for line in typed if "known from 30 digits" not in line] == []


def test_a_formula_may_be_broken_after_a_relation_and_an_unknown_command_is_refused():
    assert maths.inline("a = b + c").count("<math") == 3
    assert maths.inline("f'(x)").count("\u2032") == 1
    assert maths.block(r"\frac{1}{2}").count("<mfrac>") == 1
    with pytest.raises(MathError):
        maths.block(r"\nosuchcommand")


FORMULAS = {
    "e^``epsilon`` times": r"e\ :sup:`epsilon`\  times",
    "e^(-x^2/(2 ``scale``^2)) to a": r"e\ :sup:`-x²/(2 scale²)`\  to a",
    "P_a(S) <= e^a Q(S), in units of 2^-128": r"P\ :sub:`a`\ (S) ≤ e\ :sup:`a`\  Q(S), in units of 2⁻¹²⁸",
    "``e^(-x)`` of noise_multiplier\n>>> x_a <= 2^3": "``e^(-x)`` of noise_multiplier\n>>> x_a <= 2^3",
}


@pytest.mark.parametrize("typed", FORMULAS)
def test_formulas_of_docstrings_are_drawn_and_names_and_examples_stay(typed):
    assert docstrings.drawn(typed) == FORMULAS[typed]


def test_the_reference_has_every_command_with_its_options_and_the_exit_codes():
    text = commands.reference()
    assert {words.split()[1] for words, _ in commands.commands()} == set(COMMANDS)
    for words, command in commands.commands():
        assert f"## `{words}`" in text
        assert words in command.help  # an example
    for option in ("--noise-multiplier NUMBER", "--fpr", "--key", "--bits INTEGER"):
        assert f"| `{option}" in text
    page = (DOCS / "commands.md").read_text(encoding="utf-8")
    assert commands.MARKER in page
    said = dict(re.findall(r"(\d) ([^;.]*)[;.]", app.info.epilog.split("Exit codes: ")[1]))
    shown = dict(re.findall(r"^\| (\d) \| (.*) \|$", page, flags=re.MULTILINE))
    assert set(shown) == set(said)


def test_every_number_of_the_page_of_findings_is_read_from_a_result():
    page = (DOCS / "checked.md").read_text(encoding="utf-8")
    assert set(found.NAMED.findall(page)) == set(found.numbers())
    assert "[[" not in found.filled(page)
    rows = [line for line in page.splitlines() if line.startswith("| ") and "`make " in line]
    for row in rows:
        assert not re.search(r"\d{3}", found.NAMED.sub("", row)), row
        target = re.search(r"`make ([\w-]+)`", row)[1]
        assert f"\n{target}:" in (ROOT / "Makefile").read_text(encoding="utf-8")
