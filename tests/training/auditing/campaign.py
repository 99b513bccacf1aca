"""`make audit`: how close an audit comes to the claim, whether it finds planted faults, and how often it accuses honest code.

Writes docs/audit.json after each task: it can be stopped and goes on where it was, as long as nothing under src/renyi/training
has changed and the settings are the same. Two processes share the work.

Usage: python -m tests.training.auditing.campaign [--output docs/audit.json] [--processes 2]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import platform
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import torch
from scipy import stats
from torch import nn

from renyi import Poisson
from renyi.training import OneRunAudit, Plan, audit, audit_run
from tests.soundness.journal import CHANGED, tree_of_source
from tests.training.auditing.faults import FAULTS

RESULT = Path(__file__).parents[3] / "docs" / "audit.json"
DELTA = 1e-5
CLAIMS = {2.0: 80_000, 4.0: 30_000, 8.0: 20_000}
"""Claimed epsilons of one release, and the trials of an honest audit of each: the smaller the claim, the more it takes."""

ESTIMATED = 0.95
"""Confidence of these."""

LEAST, MOST = 0.85, 1.0
"""Between which shares of the claim the epsilon within the claimed family must lie."""

FAULTY, EPOCHS, RATE = 4_000, 300, 0.01
"""Trials against a planted fault; epochs of 1/RATE steps, for shuffled batches."""

HONEST, TRIALS, AT_A_TIME, CONFIDENCE = 200, 2_000, 10, 0.99
"""Audits of honest code, of so many trials each on Poisson samples, so many in one task."""

CANARIES, RUNS = 1_000, 20
"""Canaries of an audit in one run, each a gradient in a direction of its own; such runs for every claim."""

SHOWN_BY_ONE_RUN = "a forgotten clip"
"""The fault that an audit in one run must find, too: of those that are planted the only one as large as what it sees."""

ALLOWED = 0.01
"""Probability below which as many refuted claims or more would not be by chance."""

SETTINGS = {
    "delta": DELTA,
    "trials by claim": {str(claim): trials for claim, trials in CLAIMS.items()},
    "their confidence": ESTIMATED,
    "trials against a fault": FAULTY,
    "epochs": [EPOCHS, RATE],
    "honest audits": [HONEST, TRIALS, AT_A_TIME],
    "confidence of all others": CONFIDENCE,
    "one run": [CANARIES, RUNS, SHOWN_BY_ONE_RUN],
}
"""What the rows depend on beside the code: rows of other settings are not gone on with."""

Task = tuple[str, ...]


def tasks() -> list[Task]:
    """In the order in which they are begun: the shortest last, so that both processes end together."""
    return [
        *(("claim", str(claim)) for claim in CLAIMS),
        *(("fault", name, str(claim)) for name in FAULTS for claim in CLAIMS),
        *(("one run", str(claim)) for claim in CLAIMS),
        *(("one run", str(claim), SHOWN_BY_ONE_RUN) for claim in CLAIMS),
        *(("honest", str(number)) for number in range(HONEST // AT_A_TIME)),
    ]


def plan(claim: float, rate: float, steps: int) -> Plan:
    return Plan(sampling=Poisson(rate), steps=steps, clip=1.0, expected_batch=1, epsilon=claim, delta=DELTA)


def one_run(claim: float) -> OneRunAudit:
    """An audit in one run of one release, whose canaries do not disturb each other."""
    net = nn.Linear(CANARIES, 1, bias=False)
    nn.init.zeros_(net.weight)
    return audit_run(
        plan(claim, 1.0, 1),
        net,
        torch.optim.SGD(net.parameters(), lr=1.0),
        lambda model, batch: -model(batch).squeeze(1),
        torch.zeros(1, CANARIES),
        4.0 * torch.eye(CANARIES),
        made_up=True,
        confidence=CONFIDENCE,
    )


def asked(task: Task) -> dict[str, Any]:
    """The row of a task."""
    torch.set_num_threads(1)
    started = time.process_time()
    match task:
        case ("claim", claim):
            trials = CLAIMS[float(claim)]
            made = audit(plan(float(claim), 1.0, 1), trials=trials, confidence=ESTIMATED)
            share = made.epsilon_within_family() / made.claimed()
            row = {
                "trials": trials,
                "epsilon": made.epsilon_within_family(),
                "share": share,
                "refuted": made.refuted,
                "audit": made.to_dict(),
                "holds": LEAST <= share <= MOST and not made.refuted,
            }
        case ("fault", name, claim):
            planted, statistic = FAULTS[name]
            shuffled = statistic == "epoch"
            asking = {"trials": 40, "epochs": EPOCHS} if shuffled else {"trials": FAULTY}
            faulty = plan(float(claim), RATE if shuffled else 1.0, round(1.0 / RATE) if shuffled else 1)
            with planted():
                made = audit(faulty, confidence=CONFIDENCE, **asking)
            seen = [one.rates.statistic for one in made.findings() if one.refuted]
            row = {**asking, "statistic": statistic, "seen by": seen, "found": statistic in seen}
        case ("one run", claim, *fault):
            with FAULTS[fault[0]][0]() if fault else nullcontext():
                runs = [one_run(float(claim)) for _ in range(RUNS)]
            row = {
                "runs": RUNS,
                "canaries": CANARIES,
                "median epsilon of the lower end": float(np.median([made.epsilon_lower() for made in runs])),
                "median epsilon within the family": float(np.median([made.epsilon_within_family() for made in runs])),
                "refuted": sum(made.refuted for made in runs),
            }
        case ("honest", _):
            refuted = []
            for number in range(AT_A_TIME):
                claim = list(CLAIMS)[number % len(CLAIMS)]
                refuted.append(audit(plan(claim, 0.5, 1), trials=TRIALS, confidence=CONFIDENCE).refuted)
            row = {"audits": AT_A_TIME, "trials": TRIALS, "refuted": sum(refuted)}
        case _:
            raise ValueError(task)
    return {"task": list(task), **row, "seconds": round(time.process_time() - started, 1)}


def by_chance(refuted: int, audits: int) -> float:
    """The probability of so many false alarms or more, if each has the one that its confidence leaves."""
    return float(stats.binom.sf(refuted - 1, audits, 1.0 - CONFIDENCE))


def judged(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """What all rows say together."""
    claims = [row for row in rows if row["task"][0] == "claim"]
    found = {name: any(row["found"] for row in rows if row["task"][:2] == ["fault", name]) for name in FAULTS}
    honest = [row for row in rows if row["task"][0] == "honest"]
    audits, refuted = sum(row["audits"] for row in honest), sum(row["refuted"] for row in honest)
    singles = [row for row in rows if row["task"][0] == "one run"]
    falsely = sum(row["refuted"] for row in singles if len(row["task"]) == 2)
    rightly = sum(row["refuted"] for row in singles if len(row["task"]) == 3)
    chance = by_chance(refuted, audits)
    complete = len(rows) == len(tasks())
    return {
        "tasks": f"{len(rows)} of {len(tasks())}",
        "shares of the claim": {row["task"][1]: row["share"] for row in claims},
        "faults found": found,
        "honest audits": audits,
        "of which refuted the claim": refuted,
        "probability of as many": chance,
        "one run": {
            "of honest code": sum(row["runs"] for row in singles if len(row["task"]) == 2),
            "of which refuted the claim": falsely,
            f"of {SHOWN_BY_ONE_RUN}": sum(row["runs"] for row in singles if len(row["task"]) == 3),
            "of which found it": rightly,
        },
        "holds": complete
        and all(row["holds"] for row in claims)
        and all(found.values())
        and chance >= ALLOWED
        and by_chance(falsely, RUNS * len(CLAIMS)) >= ALLOWED
        and rightly > 0,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=RESULT)
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    tree = tree_of_source("src/renyi/training")
    if tree.endswith(CHANGED):
        print("commit the sources first, so that the result has a name", file=sys.stderr)
        return 2
    document = known(arguments.output, tree)
    done = {tuple(row["task"]) for row in document["rows"]}
    left = [task for task in tasks() if task not in done]
    with multiprocessing.get_context("spawn").Pool(arguments.processes) as pool:
        for row in pool.imap_unordered(asked, left):
            document["rows"].append(row)
            document.update(judged(document["rows"]))
            arguments.output.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
            print(json.dumps({name: value for name, value in row.items() if name != "audit"}), flush=True)
    return 0 if document["holds"] else 1


def known(path: Path, tree: str) -> dict[str, Any]:
    """What an earlier run found of the same tree by the same settings, or nothing."""
    if path.exists():
        found = json.loads(path.read_text(encoding="utf-8"))
        if (found.get("tree of training"), found.get("settings")) == (tree, SETTINGS):
            return dict(found)
    versions = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }
    return {"tree of training": tree, "settings": SETTINGS, "versions": versions, "rows": [], "holds": False}


if __name__ == "__main__":
    sys.exit(main())
