"""`make bench`: all of us beside all peers, in one run. Writes docs/benchmark.json, docs/benchmark.md and docs/benchmark.png.

The peers live in environments of their own, made here; one that cannot be installed fails the target. Every library answers
every question in a fresh process: its first call, its warm calls (no cache of ours kept between them), the peak of its memory.
Times are the processor's. Libraries take turns at each question, so that all meet the same machine; only ratios of times
measured in the same run are claimed. What is true comes from tests/truth (40 digits, computed without this library).

A run that was interrupted goes on with the next question, if the commit is the same.

`--settings 2 --rounds 1 --output /tmp/try` tries the first two settings alone.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import platform
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

from benchmarks.peers_worker import (  # noqa: E402
    DELTA_SHARE,
    EPSILON_ERROR,
    EPSILON_TOLERANCE,
    LOSS_INTERVAL,
    NOISE_TOLERANCE,
)
from benchmarks.rdp import RUNS, python_of  # noqa: E402

ENVIRONMENTS = {
    ".venv": [["-e", "."]],
    ".venv-peers": [
        ["torch"],
        ["dp-accounting", "opacus"],
    ],  # torch by itself: pinned, so that no peer pulls another build
    ".venv-prv": [["prv-accountant"]],
    ".venv-autodp": [["autodp"]],
    ".venv-figure": [["matplotlib"]],
}
LIBRARIES = {  # label: environment, library, method
    "renyi": (".venv", "renyi", "best"),
    "renyi RDP": (".venv", "renyi", "RDP"),
    "dp-accounting PLD": (".venv-peers", "dp-accounting", "PLD"),
    "opacus PRV": (".venv-peers", "opacus", "PRV"),
    "prv-accountant": (".venv-prv", "prv-accountant", "PRV"),
    "dp-accounting RDP": (".venv-peers", "dp-accounting", "RDP"),
    "opacus RDP": (".venv-peers", "opacus", "RDP"),
    "autodp RDP": (".venv-autodp", "autodp", "RDP"),
}
TIGHT = ("dp-accounting PLD", "opacus PRV", "prv-accountant")
RENYI = ("dp-accounting RDP", "opacus RDP", "autodp RDP")
SECONDS = 5.0  # of warm calls
PATIENCE = 1200.0  # seconds, by the clock, until a question counts as not answered
GROWING_PATIENCE = 240.0  # the same in a growing series, which only asks how far one can go
PARTS = ROOT / ".bench-rows.jsonl"
"""The answers to each question as it is done: an interrupted run of the same commit goes on with the next question."""

CLOSED_FORM = "9.99725614643430035911477269991837429257"
"""Gaussian(5) x 100 at delta 1e-5: the root of Phi(-e/mu + mu/2) - e^e Phi(-e/mu - mu/2) = delta, mu = 2 (50 digits)."""

OPTIMAL_NOISE = {0.1: 30.77267, 1.0: 3.812817, 8.0: 0.8825285}
"""At q = 0.01, T = 1e4, delta = 1e-5, to seven digits."""

Question = dict[str, Any]
Row = dict[str, Any]


def part(mechanism: str, parameter: float, rate: float, count: int) -> Question:
    return {"mechanism": mechanism, "parameter": parameter, "rate": rate, "count": count}


def gaussian_run(group: str, rate: float, noise: float, steps: int, delta: float, task: str = "epsilon") -> Question:
    return {
        "group": group,
        "task": task,
        "label": f"q={rate:g} sigma={noise:g} T={steps:g} delta={delta:g}",
        "parts": [part("Gaussian", noise, rate, steps)],
        "delta": delta,
    }


def unlike(group: str, count: int) -> Question:
    return {
        "group": group,
        "task": "epsilon",
        "label": f"{count} unlike steps",
        "parts": [part("Gaussian", 1.0 + index / count, 0.01, 1) for index in range(count)],
        "delta": 1e-5,
    }


def questions() -> list[Question]:
    found = [gaussian_run("settings", *run) for run in RUNS]
    found += [
        {
            **gaussian_run("calibration", 0.01, 1.0, 10_000, 1e-5, "calibrate"),
            "label": f"calibrate to epsilon {target:g}",
            "epsilon": target,
        }
        for target in OPTIMAL_NOISE
    ]
    found += [unlike("unlike", 1_000), gaussian_run("tracked", 0.01, 1.0, 10_000, 1e-5, "tracked")]
    for mechanism, parameters in (("Laplace", (0.5, 2.0)), ("RandomizedResponse", (0.6, 0.9))):
        found += [
            {
                "group": "other mechanisms",
                "task": "epsilon",
                "label": f"{mechanism}({value:g}) q=0.001 T={rounds:g} delta=1e-05",
                "parts": [part(mechanism, value, 1e-3, rounds)],
                "delta": 1e-5,
            }
            for value in parameters
            for rounds in (1_000, 100_000)
        ]
    found += [gaussian_run("growth in T", 0.01, 1.0, 10**exponent, 1e-5) for exponent in range(4, 10)]
    found += [unlike("growth in events", count) for count in (10, 100, 1_000)]
    found += [gaussian_run("growth in 1/delta", 0.01, 1.0, 10_000, 10.0**-e) for e in (5, 10, 20, 50, 100)]
    return found


def truths() -> dict[str, float]:
    """The 40-digit epsilon of every question of one part that has one, by what was asked."""
    cases = json.loads((ROOT / "tests" / "truth" / "composition.json").read_text(encoding="utf-8"))["cases"]
    found = {asked([part("Gaussian", 5.0, 1.0, 100)], 1e-5): float(CLOSED_FORM)}
    for case in cases:
        parts = case["parts"]
        if len(parts) == 1 and "draw" not in parts[0]:
            (value,) = (v for k, v in parts[0]["params"].items() if k != "outcomes")
            one = part(parts[0]["mechanism"], value, parts[0]["rate"] or 1.0, parts[0]["count"])
            found[asked([one], case["delta"])] = float(case["epsilon"])
    return found


def asked(parts: list[Question], delta: float) -> str:
    return json.dumps([parts, delta], sort_keys=True)


def prepare() -> None:
    for name, wanted in ENVIRONMENTS.items():
        environment = ROOT / name
        if not Path(python_of(environment)).exists():
            venv.create(environment, with_pip=True)
        for packages in wanted:
            install = [python_of(environment), "-m", "pip", "install", "-q", "-c", "constraints.txt", *packages]
            subprocess.run(install, cwd=ROOT, check=True)


def answer(label: str, question: Question, rounds: int) -> Row:
    """One library's answer, from a fresh process."""
    environment, library, method = LIBRARIES[label]
    script = str(ROOT / "benchmarks" / "peers_worker.py")
    patience = GROWING_PATIENCE if question["group"].startswith("growth") else PATIENCE
    row: Row = {"library": label, "group": question["group"], "label": question["label"]}
    try:
        done = subprocess.run(
            [python_of(ROOT / environment), script, library, method],
            input=json.dumps({"question": question, "rounds": rounds, "seconds": SECONDS}),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=True,
            timeout=patience,
            cwd=ROOT,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
        )
    except subprocess.TimeoutExpired:
        return {**row, "failure": f"no answer in {patience:g} s"}
    except subprocess.CalledProcessError as error:
        return {**row, "failure": f"the process ended with code {error.returncode}"}
    row |= json.loads(done.stdout)
    value = row.get("value")
    if isinstance(value, float) and not math.isfinite(value):
        row |= {"value": str(value), "failure": f"the answer is {value}"}
    return row


