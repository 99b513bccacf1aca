"""`make bench-exact`: exact answers beside the peer's privacy loss distributions. Writes docs/benchmark-exact.json and .md.

Both libraries run in one process, taking turns, in the peers' environment (.venv-peers, made here). Our answer is the one with
both ends. Only ratios of times measured in the same run are claimed. The first call of a fresh process is measured in processes
of its own; so is an earlier commit, and today's source beside it (``rows``), which also bring questions of other kinds.
"""

from __future__ import annotations

import json
import logging
import math
import os
import platform
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from benchmarks import rows as further  # noqa: E402
from benchmarks.peers_worker import LOSS_INTERVAL  # noqa: E402
from benchmarks.rdp import RUNS, THEIRS, prepare, python_of  # noqa: E402

RESULT = ROOT / "docs" / "benchmark-exact"
ROUNDS = 9
PEER_ROUNDS = 2
LONG = [(0.01, 1.0, 10**exponent, 1e-5) for exponent in range(4, 10)]


def label(run: tuple[float, float, int, float]) -> str:
    q, s, t, d = run
    return f"q={q:g} sigma={s:g} T={t:g} delta={d:g}"


def ours(run: tuple[float, float, int, float]) -> tuple[float, float]:
    from renyi import Exact, Gaussian, Poisson

    rate, noise, steps, delta = run
    ends = Exact().epsilon(Gaussian(noise).on(Poisson(rate)) * steps, delta=delta)
    return ends.lower, ends.upper


def theirs(run: tuple[float, float, int, float]) -> tuple[float, float]:
    from dp_accounting import dp_event
    from dp_accounting.pld import pld_privacy_accountant as pld

    rate, noise, steps, delta = run
    accountant = pld.PLDAccountant(value_discretization_interval=LOSS_INTERVAL)
    accountant.compose(dp_event.PoissonSampledDpEvent(rate, dp_event.GaussianDpEvent(noise)), steps)
    value = float(accountant.get_epsilon(delta))
    return value, value


def forget() -> None:
    """Empty every cache of ours, so that no round profits from the one before."""
    for name, module in list(sys.modules.items()):
        if name.startswith("renyi."):
            for value in list(vars(module).values()):
                if hasattr(value, "cache_clear"):
                    value.cache_clear()


def timed(function: Callable[[Any], tuple[float, float]], run: Any) -> tuple[float, tuple[float, float]]:
    forget()
    started = time.process_time()
    value = function(run)
    return time.process_time() - started, value


