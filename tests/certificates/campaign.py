"""`make certificates`: thirty tight certificates beside the truth, and ten by one Renyi order beside the accountant `Rdp`.

Then false certificates and hostile texts, each of which must be refused, the hostile ones within a second, and checkers without
one of their checks, each of which must accept a false one. Writes docs/certificates.json after each certificate: it can be
stopped and goes on where it was, as long as neither the room of certificates nor any code that an accountant imports has
changed.

Usage: python -m tests.certificates.campaign [--output docs/certificates.json] [--only NAME ...]
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import platform
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from renyi import (
    TCDP,
    ZCDP,
    Adjacency,
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    Exact,
    FinitePair,
    Gaussian,
    GaussianDP,
    Laplace,
    Poisson,
    PureDP,
    RandomizedResponse,
    Rdp,
    certify,
)
from renyi.certificates import checker
from tests.certificates import false, hostile
from tests.soundness.journal import CHANGED, tree_of_accountants, tree_of_source

RESULT = Path(__file__).parents[2] / "docs" / "certificates.json"
CLOSE, NO_HIGHER, SECONDS = 1e-4, 1e-9, 300.0
"""How far above the truth a tight certificate may lie, relatively; one by an order above `Rdp`; seconds of each."""

SOON = 1.0
"""Seconds within which a hostile text is refused."""

CLOSE_ENOUGH = ("closed form", "sum", "contour")
"""Methods whose answer serves as the truth: their ends agree to many digits."""

PRECISIONS = (96, 128, 256)


class Setting(NamedTuple):
    """An event and a question."""

    event: Event
    delta: float
    adjacency: str = "add-or-remove"


def steps(noise: float, rate: float, count: int) -> Event:
    return Gaussian(noise).on(Poisson(rate)) * count


TIGHT = {
    "one Gaussian release": Setting(Gaussian(3.0), 1e-6),
    "Gaussian releases, replace-one": Setting(Gaussian(1.5) * 40, 1e-12, "replace-one"),
    "a million Gaussian releases": Setting(Gaussian(30.0) * 1_000_000, 1e-9),
    "Laplace": Setting(Laplace(1.0), 1e-6),
    "Laplace, zero-out": Setting(Laplace(2.0) * 20, 1e-6, "zero-out"),
    "a thousand Laplace": Setting(Laplace(10.0) * 1000, 1e-10),
    "randomized response": Setting(RandomizedResponse(0.75) * 6, 1e-5),
    "randomized response on samples": Setting(RandomizedResponse(0.75).on(Poisson(0.1)) * 50, 1e-6),
    "pure levels": Setting(PureDP(0.1) * 100, 1e-8),
    "discrete Laplace": Setting(DiscreteLaplace(3.0, 2) * 50, 1e-7),
    "a finite pair on samples": Setting(FinitePair((0.5, 0.5, 0.0), (0.3, 0.3, 0.4)).on(Poisson(0.2)) * 10, 1e-6),
    "MNIST": Setting(steps(1.1, 256 / 60_000, 14_063), 1e-5),
    "a thousand steps": Setting(steps(1.1, 0.01, 1000), 1e-5),
    "one step": Setting(steps(1.2, 0.02, 1), 2.8e-7),
    "few steps": Setting(steps(3.0, 0.01, 25), 2.4e-7),
    "rare and small": Setting(steps(4.1, 1.55e-4, 2929), 6.1e-9),
    "the smallest rate": Setting(steps(1.3, 1e-4, 250_000), 6.1e-6),
    "the smallest rate, the smallest delta": Setting(steps(2.0, 1e-4, 1_000_000), 1e-12),
    "the smallest noise": Setting(steps(0.5, 0.007, 400_000), 2e-8),
    "small noise, few steps": Setting(steps(0.5, 0.01, 100), 1e-5),
    "small noise, large rate": Setting(steps(0.6, 0.8, 100_000), 9e-9),
    "the largest noise": Setting(steps(30.0, 0.01, 100_000), 1e-5),
    "the largest noise and rate": Setting(steps(30.0, 0.99, 1000), 1e-10),
    "a million steps": Setting(steps(1.5, 0.006, 1_000_000), 9e-6),
    "a million steps, zero-out": Setting(steps(10.0, 0.001, 1_000_000), 1e-8, "zero-out"),
    "steps and Laplace": Setting(steps(1.0, 0.001, 100_000) + Laplace(10.0) * 3, 1e-7),
    "two phases": Setting(steps(1.1, 0.01, 1000) + steps(0.8, 0.005, 500), 1e-5),
    "Gaussian and randomized response": Setting(Gaussian(3.0) + RandomizedResponse(0.6, 5) * 4, 1e-6),
    "three kinds": Setting(steps(2.0, 0.05, 200) + Laplace(5.0) * 10 + GaussianDP(0.3), 1e-6),
    "two releases on a draw, and more": Setting(
        (Gaussian(4.0) + Gaussian(6.0)).on(Poisson(0.05)) * 300 + DiscreteLaplace(8.0) * 2, 1e-6
    ),
}
"""Thirty, of which the last five are compositions of unlike parts."""

BY_ORDER = {
    "Gaussian, replace-one": Setting(Gaussian(1.3) * 7, 1e-5, "replace-one"),
    "steps": Setting(steps(1.1, 0.01, 1000), 1e-5),
    "many steps": Setting(steps(0.7, 0.001, 100_000), 1e-8),
    "Laplace": Setting(Laplace(3.0) * 30, 1e-6),
    "randomized response": Setting(RandomizedResponse(0.6, 3) * 40, 1e-5, "zero-out"),
    "zCDP and Laplace": Setting(ZCDP(0.01, 0.001) * 10 + Laplace(5.0), 1e-6),
    "tCDP": Setting(TCDP(0.01, 12.0) * 10, 1e-6),
    "discrete Laplace": Setting(DiscreteLaplace(4.0, 2) * 12, 1e-6, "replace-one"),
    "discrete Gaussian": Setting(DiscreteGaussian(5.0) * 10, 1e-6),
    "Gaussian and Laplace on samples": Setting((Gaussian(2.0) + Laplace(3.0)).on(Poisson(0.01)) * 100, 1e-6),
}


def tried(name: str, setting: Setting, route: str) -> dict[str, Any]:
    """A certificate, made and verified, beside what it must not leave."""
    event, delta, adjacency = setting
    started = time.process_time()
    made = certify(event, delta=delta, adjacency=Adjacency(adjacency), route=route)
    making = time.process_time() - started
    started = time.process_time()
    made.verify()
    verifying = time.process_time() - started
    for bits in PRECISIONS:
        made.verify(bits)
    row = {
        "name": name,
        "event": repr(event),
        "delta": delta,
        "adjacency": adjacency,
        "route": made.route,
        "epsilon": made.epsilon,
        "proofs": {relation.value: proof.words() for relation, proof in made.proofs},
        "seconds": {"made": round(making, 2), "verified": round(verifying, 2)},
    }
    if route == "contour":
        found = Exact().guarantee(event, delta=delta, adjacency=Adjacency(adjacency))
        truth = found.epsilon
        above = made.epsilon / truth.lower - 1.0
        close = 0.0 <= above <= CLOSE and any(method in found.method for method in CLOSE_ENOUGH)
        row |= {"truth": [truth.lower, truth.upper], "truth by": found.method, "relatively above": above}
    else:
        accounted = Rdp().epsilon(event, delta=delta, adjacency=Adjacency(adjacency)).upper
        above = made.epsilon - accounted
        close = above <= NO_HIGHER
        row |= {"Rdp": accounted, "above": above}
    return {**row, "holds": close and making + verifying <= SECONDS}


def refused(texts: dict[str, str | bytes]) -> dict[str, Any]:
    """How many texts the checker refuses, and the processor time of the slowest."""
    accepted, slowest = [], 0.0
    for name, text in texts.items():
        started = time.process_time()
        try:
            checker.verify(text)
        except checker.Refused:
            slowest = max(slowest, time.process_time() - started)
        else:
            accepted.append(name)
    return {"texts": len(texts), "accepted": accepted, "seconds of the slowest": round(slowest, 3)}


def mutants() -> dict[str, Any]:
    """How many checkers without one of their checks there are, and those that accept nothing false for it."""
    idle = []
    for name, (old, new, make) in false.MUTANTS.items():
        changed = false.mutant(old, new)
        try:
            changed.verify(json.dumps(make()))
        except changed.Refused:
            idle.append(name)
    return {"checkers": len(false.MUTANTS), "that accept nothing false": idle}


def settings() -> Iterator[tuple[str, Setting, str]]:
    for route, table in (("contour", TIGHT), ("renyi", BY_ORDER)):
        for name, setting in table.items():
            yield f"{route}: {name}", setting, route


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=RESULT)
    parser.add_argument("--only", nargs="*", help="names of settings; all by default")
    arguments = parser.parse_args()
    trees = {
        "tree of certificates": tree_of_source("src/renyi/certificates"),
        "tree of accountants": tree_of_accountants(),
    }
    if any(tree.endswith(CHANGED) for tree in trees.values()):
        print("commit the sources first, so that the result has a name", file=sys.stderr)
        return 2
    document = _known(arguments.output, trees)
    done = {row["name"] for row in document["certificates"]}
    for name, setting, route in settings():
        if name in done or (arguments.only and name not in arguments.only):
            continue
        row = tried(name, setting, route)
        document["certificates"].append(row)
        held = sum(one["holds"] for one in document["certificates"])
        document["held"], document["of"] = held, len(list(settings()))
        arguments.output.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        print(json.dumps({key: row[key] for key in ("name", "epsilon", "seconds", "holds")}), flush=True)
    document["false"] = refused({make.__name__: json.dumps(make()) for make in false.FALSE})
    document["hostile"] = refused(hostile.texts())
    document["mutants"] = mutants()
    arguments.output.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0 if holds(document) else 1


def holds(document: dict[str, Any]) -> bool:
    """Whether all of it is as it must be."""
    every = document["held"] == document["of"] and not document["mutants"]["that accept nothing false"]
    none = not document["false"]["accepted"] and not document["hostile"]["accepted"]
    return every and none and document["hostile"]["seconds of the slowest"] <= SOON


def _known(path: Path, trees: dict[str, str]) -> dict[str, Any]:
    """What an earlier run found of the same trees, or nothing."""
    if path.exists():
        found = json.loads(path.read_text(encoding="utf-8"))
        if {key: found.get(key) for key in trees} == trees:
            return dict(found)
    versions = {name: importlib.metadata.version(name) for name in ("python-flint", "numpy", "scipy")}
    return {**trees, "versions": {"python": platform.python_version(), **versions}, "certificates": []}


if __name__ == "__main__":
    sys.exit(main())
