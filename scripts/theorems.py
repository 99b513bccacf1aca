"""Writes docs/theorems.md and docs/papers/: every numbered result of the papers, its function, the tests that hold it.
"tests that hold it.

Usage: .venv/bin/python scripts/theorems.py
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    runpy.run_module("tests.theorems.page", run_name="__main__")