def measure() -> dict[str, Any]:
    """In the peers' environment: every run, both libraries in turns; the processor's time, which others disturb least."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    ours(RUNS[0]), theirs(RUNS[0])
    rows = []
    more = further.measured()
    beside = beside_commit()
    for run in RUNS:
        times: dict[str, list[float]] = {"renyi": [], "dp-accounting PLD": []}
        values = {}
        for turn in range(ROUNDS):
            seconds, values["renyi"] = timed(ours, run)
            times["renyi"].append(seconds)
            if turn < PEER_ROUNDS:
                seconds, values["dp-accounting PLD"] = timed(theirs, run)
                times["dp-accounting PLD"].append(seconds)
        rows.append({"run": label(run), "seconds": times, "values": values})
        print(".", end="", file=sys.stderr, flush=True)
    tracked = list(range(100, 1_000_001, 10_000))
    forget()
    started = time.process_time()
    for steps in tracked:
        ours((256 / 60_000, 1.1, steps, 1e-5))
    each = (time.process_time() - started) / len(tracked)
    growth = {label(run): min(timed(ours, run)[0] for _ in range(ROUNDS)) for run in LONG}
    return {
        "rows": rows,
        "beside": {"commit": further.COMMIT, "seconds": beside},
        "more": more,
        "starts": further.starts(),
        "growth": growth,
        "tracked": {"questions": len(tracked), "seconds each": each},
    }


def beside_commit() -> dict[str, dict[str, list[float]]]:
    """The same runs by today's source and by an earlier commit's, each in a process of its own, in turns."""
    found: dict[str, dict[str, list[float]]] = {}
    with further.askers() as sources:
        for run in RUNS:
            rate, noise, steps, delta = run
            question = f"Exact().epsilon(Gaussian({noise!r}).on(Poisson({rate!r})) * {steps}, delta={delta!r})"
            times: dict[str, list[float]] = {name: [] for name in sources}
            for _ in range(3 * ROUNDS):
                for name, asker in sources.items():
                    times[name].append(asker.ask(question)[0])
            found[label(run)] = times
    return found


def first_call(index: int) -> dict[str, Any]:
    """In a fresh process: the first call after the import, later ones, and the peak of memory."""
    import resource

    import renyi  # noqa: F401

    first = timed(ours, RUNS[index])[0]
    warm = statistics.median(timed(ours, RUNS[index])[0] for _ in range(ROUNDS))
    return {
        "run": label(RUNS[index]),
        "first": first,
        "warm": warm,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def in_peers(*arguments: str) -> Any:
    answer = subprocess.run(
        [python_of(THEIRS), str(Path(__file__)), *arguments],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )
    return json.loads(answer.stdout)


def summary(result: dict[str, Any]) -> dict[str, Any]:
    ratios = {
        row["run"]: min(row["seconds"]["dp-accounting PLD"]) / min(row["seconds"]["renyi"]) for row in result["rows"]
    }
    growth = list(result["growth"].values())
    beside = {
        run: min(seconds["renyi"]) / min(seconds[result["beside"]["commit"]])
        for run, seconds in result["beside"]["seconds"].items()
    }
    groups: dict[str, dict[str, list[float]]] = {}
    for row in result["more"]:
        for name, seconds in row["seconds"].items():
            if name != "renyi":
                ratio = min(seconds) / min(row["seconds"]["renyi"])
                groups.setdefault(row["group"], {}).setdefault(name, []).append(ratio)
    starts = result["starts"]
    return {
        "times faster, each run": ratios,
        "times faster, geometric mean": geometric_mean(list(ratios.values())),
        f"time over that of {result['beside']['commit']}, each run": beside,
        "more questions, times faster": {
            group: {
                name: {"geometric mean": geometric_mean(found), "least": min(found)} for name, found in others.items()
            }
            for group, others in groups.items()
        },
        "import renyi over import scipy.special": starts["import renyi"] / starts["import scipy.special"],
        "renyi epsilon over import scipy.special": starts["renyi epsilon"] / starts["import scipy.special"],
        "time at T = 1e9 over time at T = 1e4": growth[-1] / growth[0],
        "first call over a warm one, each run": {row["run"]: row["first"] / row["warm"] for row in result["first"]},
        "peak megabytes of a process": max(row["megabytes"] for row in result["first"]),
    }


def geometric_mean(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def page(result: dict[str, Any]) -> str:
    facts = result["summary"]
    lines = [
        "# Exact answers beside the peer's privacy loss distributions",
        "",
        f"Written by `make bench-exact` at commit {result['commit']} on Python {result['python']}: both libraries in one",
        f"process, taking turns; processor time, the best of {ROUNDS} rounds (the peer: {PEER_ROUNDS}), no cache of ours kept",
        "from one round to the next. Ours is the interval with both ends; the peer's is the upper end (its pessimistic",
        f"estimate) with losses on a grid of step {LOSS_INTERVAL:g}, its default.",
        f"Versions: dp-accounting {result['versions']['dp-accounting']}, opacus {result['versions']['opacus']}, "
        f"numpy {result['versions']['numpy']}, "
        f"scipy {result['versions']['scipy']}. Raw rows: benchmark-exact.json.",
        "",
        f"- {facts['times faster, geometric mean']:.0f} times faster in the geometric mean over the eight runs.",
        f"- T = 1e9 takes {facts['time at T = 1e9 over time at T = 1e4']:.2f} times as long as T = 1e4.",
        "- A first call takes at most "
        f"{max(facts['first call over a warm one, each run'].values()):.1f} times as long as a warm one.",
        "- A run that is followed as it grows to a million steps takes "
        f"{1e3 * result['tracked']['seconds each']:.2f} ms per question.",
        f"- Peak memory of a process that answers: {facts['peak megabytes of a process']:.0f} MB.",
        "",
        "| run | ours, ms | peer, ms | ratio | lower end | upper end | peer |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for row in result["rows"]:
        mine, peer = min(row["seconds"]["renyi"]), min(row["seconds"]["dp-accounting PLD"])
        low, high = row["values"]["renyi"]
        lines.append(
            f"| {row['run']} | {1e3 * mine:.2f} | {1e3 * peer:.0f} | {peer / mine:.0f} | {low:.12g} | {high:.12g} | "
            f"{row['values']['dp-accounting PLD'][0]:.7g} |"
        )
    commit = result["beside"]["commit"]
    others = facts["more questions, times faster"]
    lines += [
        "",
        "## Beside an earlier commit, and other questions",
        "",
        f"Today's source and that of commit {commit} in processes of their own, in turns; processor time, the best of "
        f"{3 * ROUNDS} rounds (below: {further.ROUNDS}, or {further.SLOW_ROUNDS}",
        "of answers that take long). `run(noise, steps, rate=0.01)` is Gaussian noise on Poisson samples, `grown(step, count)`",
        "adds one step after another by `event + step`. Opacus's RDP accountant is asked for the same run by as many calls of "
        "`step`; it bounds",
        "epsilon by Renyi orders, as its defaults have them.",
        "",
        f"- The eight runs take {min(facts[f'time over that of {commit}, each run'].values()):.2f} to "
        f"{max(facts[f'time over that of {commit}, each run'].values()):.2f} times as long as at {commit}.",
    ]
    lines += [
        f"- {group}: {found['geometric mean']:.1f} times faster than {name} in the geometric mean, in every row at least "
        f"{found['least']:.2f} times."
        for group, names in others.items()
        for name, found in names.items()
    ]
    lines += [
        f"- A process that imports renyi takes {facts['import renyi over import scipy.special']:.2f} times as long as one that",
        "  imports scipy.special; the command `renyi epsilon` takes "
        f"{facts['renyi epsilon over import scipy.special']:.2f} times as long.",
        "",
        f"| question | ours, ms | {commit}, ms | peer, ms |",
        "|---|---:|---:|---:|",
    ]
    for row in result["more"]:
        best = {name: 1e3 * min(seconds) for name, seconds in row["seconds"].items()}
        peer = [f"{taken:.1f} ({name})" for name, taken in best.items() if name not in ("renyi", commit)]
        lines.append(
            f"| `{row['question']}` | {best['renyi']:.1f} | {best[commit]:.1f} | {peer[0] if peer else 'none asked'} |"
        )
    return "\n".join(lines) + "\n"


def main() -> int:
    if sys.argv[1:] == ["measure"]:
        print(json.dumps(measure()))
        return 0
    if sys.argv[1:2] == ["first"]:
        print(json.dumps(first_call(int(sys.argv[2]))))
        return 0
    prepare(ours=False)
    listed = subprocess.run(
        [python_of(THEIRS), "-m", "pip", "list", "--format=json"], check=True, stdout=subprocess.PIPE, text=True
    )
    versions = {
        p["name"]: p["version"]
        for p in json.loads(listed.stdout)
        if p["name"] in ("dp-accounting", "opacus", "numpy", "scipy")
    }
    result = in_peers("measure")
    result["first"] = [in_peers("first", str(index)) for index in range(len(RUNS))]
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    result |= {"commit": commit.stdout.strip(), "python": platform.python_version(), "versions": versions}
    result["summary"] = summary(result)
    RESULT.with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    RESULT.with_suffix(".md").write_text(page(result), encoding="utf-8")
    print(json.dumps(result["summary"], indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
