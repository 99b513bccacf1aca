"""Writes constraints.txt anew: everything that renyi[test] needs, at the versions of the environment that runs this.

Usage: .venv-newest/bin/python -m scripts.pins
"""

from __future__ import annotations

from importlib.metadata import distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from scripts.test import ROOT

FILE = ROOT / "constraints.txt"
HEADING = "# What the test command installs, direct and transitive:"
# A build of torch for graphics cards brings libraries of its own, which it pins itself; builds for processors have none.
BROUGHT_BY_TORCH = ("cuda-", "nvidia-", "triton")


def required(name: str = "renyi", extras: tuple[str, ...] = ("test",)) -> dict[str, str]:
    """Name and version of every distribution that a requirement leads to, in this environment; local parts (+cpu) left out."""
    waiting = [(canonicalize_name(name), extra) for extra in ("", *extras)]
    seen = set(waiting)
    while waiting:
        name, extra = waiting.pop()
        for requirement in map(Requirement, distribution(name).requires or ()):
            needed = canonicalize_name(requirement.name)
            if needed.startswith(BROUGHT_BY_TORCH):
                continue
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                found = {(needed, inner) for inner in ("", *requirement.extras)} - seen
                seen |= found
                waiting += found
    return {name: Version(distribution(name).version).public for name in sorted({name for name, _ in seen} - {"renyi"})}


def main() -> None:
    kept = FILE.read_text(encoding="utf-8").split(HEADING)[0]
    pins = [f"{name}=={version}" for name, version in required().items()]
    FILE.write_text("\n".join([kept + HEADING, *pins, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
