"""The pages of all numbered results: `make theorems` writes docs/theorems.md and a page for each document."""

from __future__ import annotations

from pathlib import Path

from tests.theorems.errata import ERRATA
from tests.theorems.registry import ENTRIES, RESULTS, Entry, Kind

DOCS = Path(__file__).parents[2] / "docs"
TITLES = {
    "ZW": 'Zhu & Wang (2019), "Poisson Subsampled Renyi Differential Privacy", PMLR 97',
    "ZWs": 'The supplement of Zhu & Wang (2019), "Poisson Subsampled Renyi Differential Privacy"',
    "MTZ": 'Mironov, Talwar & Zhang (2019), "Renyi Differential Privacy of the Sampled Gaussian Mechanism", arXiv:1908.10530v1',
    "RN": '"Great but Manageable Expectations", notes on Renyi differential privacy, part 2 (and what it uses of part 1)',
}
NAMES = {"ZW": "zhu-wang", "ZWs": "zhu-wang-supplement", "MTZ": "mironov-talwar-zhang", "RN": "expectations"}
ABOUT = {
    "ZW": "What a Poisson sample does to the Renyi curve of any mechanism, and an accountant that keeps curves as functions.",
    "ZWs": "Its proofs, and the approximations with few terms.",
    "MTZ": "The sampled Gaussian: both directions, real orders, a closed form with its conditions.",
    "RN": "An exposition of Renyi differential privacy, of the accountant of TensorFlow Privacy, and of three routes to the "
    "guarantee of DP-SGD; more on the [routes](../routes.md).",
}


def pages() -> dict[Path, str]:
    """Every page, by its path."""
    return {
        DOCS / "theorems.md": index(),
        **{DOCS / "papers" / f"{NAMES[document]}.md": paper(document) for document in RESULTS},
    }


def index() -> str:
    functions = sum(entry.kind is Kind.FUNCTION for entry in ENTRIES)
    lines = [
        "# Theorem, function, test",
        "",
        "Written by `make theorems` from `tests/theorems/registry.py`; tests hold it to the code. Every numbered result of",
        "the papers that this library grew from: the function that is it, and the tests that hold it. For",
        f"{functions} of {len(ENTRIES)} the function is called and its value compared with one that is known "
        f"otherwise, closely",
        "enough that a value 1 % off is refused. What each says, and what is printed wrong, is on the page of its document.",
    ]
    for document in RESULTS:
        lines += ["", f"## {TITLES[document]}", "", f"[All of it](papers/{NAMES[document]}.md)", ""]
        lines += ["| result | in the library | held by |", "|---|---|---|"]
        lines += [
            f"| {entry.number} | {where(entry)} | {held(entry)} |" for entry in ENTRIES if entry.document == document
        ]
    return "\n".join(lines) + "\n"


def paper(document: str) -> str:
    lines = [
        f"# {TITLES[document]}",
        "",
        ABOUT[document],
        "",
        "Written by `make theorems`. Statements are in our own words, as they hold.",
        "",
        "## Printed otherwise",
        "",
        "| where | what holds |",
        "|---|---|",
        *(f"| {place} | {text} |" for place, text in ERRATA[document]),
        "",
        "## Result by result",
    ]
    for entry in ENTRIES:
        if entry.document != document:
            continue
        lines += ["", f"### {entry.number}", "", f"{entry.says[0].upper()}{entry.says[1:]}.", ""]
        lines += [f"- {entry.kind.value.capitalize()}: {where(entry)}", f"- Held by {held(entry)}"]
        if entry.expected is not None:
            lines.append(f"- For instance {float(entry.expected):.6g}, known from {entry.source}")
        if entry.kind is Kind.FIGURE and entry.function.startswith("renyi.plots"):
            lines.append("- Drawn on the page of [figures](../figures.md)")
    return "\n".join(lines) + "\n"


def where(entry: Entry) -> str:
    return f"`{entry.function}`"


def held(entry: Entry) -> str:
    return ", ".join(f"`{test.removeprefix('tests/')}`" for test in entry.tests)


if __name__ == "__main__":
    for path, text in pages().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