def measure(chosen: list[Question], rounds: int, done: list[list[Row]], keep: Callable[[list[Row]], None]) -> list[Row]:
    """Every question, the libraries in turns; one that failed in a growing series is not asked for more of it.

    ``done`` are the rows of the first questions; ``keep`` is told those of every further one.
    """
    truth = truths()
    groups = list(done)
    for question in chosen[len(done) :]:
        before = [row for rows in groups for row in rows]
        rows = [_row(label, question, rounds, before, truth) for label in LIBRARIES]
        keep(rows)
        groups.append(rows)
        print(".", end="", flush=True)
    print()
    return [row for rows in groups for row in rows]


def _row(label: str, question: Question, rounds: int, before: list[Row], truth: dict[str, float]) -> Row:
    group, name, same = question["group"], question["label"], identity(question)
    mine = [row for row in before if row["library"] == label]
    if group.startswith("growth") and any("failure" in row for row in mine if row["group"] == group):
        failure = "not asked, since it failed before in this series"
        return {"library": label, "group": group, "label": name, "asked": same, "failure": failure}
    # A question that stands in two groups is asked once.
    known = next((row for row in mine if row["asked"] == same), None)
    row = {**(known or answer(label, question, rounds)), "group": group, "label": name, "asked": same}
    calibrated = question["task"] == "calibrate"
    row["truth"] = (
        OPTIMAL_NOISE[question["epsilon"]] if calibrated else truth.get(asked(question["parts"], question["delta"]))
    )
    return row


