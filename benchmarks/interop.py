"""`make interop`: every comparison of docs/coming-from.md, run against the real packages in .venv-interop.

Writes docs/interop.json and the page's comparisons. TF-Privacy is installed without TensorFlow: its statement is one file that
needs dp-accounting alone.
"""

from __future__ import annotations

import ast
import importlib.metadata
import json
import logging
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

from benchmarks.interop_rows import ROWS, TF_PRIVACY, ZCDP, Row  # noqa: E402
from benchmarks.rdp import python_of  # noqa: E402

ENVIRONMENT = ROOT / ".venv-interop"
INSTALLS = (
    ["torch"],  # by itself: pinned, so that no peer pulls another build
    ["-e", ".[interop]", "prv-accountant", "autodp"],
    [
        "--no-deps",
        "--ignore-requires-python",
        TF_PRIVACY,
    ],  # it asks for TensorFlow and for older releases of everything
)
RESULT = ROOT / "docs" / "interop.json"
PAGE = ROOT / "docs" / "coming-from.md"
BEGIN, END = "<!-- interop: {} -->\n", "<!-- /interop -->\n"
"""Between these lines the page holds the comparisons of one library, or the faults."""

FAULTS = "faults"
AGREE = 1e-6
"""Relative distance of two ends that are shown as one number: six digits are printed."""

Answer = dict[str, Any]


def value_of(code: str, names: dict[str, Any]) -> Any:
    """The value of the last line of a snippet, which is run in ``names``."""
    tree = ast.parse(code)
    last = tree.body.pop()
    if not isinstance(last, ast.Expr):
        raise ValueError(f"the last line of a snippet is its answer; got {ast.unparse(last)}")
    exec(compile(tree, "<snippet>", "exec"), names)
    return eval(compile(ast.Expression(last.value), "<snippet>", "eval"), names)


def answers(value: Any) -> Answer:
    """Numbers by name: a float, or the two ends of an interval as a list."""
    named = value if isinstance(value, dict) else {"epsilon": value}
    return {
        name: [each.lower, each.upper] if hasattr(each, "upper") else float(each)  # an Interval, or a number
        for name, each in named.items()
    }


def compared(row: Row) -> dict[str, Any]:
    """Both answers of one row."""
    names: dict[str, Any] = {}
    theirs = answers(value_of(row.theirs, names))
    return {"library": row.library, "title": row.title, "theirs": theirs, "ours": answers(value_of(row.ours, names))}


def inside() -> dict[str, Any]:
    """All rows, in an environment with every peer."""
    logging.disable(logging.CRITICAL)  # dp-accounting logs orders that it leaves out
    sys.skip_tf_privacy_import = True  # type: ignore[attr-defined]  # TF-Privacy's own switch: do not load TensorFlow
    libraries = [library for library in dict.fromkeys(row.library for row in ROWS) if library != ZCDP]
    return {
        "versions": {library: importlib.metadata.version(library) for library in ("renyi", *libraries)},
        "rows": [compared(row) for row in ROWS],
    }


def shown(value: Any) -> str:
    """A number to six digits, or both ends if they are apart. Ours are rounded outwards."""
    from renyi.numerics.printing import rounded_down, rounded_up

    if value is None:
        return ""
    if not isinstance(value, list):
        return f"{value:.6g}"
    lower, upper = value
    together = upper - lower <= AGREE * upper
    return rounded_up(upper) if together else f"[{rounded_down(lower)}, {rounded_up(upper)}]"


def section(row: Row, found: dict[str, Any], versions: dict[str, str]) -> str:
    """One comparison in Markdown."""
    library = f"{row.library} {versions[row.library]}" if row.library in versions else "formula"
    # Our side has no version: the tests compute it again, so it is what any release since has to say.
    lines = [f"| | {library} | renyi |", "|---|---|---|"]
    for name in dict.fromkeys([*found["theirs"], *found["ours"]]):
        lines.append(f"| {name} | {shown(found['theirs'].get(name))} | {shown(found['ours'].get(name))} |")
    table = "\n".join(lines)
    code = "\n".join(f"```python\n{part.strip()}\n```\n" for part in (row.theirs, row.ours))
    return f"### {row.title}\n\n{code}\n{table}\n\n{row.why}\n"


def comparisons(result: dict[str, Any], part: str) -> str:
    """What stands on the page for one library, or for the faults."""
    pairs = zip(ROWS, result["rows"], strict=True)
    chosen = [(row, found) for row, found in pairs if part == (FAULTS if row.fault else row.library)]
    return "\n" + "\n".join(section(row, found, result["versions"]) for row, found in chosen) + "\n"


def renewed(page: str, result: dict[str, Any]) -> str:
    """The page with the comparisons of this result."""
    for part in (*dict.fromkeys(row.library for row in ROWS), FAULTS):
        before, begin, rest = page.partition(BEGIN.format(part))
        if not begin:
            raise ValueError(f"the page has no line {BEGIN.format(part).strip()}")
        _, end, after = rest.partition(END)
        page = before + begin + comparisons(result, part) + end + after
    return page


def write() -> None:
    """Run everything, in this environment, and write the result and the page."""
    result = inside()
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8"), result), encoding="utf-8")


def main() -> None:
    python = python_of(ENVIRONMENT)
    if not Path(python).exists():
        venv.create(ENVIRONMENT, with_pip=True)
    for packages in INSTALLS:
        install = [python, "-m", "pip", "install", "-q", "-c", "constraints.txt", *packages]
        subprocess.run(install, cwd=ROOT, check=True)
    alone = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    subprocess.run([python, "benchmarks/interop.py", "--inside"], cwd=ROOT, check=True, env=alone)


if __name__ == "__main__":
    write() if sys.argv[1:] == ["--inside"] else main()
