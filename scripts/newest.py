"""Tries the newest of everything but torch, in an environment of its own: the whole test command.

Usage: python3 -m scripts.newest [pytest arguments]
"""

from __future__ import annotations

import sys

from scripts.test import ROOT, check

PINS = "tests/house/test_constraints.py"  # there the installed versions are the pinned ones; here they are newer


def main() -> int:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    (torch,) = (line for line in lines if line.startswith("torch=="))
    install = ["--upgrade", "--upgrade-strategy", "eager", "-e", ".[test]", torch]
    return check(".venv-newest", install, [f"--ignore={PINS}", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