def identity(question: Question) -> str:
    """The same for questions that ask the same."""
    text = json.dumps([question["task"], question.get("epsilon"), asked(question["parts"], question["delta"])])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def kept(commit: str) -> list[list[Row]]:
    """What an interrupted run of this commit has left."""
    lines = PARTS.read_text(encoding="utf-8").splitlines() if PARTS.exists() else []
    parts = [json.loads(line) for line in lines]
    if any(one["commit"] != commit for one in parts):
        PARTS.unlink()
        return []
    return [one["rows"] for one in parts]


def warm(row: Row) -> float:
    return min(row["warm"])


def reported(row: Row) -> float:
    return float(row["value"])


def excess(row: Row) -> float | None:
    """How far above the truth, relatively; None where no truth is known."""
    return None if row.get("truth") is None else reported(row) / row["truth"] - 1.0


def summary(rows: list[Row]) -> dict[str, Any]:
    good = {(row["group"], row["label"], row["library"]): row for row in rows if "failure" not in row}

    def labels(group: str) -> list[str]:
        return list(dict.fromkeys(row["label"] for row in rows if row["group"] == group))

    def ratios(group: str, mine: str, peers: tuple[str, ...], names: list[str]) -> dict[str, float]:
        """Times faster than the fastest of the peers that answered."""
        found = {}
        for name in names:
            times = [warm(good[group, name, peer]) for peer in peers if (group, name, peer) in good]
            if times and (group, name, mine) in good:
                found[name] = min(times) / warm(good[group, name, mine])
        return found

    settings = labels("settings")
    sampled = [name for name in settings if not name.startswith("q=1 ")]
    tight = ratios("settings", "renyi", TIGHT, settings)
    renyi = ratios("settings", "renyi RDP", RENYI, sampled)
    looser = [
        f"{name}: {peer}"
        for name in settings
        for peer in (*TIGHT, *RENYI)
        if ("settings", name, peer) in good
        and ("settings", name, "renyi") in good
        and abs(excess(good["settings", name, peer]) or 0.0) < abs(excess(good["settings", name, "renyi"]) or 0.0)
    ]
    answered = {(row["group"], row["label"]) for row in rows if "failure" not in row and row["library"] != "renyi"}
    ours = {(row["group"], row["label"]) for row in rows if "failure" not in row and row["library"] == "renyi"}
    return {
        "times faster than the fastest tight peer": tight,
        "times faster than the fastest tight peer, geometric mean": geometric_mean(tight),
        "RDP: times faster than the fastest RDP peer, q < 1": renyi,
        "RDP: times faster than the fastest RDP peer, q < 1, geometric mean": geometric_mean(renyi),
        "settings where a peer is nearer the truth": looser,
        "below the truth": [
            f"{row['label']}: {row['library']} by {-(excess(row) or 0.0):.2g}"
            for row in good.values()
            if row["group"] != "calibration" and (excess(row) or 0.0) < -1e-14
        ],
        "calibration: times faster than each tight peer": {
            peer: ratios("calibration", "renyi", (peer,), labels("calibration")) for peer in TIGHT
        },
        "calibration: from the optimum": {
            name: excess(good["calibration", name, "renyi"])
            for name in labels("calibration")
            if ("calibration", name, "renyi") in good
        },
        "calibration: epsilon of the noise, over the target": {
            name: good["calibration", name, "renyi"]["epsilon of that noise"] / float(name.split()[-1])
            for name in labels("calibration")
            if ("calibration", name, "renyi") in good
        },
        "1,000 unlike steps: times faster than opacus PRV": ratios(
            "unlike", "renyi", ("opacus PRV",), labels("unlike")
        ),
        "failures of ours where a peer answers": sorted(f"{group}: {name}" for group, name in answered - ours),
        "peak megabytes": {
            label: max(
                (row["megabytes"] for row in rows if row["library"] == label and "megabytes" in row), default=None
            )
            for label in LIBRARIES
        },
    }


