"""`make bench-rdp`: the Renyi accountant beside its peers, in one run. Writes docs/benchmark-rdp.json and .md.

The peers live in an environment of their own (.venv-peers), made here; a peer that cannot be installed or imported fails the
target. Each library runs in its own worker process, and the workers take turns, so that all meet the same machine. Only ratios
of times measured in the same run are claimed.
"""

from __future__ import annotations

import json
import math
import platform
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OURS, THEIRS = ROOT / ".venv", ROOT / ".venv-peers"
RESULT = ROOT / "docs" / "benchmark-rdp"
PEERS = ("dp-accounting", "opacus")
ROUNDS = 7
RATE, NOISE = 0.01, 1.0
RUNS = [  # rate, noise multiplier, steps, delta
    (0.01, 1.0, 10_000, 1e-5),
    (256 / 60_000, 1.1, 14_063, 1e-5),
    (1e-3, 0.6, 100_000, 1e-6),
    (1e-5, 0.4, 1_000_000, 1e-8),
    (0.5, 10.0, 1_000, 1e-6),
    (1.0, 5.0, 100, 1e-5),
    (0.02, 0.3, 500, 1e-5),
    (1e-3, 30.0, 5_000_000, 1e-10),
]


def python_of(environment: Path) -> str:
    return str(environment / ("Scripts" if sys.platform == "win32" else "bin") / "python")


def prepare(*, ours: bool = True) -> None:
    """Make the environments; ``ours`` only where something runs in it."""
    for environment, wanted in ((OURS, ["-e", "."]), (THEIRS, ["torch", "typer", *PEERS]))[0 if ours else 1 :]:
        if not Path(python_of(environment)).exists():
            venv.create(environment, with_pip=True)
        for package in (["torch"], wanted) if environment == THEIRS else (wanted,):
            # torch first and by itself: pinned, so that no peer pulls another build of it
            install = ["-m", "pip", "install", "-q", "-c", "constraints.txt", *package]
            subprocess.run([python_of(environment), *install], cwd=ROOT, check=True)


