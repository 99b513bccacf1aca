"""Builds the archives as they would be published, and tries them where nothing else of ours is.

Usage: python3 -m scripts.package

The wheel is built from the source archive. It is then installed without extras into an environment of its own, outside of the
repository, where the README's command must print its number; then with each extra into another one, so that an extra must bring
by itself what its room needs. The large ones (``training``, ``recipes``, ``interop``, ``docs``) are resolved and not installed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from scripts.test import ROOT, python_of, step

ENVIRONMENT = ".venv-package"
DIST = ROOT / "dist"
RUN = [
    "--noise-multiplier",
    "1.1",
    "--batch-size",
    "256",
    "--dataset-size",
    "60000",
    "--epochs",
    "60",
    "--delta",
    "1e-5",
]
ANSWER = "2.38169"
LOADS = {
    "plot": "import renyi.plots, matplotlib",
    "ledger": "from renyi import Ledger; Ledger.open('budget.db', who='me').close()",
    "postgres": "import psycopg; from renyi import Ledger",
    "certify": "import renyi; renyi.certify(renyi.Gaussian(8.0) * 5, delta=1e-6).verify()",
    "web": "import renyi.web.serving",
}
"""What each of the small extras must be enough for."""

LARGE = ("training", "recipes", "interop", "docs")


def main() -> int:
    python = python_of(ENVIRONMENT)
    pinned = ["-c", str(ROOT / "constraints.txt")]
    shutil.rmtree(DIST, ignore_errors=True)
    return (
        step("tools", [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *pinned, "build"])
        or step("archives", [python, "-m", "build", "--outdir", str(DIST), str(ROOT)])
        or tried(next(DIST.glob("*.whl")), pinned)
    )


def tried(wheel: Path, pinned: list[str]) -> int:
    """The wheel alone, and with each extra, where nothing else is."""
    for extra in ("", *LOADS):
        with environment(pinned) as (pip, asked):
            if code := step(extra or "the wheel alone", [*pip, f"{wheel}[{extra}]" if extra else str(wheel)]):
                return code
            if (found := asked("-m", "renyi", "epsilon", *RUN)) != ANSWER:
                print(f"the README's command prints {found!r}, not {ANSWER}", file=sys.stderr)
                return 1
            if extra and (found := asked("-c", LOADS[extra])):
                print(f"with the extra {extra} alone: {found}", file=sys.stderr)
                return 1
    with environment(pinned) as (pip, _):
        return sum(step(extra, [*pip, "--dry-run", f"{wheel}[{extra}]"]) for extra in LARGE)


@contextmanager
def environment(pinned: list[str]) -> Iterator[tuple[list[str], Callable[..., str]]]:
    """A new environment in a folder of its own: how to install into it, and what a program prints there."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder) / ("Scripts" if sys.platform == "win32" else "bin") / "python")

        def asked(*arguments: str) -> str:
            done = subprocess.run([python, *arguments], cwd=folder, capture_output=True, text=True, check=False)
            return done.stdout.strip() if done.returncode == 0 else done.stderr

        yield [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *pinned], asked


if __name__ == "__main__":
    sys.exit(main())