def missed(facts: dict[str, Any]) -> list[str]:
    """What this library claims and a run did not show."""
    slow = [
        f"calibration only {times:.0f} times faster than {peer}: {name}"
        for peer, found in facts["calibration: times faster than each tight peer"].items()
        for name, times in found.items()
        if times < 50.0
    ]
    claims = {
        "100 times faster than the fastest tight peer": (
            facts["times faster than the fastest tight peer, geometric mean"] >= 100.0
        ),
        "3 times faster than the fastest RDP peer": (
            facts["RDP: times faster than the fastest RDP peer, q < 1, geometric mean"] >= 3.0
        ),
        "nearer the truth than each": not facts["settings where a peer is nearer the truth"],
        "never below it": not any(": renyi" in text for text in facts["below the truth"]),
        "calibration within 1e-6 of the optimum": all(
            abs(gap) <= 1e-6 for gap in facts["calibration: from the optimum"].values()
        ),
        "calibration within the target": all(
            share <= 1.0 for share in facts["calibration: epsilon of the noise, over the target"].values()
        ),
        "1,000 unlike steps 50 times faster than opacus PRV": all(
            times >= 50.0 for times in facts["1,000 unlike steps: times faster than opacus PRV"].values()
        ),
        "no failure where any peer succeeds": not facts["failures of ours where a peer answers"],
    }
    return [*slow, *(name for name, held in claims.items() if not held)]


def geometric_mean(ratios: dict[str, float]) -> float | None:
    return math.exp(math.fsum(map(math.log, ratios.values())) / len(ratios)) if ratios else None


def cell(row: Row) -> str:
    if "failure" in row:
        return "not offered" if row["failure"].startswith(("NotImplementedError", "UnsupportedEvent")) else "failed"
    gap = excess(row)
    tightness = "" if gap is None else f" ({gap:+.1e})"
    return f"{reported(row):.7g}{tightness}, {1e3 * warm(row):.3g} ms"


def table(rows: list[Row], libraries: tuple[str, ...]) -> list[str]:
    """One group of questions, in Markdown."""
    lines = ["| question | " + " | ".join(libraries) + " |", "|---|" + "---|" * len(libraries)]
    for name in dict.fromkeys(row["label"] for row in rows):
        cells = {row["library"]: cell(row) for row in rows if row["label"] == name}
        lines.append(f"| {name} | " + " | ".join(cells[label] for label in libraries) + " |")
    return lines


def short_table(result: dict[str, Any]) -> list[str]:
    """The settings, for the README: this library beside the tight peers."""
    return table([row for row in result["rows"] if row["group"] == "settings"], ("renyi", *TIGHT))


def headlines(facts: dict[str, Any]) -> list[str]:
    """What a run showed, in a few sentences."""
    tight = facts["times faster than the fastest tight peer"]
    slowest = min(
        times for found in facts["calibration: times faster than each tight peer"].values() for times in found.values()
    )
    farthest = max(map(abs, facts["calibration: from the optimum"].values()))
    return [
        f"- {facts['times faster than the fastest tight peer, geometric mean']:.0f} times faster than the fastest tight peer "
        f"(geometric mean over the settings; {min(tight.values()):.0f} to {max(tight.values()):.0f} times).",
        f"- Our RDP is {facts['RDP: times faster than the fastest RDP peer, q < 1, geometric mean']:.1f} times faster than the "
        "fastest RDP peer (settings with q < 1).",
        f"- A peer is nearer the truth in {len(facts['settings where a peer is nearer the truth'])} cases; "
        f"answers below the truth: {'; '.join(facts['below the truth']) or 'none'}.",
        f"- Calibration is at least {slowest:.0f} times faster than that of each tight peer, and within {farthest:.0e} of the "
        "optimum, of which seven digits are known.",
        *(
            f"- {name}: {times:.0f} times faster than opacus PRV."
            for name, times in facts["1,000 unlike steps: times faster than opacus PRV"].items()
        ),
        f"- Failures of ours where a peer answers: {'; '.join(facts['failures of ours where a peer answers']) or 'none'}.",
    ]


def durations(rows: list[Row]) -> str:
    """How long our own answers took, by what was asked."""

    def span(*groups: str) -> str:
        found = [1e3 * warm(row) for row in rows if row["library"] == "renyi" and row["group"] in groups]
        return f"{min(found):.3g} to {max(found):.3g} ms"

    return (
        f"- Our warm calls: {span('settings', 'growth in T', 'growth in 1/delta')} for Gaussian noise, on Poisson samples "
        "or not; "
        f"{span('other mechanisms')} for Laplace noise and randomized response on Poisson samples; "
        f"{span('growth in events')} for ten to a thousand unlike steps."
    )


