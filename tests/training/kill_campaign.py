"""kill -9 at every statement of a release: what was done is recorded, and at most one line too many per kill.

A warm parent forks a child for every kill. The child resumes the run from its journal and last checkpoint, makes one
undisturbed release, and in the next one kills itself at a line of ``release`` or of anything of renyi that it calls. The
optimizer writes a byte to a file whenever it steps. After every kill the parent compares:  steps <= recorded <= steps + kills.
At the end the run is resumed once more and finished, and its guarantee is compared with the replay of the journal.

Usage: python -m tests.training.kill_campaign [--kills 1000] [--directory DIR] [--output docs/kill-campaign.json]
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import tempfile
import time
from collections import Counter
from pathlib import Path

import torch

import renyi
from renyi.training import AdaptiveClip, Run, Schedule, replay
from renyi.training.release import Releaser
from tests.soundness.journal import tree_of_source
from tests.training.interrupt_campaign import Sender
from tests.training.support import dataset, losses, model, plan, train


class Counted(torch.optim.SGD):
    """SGD that writes a byte to a file whenever it begins a step."""

    def __init__(self, parameters, path):
        super().__init__(parameters, lr=0.1, momentum=0.9)
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def step(self, closure=None):
        os.write(self.file, b"s")
        return super().step(closure)


def planned(steps):
    """A plan that uses everything a release can do, so that every statement is reached."""
    clip = AdaptiveClip(1.0, count_noise_multiplier=4.0)
    return plan(steps=steps, clip=clip, learning_rate_schedule=Schedule.pieces((1, 1.0)))


def opened(directory, steps):
    net = model()
    optimizer = Counted(net.parameters(), directory / "steps")
    journal, checkpoint = directory / "run.jsonl", directory / "run.pt"
    options = {"journal": journal}
    if not journal.exists() or not journal.stat().st_size:
        return Run(planned(steps), net, optimizer, losses, **options)
    found = checkpoint if checkpoint.exists() else None
    return Run.resume(planned(steps), net, optimizer, losses, checkpoint=found, **options)


def child(directory, steps, place, times):
    """One undisturbed release, and one that ends when it comes to a place for the n-th time.

    If it does not end, its lines are written down.
    """
    run = opened(directory, steps)
    train(run, dataset(10), steps=1)
    run.save(directory / "run.pt")
    sender = Sender(signal.SIGKILL, place, times)
    run._releaser.release = sender.around(run._releaser.release)
    train(run, dataset(10), steps=1)
    (directory / "lines").write_text(json.dumps(sender.places))
    run.close()


def forked(directory, steps, place="", times=0):
    """Whether the child was killed."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            child(directory, steps, place, times)
            code = 0
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code in (0, -signal.SIGKILL), f"the child failed with {code}"
    return code != 0


def campaign(directory: Path, kills: int) -> dict[str, object]:
    torch.set_num_threads(1)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as warm:
        child(Path(warm), 2, "", 0)  # loads what the children will need
    steps = 2 * kills + 10
    assert not forked(directory, steps)
    lines = json.loads((directory / "lines").read_text())
    places: Counter[str] = Counter()
    missed: Counter[str] = Counter()  # how many values are refined is a matter of chance
    extra = 0
    for number, (place, times) in enumerate(_schedule(lines, kills)):
        (places if forked(directory, steps, place, times) else missed)[place] += 1
        done, recorded = (directory / "steps").stat().st_size, replay(directory / "run.jsonl").steps
        assert done <= recorded <= done + number + 1, (place, done, recorded, number + 1)
        extra = recorded - done
    run = train(opened(directory, steps), dataset(10))
    answer = run.guarantee()
    run.close()
    record = replay(directory / "run.jsonl")
    assert record.steps == run.steps == steps
    assert record.guarantee() == answer
    assert answer.epsilon.upper == renyi.epsilon(record.event, delta=1e-5) == planned(steps).cost()
    done = (directory / "steps").stat().st_size
    assert done <= steps <= done + kills
    return {
        "tree of src": tree_of_source(),
        "kills": kills,
        "lines_executed_in_one_release": len(lines),
        "distinct_statements": len(places),
        "statements_of_release": sorted(_own_lines()),
        "not_executed_when_they_were_to_be_killed": dict(sorted(missed.items())),
        "of_which_killed_at": sorted(line for line in _own_lines() if f"training/release.py:{line}" in places),
        "steps_done": done,
        "steps_recorded": record.steps,
        "recorded_but_not_done": extra,
        "epsilon": answer.epsilon.upper,
        "seconds": round(time.monotonic() - started, 1),
        "kills_by_statement": dict(sorted(places.items())),
    }


def _schedule(lines: list[str], kills: int) -> list[tuple[str, int]]:
    """Each statement of release itself first, then all lines of what it calls, spread over the number of kills."""
    executed = [(place, lines[: at + 1].count(place)) for at, place in enumerate(lines)]
    own = [(place, times) for place, times in executed if place.startswith("training/release.py:") and times == 1]
    rest = kills - len(own)
    spread = [i * len(lines) // rest if rest < len(lines) else i % len(lines) for i in range(rest)]
    return [*own, *(executed[at] for at in spread)][:kills]


def _own_lines() -> set[int]:
    """The line numbers of the statements of release itself."""
    code = Releaser._release.__code__
    return {line for _, _, line in code.co_lines() if line is not None and line > code.co_firstlineno}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--directory", type=Path)
    parser.add_argument("--output", type=Path, default=Path(__file__).parents[2] / "docs" / "kill-campaign.json")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        result = campaign(given.directory or Path(scratch), given.kills)
    given.output.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
