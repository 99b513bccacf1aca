"""`make bench-per-record`: a million rates at once beside single calls, in one run; docs/benchmark-per-record.json."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import renyi
from renyi import Gaussian, Poisson, Rdp

RESULT = Path(__file__).resolve().parent.parent / "docs" / "benchmark-per-record.json"
RECORDS, CHECKED, STEPS, DELTA = 1_000_000, 1_000, 1_000, 1e-5


def main() -> int:
    rng = np.random.default_rng(20261116)
    rates = np.exp(rng.uniform(np.log(1e-6), np.log(0.1), RECORDS))
    started = time.perf_counter()
    answers = renyi.per_record(Gaussian(1.0), rates=rates, steps=STEPS, delta=DELTA)
    together = (time.perf_counter() - started) / RECORDS
    chosen = rng.choice(RECORDS, CHECKED, replace=False)
    started = time.perf_counter()
    single = np.array(
        [
            renyi.epsilon(Gaussian(1.0).on(Poisson(float(r))) * STEPS, delta=DELTA, accountant=Rdp())
            for r in rates[chosen]
        ]
    )
    alone = (time.perf_counter() - started) / CHECKED
    above = answers[chosen] / single - 1.0
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    result = {
        "commit": commit,
        "versions": {name: importlib.metadata.version(name) for name in ("renyi", "numpy", "scipy")},
        "records": RECORDS,
        "distinct rates": int(np.unique(rates).size),
        "cost per record relative to a single call": together / alone,
        "checked records": CHECKED,
        "least above the single call, relative": float(above.min()),
        "most above the single call, relative": float(above.max()),
    }
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))
    return 0 if together / alone <= 1e-3 and above.min() >= 0.0 and above.max() <= 1e-4 else 1


if __name__ == "__main__":
    sys.exit(main())
