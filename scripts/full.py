"""The tests in their long form: full products where the test command takes covering sets, under a fresh seed.

Writes docs/full-tests.json, which names the commit that was tested: so it is run on committed files only.

Usage: python3 -m scripts.full [--seed N]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from xml.etree import ElementTree

from scripts.test import ROOT, environment_of, fresh_seed, pytest_command, python_of, step

RESULT = ROOT / "docs" / "full-tests.json"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, help="the seed that a run printed; a fresh one by default")
    given = parser.parse_args().seed
    seed = fresh_seed() if given is None else given
    if changes := git("status", "--porcelain", "--", "src", "tests"):
        print(f"commit these first, so that the result has a name:\n{changes}", file=sys.stderr)
        return 2
    commit, tree = git("rev-parse", "HEAD"), git("rev-parse", "HEAD:src")
    print(f"seed {seed}, commit {commit}", flush=True)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [python_of(".venv"), *pytest_command(seed), f"--junitxml={report}", "--durations=10"]
        code = step("full tests", command, environment_of(seed) | {"RENYI_FULL": "1"})
        if not report.exists():
            print("the tests ended before their time: there is no result to write", file=sys.stderr)
            return code or 1
        counts = counted(report)
    document = {
        "commit": commit,
        "tree of src": tree,
        "seed": seed,
        **counts,
        "seconds": round(time.monotonic() - started),
        "outcome": "passed" if code == 0 else "failed",
    }
    RESULT.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(document))
    return code


def counted(report: Path) -> dict[str, int]:
    """How many tests there were, and how many of them failed."""
    (suite,) = ElementTree.parse(report).getroot().iter("testsuite")
    return {"tests": int(suite.attrib["tests"]), "failed": int(suite.attrib["failures"]) + int(suite.attrib["errors"])}


def git(*command: str) -> str:
    return subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
