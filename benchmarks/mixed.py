"""`make bench-mixed COMMIT=...`: unlike releases beside an earlier commit. Writes docs/benchmark-mixed.json.

Two processes, one for each source, answer the same questions in turn, every cache emptied before each answer; what counts is
processor time. Forty unlike queries, one parameter calibrated beside them, and two hundred random runs of the campaign
(``tests/soundness/exact_campaign.py``) that have a JSON form and that both sources can read.
"""

from __future__ import annotations

import importlib
import json
import statistics
import sys
from typing import Any

import numpy as np

from benchmarks.beside import ROOT, Answerer, both, tree

RESULT = ROOT / "docs" / "benchmark-mixed.json"
SEED, RUNS, ROUNDS = 20261123, 200, 7
DELTA, ALLOWED = 1e-6, 1.2
"""Of the forty queries; and by how much epsilon may grow by the one that is calibrated beside them."""

CALIBRATED = "Laplace", "Gaussian", "ExponentialMechanism", "DiscreteGaussian"


def forty() -> str:
    """Ten Laplace counts, Gaussian sums, exponential mechanisms and discrete Gaussians each, no two alike."""
    from renyi import Composed, DiscreteGaussian, ExponentialMechanism, Gaussian, Laplace

    kinds = [
        (
            Laplace(8.0 + 0.7 * i),
            Gaussian(12.0 + 1.3 * i),
            ExponentialMechanism(0.05 + 0.013 * i),
            DiscreteGaussian(9.0 + 0.9 * i),
        )
        for i in range(10)
    ]
    return Composed(tuple(one for four in kinds for one in four)).to_json()


def timed(question: dict[str, Any], old: Answerer, new: Answerer, rounds: int) -> dict[str, float]:
    """The median seconds of both sources."""
    pairs = [(old.seconds(question), new.seconds(question)) for _ in range(rounds)]
    before, now = (statistics.median(times) for times in zip(*pairs, strict=True))
    return {"then": before, "now": now, "times faster": before / now}


def unlike(old: Answerer, new: Answerer) -> dict[str, Any]:
    """Forty queries, and what calibrating one more takes, over one epsilon."""
    queries = {"event": forty(), "delta": DELTA}
    found: dict[str, Any] = {"forty queries": timed(queries, old, new, ROUNDS)}
    epsilon = float(new.answer(queries)[1])
    for name in CALIBRATED:
        times = timed({**queries, "calibrated": name, "epsilon": ALLOWED * epsilon}, old, new, 1)
        one = found["forty queries"]
        found[f"{name} calibrated beside them, over one epsilon"] = {
            when: times[when] / one[when] for when in ("then", "now")
        }
    return found


def random_runs(old: Answerer, new: Answerer) -> dict[str, Any]:
    """The campaign's first runs that both sources read: seconds in the median, at the 99th percentile, and the ratios."""
    from renyi import NotSerialisable

    campaign = importlib.import_module("tests.soundness.exact_campaign")
    events = importlib.import_module("tests.soundness.random_events")
    rows: list[tuple[float, float]] = []
    number = -1
    while len(rows) < RUNS:
        number += 1
        point = campaign.point(SEED, number)
        try:
            text = events.event_of(point.terms).to_json()
        except NotSerialisable:
            continue
        question = {"event": text, "delta": point.delta, "epsilon": point.epsilon, "adjacency": point.adjacency.name}
        before, _ = old.answer(question)
        if before is not None:
            rows.append((before, new.seconds(question)))
    then, now = np.array(rows).T
    quantiles = {"median": 0.5, "90th percentile": 0.9, "99th percentile": 0.99}
    return {
        **{
            name: {
                "then": float(np.quantile(then, q)),
                "now": float(np.quantile(now, q)),
                "times faster": float(np.quantile(then, q) / np.quantile(now, q)),
            }
            for name, q in quantiles.items()
        },
        "all": {"then": float(then.sum()), "now": float(now.sum()), "times faster": float(then.sum() / now.sum())},
        "median of the ratios": float(np.median(then / now)),
    }


def main() -> int:
    sys.path[:0] = [str(ROOT), str(ROOT / "src")]
    commit = sys.argv[1] if len(sys.argv) > 1 else "f32e2ab"
    with both(commit) as (old, new):
        result = {
            "beside": commit,
            "tree of src": tree(),
            "settings": f"processor seconds, one thread, caches emptied before each answer; medians of {ROUNDS} rounds of the "
            f"forty queries at delta {DELTA}, all else asked once; calibrations to {ALLOWED} times their epsilon; seed {SEED}",
            "unlike": unlike(old, new),
            "random runs": random_runs(old, new),
        }
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
