"""SIGINT and SIGTERM at every statement of a release: the run goes on, so does one that resumes its journal, and replay agrees.

The signal is sent at the n-th line of anything of renyi that a release executes, by a trace function. Both are wanted to end
the program by an exception; here it is caught, as a notebook does. Then the journal is replayed and compared with the run, a
further step is taken, by the same run or by one that was resumed, and both are compared again.

Usage: python -m tests.training.interrupt_campaign [--interrupts 1000] [--output docs/interrupts.json]
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import torch

import renyi
from renyi.training import AdaptiveClip, Run, Schedule, replay
from renyi.training.planning import plan as plans
from tests.soundness.journal import tree_of_source
from tests.training.support import dataset, losses, model, plan, train

SOURCE = str(Path(renyi.__file__).parent)
AT_A_TIME = 40
"""Interrupts of one run, whose journal is replayed after each."""


class Terminated(BaseException):
    """What the handler of SIGTERM raises here."""


def _terminate(*_: object) -> None:
    raise Terminated


class Sender:
    """Notes the lines executed in renyi's files, and sends a signal to this process the n-th time that it sees a given one."""

    def __init__(self, number: int, place: str, times: int) -> None:
        self.number, self.place, self.times = number, place, times
        self.places: list[str] = []

    def trace(self, frame, event, _):
        if not frame.f_code.co_filename.startswith(SOURCE):
            return None
        if event == "line":
            self.places.append(f"{Path(frame.f_code.co_filename).relative_to(SOURCE)}:{frame.f_lineno}")
            if self.places[-1] == self.place and self.places.count(self.place) == self.times:
                os.kill(os.getpid(), self.number)
        return self.trace

    def around(self, release):
        def traced(*arguments, **facts):
            sys.settrace(self.trace)
            try:
                return release(*arguments, **facts)
            finally:
                sys.settrace(None)

        return traced


def planned():
    clip = AdaptiveClip(1.0, count_noise_multiplier=4.0)
    return plan(steps=4 * AT_A_TIME, clip=clip, learning_rate_schedule=Schedule.pieces((1, 1.0)))


def opened(journal: Path) -> Run:
    net = model()
    make = Run.resume if journal.exists() else Run
    made = make(planned(), net, torch.optim.SGD(net.parameters(), lr=0.1), losses, journal=journal)
    made._looks._at = lambda *_: None  # which takes most of a step's time, and is over before the release
    return made


def interrupted(run: Run, number: int, place: str, times: int) -> tuple[bool, list[str]]:
    """One step, with a signal at one of its lines: whether it was interrupted, and the lines that it executed."""
    plans._step.cache_clear()  # else the events of a plan would be made in the first release of this process alone
    sender = Sender(number, place, times)
    release = run._releaser.release
    run._releaser.release = sender.around(release)
    try:
        train(run, dataset(10), steps=1)
        return False, sender.places
    except (KeyboardInterrupt, Terminated):
        return True, sender.places
    finally:
        run._releaser.release = release


def agree(run: Run, journal: Path) -> None:
    record = replay(journal)
    assert (record.steps, record.lines, record.head) == (run.steps, run.record.lines, run._releaser.journal.head)
    assert record.event == run.record.event


def campaign(directory: Path, interrupts: int) -> dict[str, object]:
    torch.set_num_threads(1)
    started = time.monotonic()
    handlers = signal.signal(signal.SIGINT, signal.default_int_handler), signal.signal(signal.SIGTERM, _terminate)
    try:
        run = opened(directory / "measured.jsonl")
        _, lines = interrupted(run, signal.SIGINT, "", 0)
        run.close()
        places: Counter[str] = Counter()
        missed: Counter[str] = Counter()
        # Every statement the first time, then again and again as often as it is executed.
        executed = [(place, lines[: at + 1].count(place)) for at, place in enumerate(lines)]
        wanted = sorted(executed, key=lambda one: one[1] > 1)[: (interrupts + 1) // 2]
        for number in range(interrupts):
            journal = directory / f"{number // AT_A_TIME}.jsonl"
            run = opened(journal) if number % AT_A_TIME == 0 else run
            kind = (signal.SIGINT, signal.SIGTERM)[number % 2]
            place, times = wanted[number // 2]
            was, seen = interrupted(run, kind, place, times)
            assert was or seen.count(place) < times, place  # how many values are refined is a matter of chance
            (places if was else missed)[place] += 1
            assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == (
                signal.default_int_handler,
                _terminate,
            )
            agree(run, journal)
            if number % 4 == 3 or (number + 1) % AT_A_TIME == 0:
                run.close()
                run = opened(journal)
            before = run.steps
            train(run, dataset(10), steps=1)
            assert run.steps == before + 1
            agree(run, journal)
            if (number + 1) % AT_A_TIME == 0 or number + 1 == interrupts:
                assert replay(journal).guarantee().epsilon == run.guarantee().epsilon
                run.close()
        # What only the first step of a run executes is interrupted there, in a run of its own.
        for number, place in enumerate(missed.elements()):
            journal = directory / f"first-{number}.jsonl"
            run = opened(journal)
            was, _ = interrupted(run, (signal.SIGINT, signal.SIGTERM)[number % 2], place, 1)
            if was:
                places[place] += 1
            agree(run, journal)
            train(run, dataset(10), steps=1)
            agree(run, journal)
            run.close()
        missed = Counter({place: times for place, times in missed.items() if place not in places})
    finally:
        signal.signal(signal.SIGINT, handlers[0])
        signal.signal(signal.SIGTERM, handlers[1])
    return {
        "tree of src": tree_of_source(),
        "interrupts": interrupts,
        "lines_executed_in_one_release": len(lines),
        "distinct_statements_of_a_release": len(set(lines)),
        "of_which_interrupted_at": len(places),
        "interrupts_sent": sum(places.values()),
        "not_executed_when_they_were_to_be_interrupted": dict(sorted(missed.items())),
        "seconds": round(time.monotonic() - started, 1),
        "interrupts_by_statement": dict(sorted(places.items())),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--interrupts", type=int, default=1000)
    parser.add_argument("--output", type=Path, default=Path(__file__).parents[2] / "docs" / "interrupts.json")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        result = campaign(Path(scratch), given.interrupts)
    given.output.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
