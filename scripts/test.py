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
ENVIRONMENT = ROOT / ".venv"
PYTHON = ENVIRONMENT / ("Scripts" if sys.platform == "win32" else "bin") / "python"
SKIPPED = re.compile(r"\b(skip|skipif|xfail|importorskip|SkipTest|skipTest)\b")


def main() -> int:
    if sys.version_info < (3, 11):
        print(f"renyi needs Python 3.11 or newer; this is {sys.version.split()[0]}.", file=sys.stderr)
        return 2
    if not PYTHON.exists():
        print("making .venv", flush=True)
        venv.create(ENVIRONMENT, with_pip=True)
    install = ["-m", "pip", "install", "-q", "--disable-pip-version-check", "-c", "constraints.txt", "-e", ".[test]"]
    steps = [
        ("install", install),
        ("lint", ["-m", "ruff", "check", "."]),
        ("format", ["-m", "ruff", "format", "--check", "."]),
        ("types", ["-m", "mypy"]),
        ("tests", ["-m", "pytest", "-n", "2", *sys.argv[1:]]),
    ]
    # Two processes with two threads each would stand in each other's way.
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    for name, arguments in steps:
        if name == "tests" and (hidden := skipped_tests()):
            print("tests that do not run are not tests:", *hidden, sep="\n  ", file=sys.stderr)
            return 1
        started = time.monotonic()
        code = subprocess.run([str(PYTHON), *arguments], cwd=ROOT, check=False, env=environment).returncode
        print(f"{name}: {'ok' if code == 0 else 'failed'} in {time.monotonic() - started:.0f} s", flush=True)
        if code:
            return code
    return 0


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
