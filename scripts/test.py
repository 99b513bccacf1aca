"""Everything that has to be green, in an environment of its own: linter, types, no skipped tests, tests.

Usage: python3 scripts/test.py [pytest arguments]
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SKIPPED = re.compile(r"\b(skip|skipif|xfail|importorskip|SkipTest|skipTest)\b")


def main() -> int:
    return check(".venv", ["-c", "constraints.txt", "-e", ".[test]"], sys.argv[1:])


def check(environment: str, install: list[str], selection: list[str]) -> int:
    """Install into the environment, then run the linter, the formatter, the type checker and the tests there."""
    python = python_of(environment)
    steps = [
        ("install", ["-m", "pip", "install", "-q", "--disable-pip-version-check", *install]),
        ("lint", ["-m", "ruff", "check", "."]),
        ("format", ["-m", "ruff", "format", "--check", "."]),
        ("types", ["-m", "mypy"]),
        ("tests", ["-m", "pytest", "-n", "2", *selection]),
    ]
    for name, arguments in steps:
        if name == "tests" and (hidden := skipped_tests()):
            print("tests that do not run are not tests:", *hidden, sep="\n  ", file=sys.stderr)
            return 1
        if code := step(name, [python, *arguments]):
            return code
    return 0


def python_of(environment: str) -> str:
    """The interpreter of an environment of the repository, which is made if need be."""
    if sys.version_info < (3, 11):
        sys.exit(f"renyi needs Python 3.11 or newer; this is {sys.version.split()[0]}.")
    python = ROOT / environment / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    if not python.exists():
        print(f"making {environment}", flush=True)
        venv.create(ROOT / environment, with_pip=True)
    return str(python)


def step(name: str, command: list[str]) -> int:
    """Run one step, say how it went and how long it took, and return its exit code."""
    started = time.monotonic()
    # Two processes with two threads each would stand in each other's way.
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    code = subprocess.run(command, cwd=ROOT, check=False, env=environment).returncode
    print(f"{name}: {'ok' if code == 0 else 'failed'} in {time.monotonic() - started:.0f} s", flush=True)
    return code


def skipped_tests() -> list[str]:
    """Every line under tests/ that would keep a test from running or from failing."""
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if SKIPPED.search(line)
    ]


if __name__ == "__main__":
    sys.exit(main())