def settings(rows: list[Row]) -> list[str]:
    """How precise the peers were asked to be: without it neither their times nor their distances mean anything."""
    above = [
        reported(row) - row["truth"]
        for row in rows
        if row["group"] == "settings" and row["library"] == "prv-accountant" and "failure" not in row
    ]
    error = f"`eps_error={EPSILON_ERROR:g}`"
    return [
        "How precise the peers were asked to be (this library has no such setting):",
        "",
        f"- dp-accounting PLD: losses on a grid of step {LOSS_INTERVAL:g}, its default.",
        f"- opacus PRV and prv-accountant: {error} and `delta_error=delta/{DELTA_SHARE}`, the defaults of opacus. Both compute",
        "  a lower end, an estimate and an upper end. The upper end is shown; it lies above the truth by about what",
        f"  `eps_error` allows (prv-accountant's by {min(above):.3f} to {max(above):.3f} in the settings). A smaller",
        "  `eps_error` asks for a closer answer and takes longer.",
        "- RDP: the default orders of each library.",
        f"- Calibration: `tol={NOISE_TOLERANCE:g}` (dp-accounting), `epsilon_tolerance={EPSILON_TOLERANCE:g}` (opacus),",
        f"  {error} (prv-accountant).",
    ]


def page(result: dict[str, Any], figure: str) -> str:
    rows = result["rows"]
    lines = [
        "# All of us beside all peers",
        "",
        f"Written by `make bench` at commit {result['commit']} on Python {result['python']}: every library answers",
        "every question in a fresh process, libraries taking turns; the processor's time, the best of the warm calls, no cache",
        "of ours kept between them. Times are one machine's and noisy; only their ratios are claimed. What is true comes from",
        "40-digit values that were computed without any of the libraries. Raw rows, first calls and memory: benchmark.json.",
        "",
        "Versions: " + "; ".join(f"{name} {version}" for name, version in sorted(result["versions"].items())) + ".",
        "",
        *([*headlines(result["summary"]), durations(rows), "", *settings(rows)] if complete(rows) else []),
        "",
        f"![Speed against tightness]({figure})",
        "",
        "Each cell: the answer (how far above the truth, relatively), the time of a warm call.",
    ]
    for group in dict.fromkeys(row["group"] for row in rows):
        lines += ["", f"## {group[0].upper()}{group[1:]}", ""]
        lines += table([row for row in rows if row["group"] == group], tuple(LIBRARIES))
    return "\n".join(lines) + "\n"


def complete(rows: list[Row]) -> bool:
    return {row["label"] for row in rows} >= {question["label"] for question in questions()}


def write(result: dict[str, Any], source: Path) -> None:
    """The figure and the page beside the JSON."""
    picture = source.with_suffix(".png")
    script = str(ROOT / "benchmarks" / "figure.py")
    subprocess.run([python_of(ROOT / ".venv-figure"), script, str(source), str(picture)], check=True)
    source.with_suffix(".md").write_text(page(result, picture.name), encoding="utf-8")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--settings", type=int, help="only the first so many questions")
    options.add_argument("--rounds", type=int, default=25, help="warm calls of each question")
    options.add_argument(
        "--again", action="store_true", help="only the page and the figure, from the JSON that is there"
    )
    options.add_argument("--output", type=Path, default=ROOT / "docs" / "benchmark", help="path without its ending")
    given = options.parse_args()
    prepare()
    source: Path = given.output.with_suffix(".json")
    if given.again:
        write(json.loads(source.read_text(encoding="utf-8")), source)
        return 0
    found = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    commit = found.stdout.strip()

    def keep(rows: list[Row]) -> None:
        with PARTS.open("a", encoding="utf-8") as file:
            print(json.dumps({"commit": commit, "rows": rows}), file=file)

    rows = measure(questions()[: given.settings], given.rounds, kept(commit), keep)
    PARTS.unlink(missing_ok=True)
    result: dict[str, Any] = {
        "commit": commit,
        "python": platform.python_version(),
        "versions": {name: version for row in rows for name, version in row.pop("versions", {}).items()},
        "summary": summary(rows),
        "rows": rows,
    }
    source.write_text(json.dumps(result, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    write(result, source)
    print(json.dumps(result["summary"], indent=1))
    if given.settings is not None:
        return 0
    short = missed(result["summary"])
    print("missed:", *(short or ["nothing"]), sep="\n  ")
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