class Worker:
    """One library in one process; it answers one question at a time."""

    def __init__(self, name: str, environment: Path) -> None:
        self.name = name
        script = ROOT / "benchmarks" / "rdp_worker.py"
        self._process = subprocess.Popen(
            [python_of(environment), str(script), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        self.versions: dict[str, str] = self.ask({"task": "versions"})

    def ask(self, question: dict[str, Any]) -> Any:
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError(f"{self.name} has no pipes")
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} died at {question}")
        return json.loads(line)

    def close(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()


def questions() -> list[dict[str, Any]]:
    orders = {
        "integers 2..1024": [float(n) for n in range(2, 1025)],
        "1.1, 1.2, ..., 10.9": [n / 10 for n in range(11, 110)],
    }
    curve = [
        {"task": "curve", "label": label, "rate": RATE, "noise": NOISE, "orders": values}
        for label, values in orders.items()
    ]
    runs = [
        {
            "task": "epsilon",
            "label": f"q={q:g} sigma={s:g} T={t:g} delta={d:g}",
            "rate": q,
            "noise": s,
            "steps": t,
            "delta": d,
        }
        for q, s, t, d in RUNS
    ]
    return curve + runs


def measure(workers: list[Worker]) -> list[dict[str, Any]]:
    """Rounds in which the workers take turns at every question; the first is a warm-up and is kept apart."""
    rows: list[dict[str, Any]] = []
    for index in range(ROUNDS + 1):
        for question in questions():
            for worker in workers:
                answer = worker.ask(question)
                rows.append(
                    {
                        "round": index,
                        "library": worker.name,
                        "task": question["task"],
                        "label": question["label"],
                        "seconds": answer["seconds"],
                        "value": answer["value"],
                    }
                )
            print(".", end="", flush=True)
    print()
    return rows


def best(rows: list[dict[str, Any]], library: str, label: str) -> float:
    return min(r["seconds"] for r in rows if r["library"] == library and r["label"] == label and r["round"] > 0)


def value(rows: list[dict[str, Any]], library: str, label: str) -> float:
    return next(float(r["value"]) for r in rows if r["library"] == library and r["label"] == label)


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    curves = [q["label"] for q in questions() if q["task"] == "curve"]
    runs = [q["label"] for q in questions() if q["task"] == "epsilon"]
    sampled = [label for label, run in zip(runs, RUNS, strict=True) if run[0] < 1]
    total = {name: sum(best(rows, name, label) for label in curves) for name in ("renyi", *PEERS)}
    ratio = {label: min(best(rows, peer, label) for peer in PEERS) / best(rows, "renyi", label) for label in sampled}
    looser = [label for label in runs for peer in PEERS if value(rows, "renyi", label) > value(rows, peer, label)]
    return {
        "curve: times faster than each peer": {peer: total[peer] / total["renyi"] for peer in PEERS},
        "epsilon: times faster than the faster peer, geometric mean over q < 1": math.exp(
            sum(map(math.log, ratio.values())) / len(ratio)
        ),
        "epsilon: looser than a peer at": looser,
    }


def page(result: dict[str, Any]) -> str:
    rows, facts = result["rows"], result["summary"]
    curve = facts["curve: times faster than each peer"]
    speed = facts["epsilon: times faster than the faster peer, geometric mean over q < 1"]
    loose = facts["epsilon: looser than a peer at"]
    lines = [
        "# The Renyi accountant beside its peers",
        "",
        f"Written by `make bench-rdp` at commit {result['commit']} on Python {result['python']}: all libraries in one",
        f"run, workers taking turns, the best of {ROUNDS} rounds after a warm-up. Times are one machine's and noisy; only",
        "their ratios are claimed. For epsilon every library takes its own default orders (ours are all real ones). Raw rows:",
        "benchmark-rdp.json.",
        "",
        "Versions: " + "; ".join(f"{k} {v}" for k, v in sorted(result["versions"].items())) + ".",
        "",
        f"- Renyi curve of the sampled Gaussian (q = {RATE:g}, sigma = {NOISE:g}), both arrays of orders summed: "
        + ", ".join(f"{ratio:.0f} times faster than {peer}" for peer, ratio in curve.items())
        + ".",
        f"- epsilon by `Rdp`: {speed:.1f} times faster than the faster of the two peers"
        " (geometric mean over the runs with q < 1).",
        f"- Looser than a peer in {len(loose)} of {len(RUNS)} runs.",
        "",
        "| question | " + " | ".join(f"{name}, ms" for name in ("renyi", *PEERS)) + " |",
        "|---|" + "---:|" * 3,
    ]
    for question in questions():
        label = question["label"]
        times = [f"{1e3 * best(rows, name, label):.3g}" for name in ("renyi", *PEERS)]
        lines.append(f"| {'curve at ' if question['task'] == 'curve' else ''}{label} | " + " | ".join(times) + " |")
    lines += [
        "",
        "| run | " + " | ".join(f"{name}, epsilon" for name in ("renyi", *PEERS)) + " |",
        "|---|" + "---:|" * 3,
    ]
    for question in questions():
        if question["task"] == "epsilon":
            label = question["label"]
            lines.append(
                f"| {label} | " + " | ".join(f"{value(rows, name, label):.7g}" for name in ("renyi", *PEERS)) + " |"
            )
    return "\n".join(lines) + "\n"


def main() -> int:
    prepare()
    workers = [Worker("renyi", OURS), *(Worker(peer, THEIRS) for peer in PEERS)]
    rows = measure(workers)
    versions = {name: version for worker in workers for name, version in worker.versions.items()}
    for worker in workers:
        worker.close()
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    result: dict[str, Any] = {
        "commit": commit,
        "python": platform.python_version(),
        "versions": versions,
        "summary": summary(rows),
        "rows": rows,
    }
    RESULT.with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    RESULT.with_suffix(".md").write_text(page(result), encoding="utf-8")
    print(json.dumps(result["summary"], indent=2))
    facts = result["summary"]
    good = (
        min(facts["curve: times faster than each peer"].values()) >= 100
        and facts["epsilon: times faster than the faster peer, geometric mean over q < 1"] >= 3
        and not facts["epsilon: looser than a peer at"]
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
