"""kill -9 of one of two processes at a random moment: the other names it, the record covers every update, and the run goes on.

Every trial is a run of its own. One or two processes begin it; two resume it, and one of them is killed: at the n-th line of
renyi that it executes, or after a random time, which may be inside of a reduction. In every other trial the model is sharded,
and in those one process alone holds all shards. Each process writes a byte to a file of its
own whenever its optimizer steps. Then the other process must have ended with an error that names the rank, and

    updates of each process <= releases in the journal <= updates of the one that made most + 1.

One or two processes resume the run from its journal and its last checkpoint and take further steps.

Usage: python -m tests.training.parallel.kill_campaign [--kills 200]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch.distributed.fsdp import fully_shard

import renyi
from renyi.training import AdaptiveClip, Run, replay
from renyi.training.parallel import workers
from tests.soundness.journal import CHANGED, Chunk, Journal, tree_of_source
from tests.training.kill_campaign import Counted
from tests.training.parallel.crew import Kill, crew
from tests.training.support import dataset, losses, model, plan, train

RESULT = Path(__file__).parents[3] / "docs" / "kill-parallel.json"
TRAINING = "src/renyi/training"
SOURCE = str(Path(renyi.__file__).parent)

KILLS, SEED = 200, 20261119

STEPS = 4_000
"""Of the plan: more than two processes take before one of them is killed."""

BEGUN, SAVED_EVERY = 2, 3
"""Steps of those that begin the run, and steps between two checkpoints."""

LINES = 9_000
"""Lines of renyi among which one is chosen: those of opening the run and of its first steps."""

SECONDS = 0.4
"""Time after the first resumed step within which a process is killed."""

ANSWERED_WITHIN = 2.0
"""Seconds that the others have to answer when the roll is called: here all of them are on this machine."""


class Trial(NamedTuple):
    """Who begins, who is killed and when, and who goes on."""

    number: int
    begin: int
    victim: int
    line: int
    seconds: float
    resume: int
    store: str
    sharded: bool

    @classmethod
    def of(cls, number: int) -> Trial:
        """All combinations of sizes, victims and ways in turn; the moments are random."""
        chance = random.Random(f"{SEED} {number}")
        bits = [number >> place & 1 for place in range(6)]
        line = chance.randrange(1, LINES) if bits[0] else 0
        seconds = 0.0 if bits[0] else chance.uniform(0.0, SECONDS)
        return cls(number, 1 + bits[1], bits[2], line, seconds, 1 + bits[3], ("file", "tcp")[bits[4]], bool(bits[5]))


class Striking:
    """Kills this process at the n-th line of renyi that it executes."""

    def __init__(self, line: int, note: Path) -> None:
        self.left, self.note = line, note

    def trace(self, frame: Any, event: str, _: Any) -> Any:
        """Count the lines of renyi alone."""
        if not frame.f_code.co_filename.startswith(SOURCE):
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                self.note.write_text(f"{Path(frame.f_code.co_filename).relative_to(SOURCE)}:{frame.f_lineno}")
                os.kill(os.getpid(), signal.SIGKILL)
        return self.trace


def opened(folder: Path, rank: int, *, resume: bool, sharded: bool) -> Run:
    workers.ROLL_CALL = ANSWERED_WITHIN
    net = fully_shard(model()) if sharded else model()
    optimizer = Counted(net.parameters(), folder / f"steps-{rank}")
    planned = plan(steps=STEPS, clip=AdaptiveClip(1.0, count_noise_multiplier=4.0))
    journal, checkpoint = folder / "run.jsonl", folder / "run.pt"
    if not resume:
        return Run(planned, net, optimizer, losses, journal=journal)
    return Run.resume(planned, net, optimizer, losses, journal=journal, checkpoint=checkpoint)


def some_steps(rank: int, folder: Path, steps: int, resume: bool, sharded: bool) -> dict[str, Any]:
    """Begin the run, or go on with it, for some steps; then save."""
    with opened(folder, rank, resume=resume, sharded=sharded) as run:
        train(run, dataset(10), steps=steps, physical_batch=3)
        run.save(folder / "run.pt")
        whole = torch.cat([part.flatten() for part in run.state_dict()["model"].values()])
        return {"weights": whole, "guarantee": run.guarantee(), "head": run.record.head, "steps": run.steps}


def until_killed(rank: int, folder: Path, trial: Trial) -> None:
    """Go on with the run until a process is gone."""
    if rank == trial.victim and trial.line:
        sys.settrace(Striking(trial.line, folder / "place").trace)
    with opened(folder, rank, resume=True, sharded=trial.sharded) as run:
        while True:
            train(run, dataset(10), steps=SAVED_EVERY, physical_batch=3)
            (folder / "going").touch()
            run.save(folder / "run.pt")


def done(folder: Path) -> list[int]:
    """How many updates each process has made."""
    files = [folder / f"steps-{rank}" for rank in range(2)]
    return [file.stat().st_size if file.exists() else 0 for file in files]


def held(trial: Trial, folder: Path) -> dict[str, Any]:
    """Run one trial; every claim is an assertion, and the facts are returned."""
    begun = crew(trial.begin, some_steps, folder, BEGUN, False, trial.sharded)
    assert [one["steps"] for one in begun] == [BEGUN] * trial.begin
    for rank in range(2):
        (folder / f"steps-{rank}").unlink(missing_ok=True)

    kill = None if trial.line else Kill(trial.victim, "going", trial.seconds)
    told = crew(2, until_killed, folder, trial, store=trial.store, kill=kill)
    assert told[trial.victim] is None, told
    words = told[1 - trial.victim]
    assert isinstance(words, str), told
    assert words.startswith("TrainingError: "), words
    assert f"rank {trial.victim} died or hangs" in words, words

    record, updates = replay(folder / "run.jsonl"), done(folder)
    released = record.steps - BEGUN
    assert max(updates) <= released <= max(updates) + 1, (updates, released)

    after = crew(trial.resume, some_steps, folder, 2, True, trial.sharded)
    last = replay(folder / "run.jsonl")
    for one in after:
        assert one["steps"] == record.steps + 2 == last.steps
        assert one["guarantee"] == last.guarantee()
        assert one["head"] == last.head
        assert torch.equal(one["weights"], after[0]["weights"])
    assert last.guarantee().epsilon.upper == renyi.epsilon(last.plan.events(), delta=1e-5)
    place = folder / "place"
    return {
        "killed": "at a line" if trial.line else "after a time",
        "rank": trial.victim,
        "processes": f"{trial.begin} -> 2 -> {trial.resume}",
        "store": trial.store,
        "model": "sharded" if trial.sharded else "whole",
        "place": place.read_text() if place.exists() else "",
        "recorded_but_not_done": released - max(updates),
        "updates": released,
        "said": words.split(":")[2].split("(")[0].strip(),
    }


def campaign(kills: int, journal: Journal | None, tree: str) -> list[dict[str, Any]]:
    """The rows of this many trials; those that this tree has had already are taken from the journal."""
    rows = {chunk.task: chunk.rows[0] for chunk in journal or () if chunk.tree == tree}
    for number in range(kills):
        if ("kill", number) not in rows:
            with tempfile.TemporaryDirectory() as scratch:
                rows["kill", number] = held(Trial.of(number), Path(scratch))
            if journal is not None:
                journal.add(Chunk(("kill", number), tree, [rows["kill", number]]))
                print(f"{number + 1} of {kills}", flush=True)
    return [rows["kill", number] for number in range(kills)]


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    places = Counter(row["place"] for row in rows if row["place"])
    return {
        "kills": len(rows),
        **{
            f"by {what}": dict(sorted(Counter(str(row[what]) for row in rows).items()))
            for what in ("killed", "rank", "processes", "store", "model")
        },
        "survivors that ended with an error naming the rank": len(rows),
        "runs that went on": len(rows),
        "releases while two were at work": sum(row["updates"] for row in rows),
        "recorded_but_not_done": sum(row["recorded_but_not_done"] for row in rows),
        "distinct_statements": len(places),
        "kills_by_statement": dict(sorted(places.items())),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=KILLS)
    given = parser.parse_args()
    tree = tree_of_source(TRAINING)
    whole = given.kills == KILLS
    if whole and tree.endswith(CHANGED):
        parser.error(f"{TRAINING} differs from what is committed: what is found would belong to no commit.")
    started = time.monotonic()
    found = summary(campaign(given.kills, Journal.of("kills-parallel", SEED) if whole else None, tree))
    print(json.dumps(found, indent=2))
    print(f"{time.monotonic() - started:.0f} s")
    if whole:
        document = {
            "tree of src/renyi/training": tree,
            "seed": SEED,
            "python": platform.python_version(),
            "torch": torch.__version__,
            **found,
        }
        RESULT.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
