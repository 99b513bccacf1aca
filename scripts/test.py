"""Everything that has to be green, in an environment of its own: linter, types, no skipped tests, tests.

Usage: python3 scripts/test.py [--fresh | --seed N] [pytest arguments]

The tests draw from seeds that the repository fixes. ``--fresh`` draws a new one and prints it; ``--seed`` repeats it.
"""

from __future__ import annotations

import argparse
import os
import re
import secrets
import subprocess
import sys
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SKIPPED = re.compile(r"\b(skip|skipif|xfail|importorskip|SkipTest|skipTest)\b")

BUDGET = 475
"""Seconds for everything after the installation, on two cores with nothing beside it: short enough to wait for. It is
printed beside the time that was taken; nothing fails by it."""


BROWSER_TESTS = "tests/web/browser"
NO_BROWSER = "FAILED: the browser part did not run (tests/web/browser); scripts/browser.py says how to get a browser"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--fresh", action="store_true", help="draw a new seed, and print it")
    chosen.add_argument("--seed", type=int, help="the seed that a run printed")
    arguments, selection = parser.parse_known_args()
    seed = fresh_seed() if arguments.fresh else arguments.seed
    if seed is not None:
        print(f"seed {seed}", flush=True)
    return check(".venv", ["-c", "constraints.txt", "-e", ".[test]"], selection, seed)


def check(environment: str, install: list[str], selection: list[str], seed: int | None = None) -> int:
    """Install into the environment, then run the linter, the formatter, the type checker and the tests there."""
    python = python_of(environment)
    if code := step("install", [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *install]):
        return code
    if hidden := skipped_tests():
        print("tests that do not run are not tests:", *hidden, sep="\n  ", file=sys.stderr)
        return 1
    # Without a browser everything else runs; the last line then says what did not, and the run has failed.
    without = step("browser", [python, "-m", "scripts.browser"])
    if without:
        selection = [f"--ignore={BROWSER_TESTS}", *selection]
    started = time.monotonic()
    code = (
        step("lint", [python, "-m", "ruff", "check", "."])
        or step("format", [python, "-m", "ruff", "format", "--check", "."])
        or step("types", [python, "-m", "mypy"])
        or step("tests", [python, *pytest_command(seed), "--durations=10", *selection], environment_of(seed))
    )
    print(f"{time.monotonic() - started:.0f} s of {BUDGET} s, without the installation", flush=True)
    if seed is not None:
        print(f"that was seed {seed}: python3 scripts/test.py --seed {seed} repeats it", flush=True)
    if without:
        print(NO_BROWSER, flush=True)
    return code or without


def fresh_seed() -> int:
    """A seed that nobody chose."""
    return secrets.randbits(32)


def pytest_command(seed: int | None) -> list[str]:
    """The arguments that run the tests on both cores; hypothesis takes its seed from the command line."""
    return ["-m", "pytest", "-n", "2", *([] if seed is None else [f"--hypothesis-seed={seed}"])]


def environment_of(seed: int | None) -> dict[str, str]:
    """Where the tests find the seed of a fresh run."""
    return {} if seed is None else {"RENYI_SEED": str(seed)}


def python_of(environment: str) -> str:
    """The interpreter of an environment of the repository, which is made if need be."""
    if sys.version_info < (3, 11):
        sys.exit(f"renyi needs Python 3.11 or newer; this is {sys.version.split()[0]}.")
    python = ROOT / environment / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    if not python.exists():
        print(f"making {environment}", flush=True)
        venv.create(ROOT / environment, with_pip=True)
    return str(python)


def step(name: str, command: list[str], variables: dict[str, str] | None = None) -> int:
    """Run one step, say how it went and how long it took, and return its exit code."""
    started = time.monotonic()
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("RENYI_")}
    # Two processes with two threads each would stand in each other's way.
    environment = inherited | {"OPENBLAS_NUM_THREADS": "1"} | (variables or {})
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
