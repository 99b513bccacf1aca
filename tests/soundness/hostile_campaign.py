"""Hostile documents and random valid events, each in a process of its own with limits on memory and time.

    make hostile                                                the whole campaign; writes docs/hostile.json
    python -m tests.soundness.hostile_campaign --documents 500 --events 500       a small one, which writes nothing
    python -m tests.soundness.hostile_campaign --one events 123 [--seed SEED]     one of them in the foreground
    python -m tests.soundness.hostile_campaign --list                             what failed so far

Nothing may raise outside ``PrivacyError``, warn, answer NaN, take more than 5 s of CPU or 1 GB. A run that is stopped goes on
where it was, if the accountants and all they import are what they were: results are bound to the hash of that tree.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import importlib.metadata
import json
import math
import os
import platform
import re
import resource
import select
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

import renyi
from renyi import Event, InvalidInput, NotSerialisable, PrivacyError, UnsupportedError
from renyi.accountants.guarantee import Guarantee
from tests.soundness import hostile_documents, hostile_events, random_events
from tests.soundness.hostile_events import Question
from tests.soundness.journal import CHANGED, Chunk, Journal, tree_of_accountants, tree_of_source

RESULT = Path(__file__).resolve().parents[2] / "docs" / "hostile.json"
SEED = 20261201
DOCUMENTS = EVENTS = 20_000
CHUNK = 25
PROCESSES = 2

PATIENCE = "RENYI_PATIENCE"
"""The variable that multiplies every limit on time, for a run that judges answers alone."""
_PATIENCE = int(os.environ.get(PATIENCE, "1"))

MOST_SECONDS = 5.0 * _PATIENCE
"""CPU that a question may take."""
MOST_MEMORY = 1000.0
"""Largest size of the process that a question may reach, in MB; what an import of the library takes is part of it."""
SLOW_REFUSAL = 1.0 * _PATIENCE
"""CPU in seconds within which a refusal comes."""
MOST_REFUSED = 0.01
"""Share of valid events that may be refused for want of means."""

_KILLED_SECONDS = 6 * _PATIENCE
"""CPU after which a process is ended: whole seconds, above what is allowed."""
_KILLED_WALL = 300.0 * _PATIENCE
"""Wall-clock seconds after which a process is ended, on a machine that does other things too."""
_ADDRESSES = 1 << 30
"""Bytes of address space above those of the warm process: a little more than MOST_MEMORY, which is measured."""

ANSWERED, UNSUPPORTED, MEANS, REFUSED = "answered", "no theorem", "no means", "not an event"


class Outcome(NamedTuple):
    """What became of one question: its class, or a failure, and what it took."""

    number: int
    verdict: str
    failures: list[str]
    seconds: float
    memory: float
    subject: str
    reason: str


class Wrong(Exception):
    """An answer that is none."""


def ask(question: Question) -> None:
    """Ask, and look whether the answer makes sense; the other things that people do with an event and its guarantee too."""
    event, adjacency = question.event, question.adjacency
    if question.form == "guarantee":
        found = renyi.guarantee(event, delta=question.delta, epsilon=question.epsilon, adjacency=adjacency)
        _check_guarantee(found)
    elif question.form == "epsilon":
        assert question.delta is not None
        _check(renyi.epsilon(event, delta=question.delta, adjacency=adjacency), math.inf)
    else:
        assert question.epsilon is not None
        _check(renyi.delta(event, epsilon=question.epsilon, adjacency=adjacency), 1.0)


def became(question: Question) -> tuple[str, str]:
    """What became of a question about a valid event, and why."""
    try:
        ask(question)
    except UnsupportedError as error:
        return UNSUPPORTED, str(error)
    except InvalidInput as error:
        raise Wrong(f"what is valid was refused as invalid: {error}") from error
    except PrivacyError as error:
        return MEANS, f"{type(error).__name__}: {error}"
    return ANSWERED, ""


def _check(value: float, most: float) -> None:
    if not 0.0 <= value <= most:
        raise Wrong(f"the answer is {value!r}")


def _check_guarantee(found: Guarantee) -> None:
    interval = found.epsilon
    if not 0.0 <= interval.lower <= interval.upper:
        raise Wrong(f"the answer is {interval!r}")
    _check(found.delta, 1.0)
    if "nan" in re.split(r"\W", str(found)):
        raise Wrong(f"the guarantee reads {found}")
    with contextlib.suppress(NotSerialisable):
        json.dumps(found.to_dict(), allow_nan=False)


def check_event(event: Event) -> None:
    """What works for every event: text, hash, equality, and JSON there and back."""
    repr(event)
    hash(event)
    try:
        text = event.to_json()
    except NotSerialisable:
        return
    back = renyi.from_json(text)
    if back != event or hash(back) != hash(event) or back.to_json() != text:
        raise Wrong("JSON there and back is another event")


Say = Callable[[str], None]
"""What is told what a question is about, before it is asked."""


def ask_event(rng: np.random.Generator, say: Say) -> tuple[str, str]:
    """A random question about a random event: what became of it, and why."""
    question = hostile_events.question(rng)
    say(str(question))
    if rng.random() < 0.2:
        check_event(question.event)
    return became(question)


def ask_document(rng: np.random.Generator, say: Say) -> tuple[str, str]:
    """A hostile document is refused, or is an event, about which a question is asked."""
    document = hostile_documents.document(rng)
    say(f"{type(document).__name__} of {len(document)}: {document[:1500]!r}")
    started = time.process_time()
    try:
        event = renyi.from_json(document)
    except PrivacyError as error:
        if time.process_time() - started > SLOW_REFUSAL:
            raise Wrong(f"refused after {time.process_time() - started:.1f} s") from None
        if len(str(error)) > 2000:
            raise Wrong(f"refused with a message of {len(str(error))} letters") from None
        str(error).encode()  # it can be printed
        return REFUSED, str(error)
    return became(Question(event, "guarantee", 1e-6, None, renyi.Adjacency.ADD_OR_REMOVE))


KINDS = {"documents": ask_document, "events": ask_event}


def location(error: BaseException) -> str:
    """The innermost lines of the library that an error passed, or the innermost at all."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/src/renyi/" in frame.filename] or frames
    return _place(ours[-1].filename, ours[-1].lineno, ours[-1].name)


def _place(filename: str, line: int | None, name: str = "") -> str:
    return f"{filename.rpartition('/src/')[2].rpartition('/site-packages/')[2]}:{line}" + (
        f" in {name}" if name else ""
    )


def answer(kind: str, seed: int, number: int, report: IO[bytes]) -> Outcome:
    """One question, asked in this process; the report learns what it is before it is asked."""
    subject = ""

    def say(text: str) -> None:
        nonlocal subject
        subject = text
        report.write(f"{json.dumps(text)}\n".encode())
        report.flush()

    failures: list[str] = []
    verdict = text = ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            verdict, text = KINDS[kind](np.random.default_rng([seed, number, kind == "events"]), say)
        except Wrong as error:
            failures.append(f"wrong: {str(error)[:300]}")
        except Exception as error:
            failures.append(f"{type(error).__name__} at {location(error)}: {str(error)[:200]}")
    failures += sorted({f"warning at {_place(one.filename, one.lineno)}: {one.message}" for one in caught})
    usage = resource.getrusage(resource.RUSAGE_SELF)
    seconds = usage.ru_utime + usage.ru_stime
    memory = usage.ru_maxrss * (1024.0 if sys.platform != "darwin" else 1.0) / 1e6
    if seconds > MOST_SECONDS:
        failures.append(f"slow: {seconds:.1f} s of CPU")
    if memory > MOST_MEMORY:
        failures.append(f"memory: {memory:.0f} MB")
    if not failures and verdict != MEANS:
        subject = ""
    return Outcome(number, verdict or "failed", failures, seconds, memory, subject, text[:200])


def _limited(report: IO[bytes]) -> None:
    """The limits of a process that asks one question; what it was doing when it ran out of time goes to the report."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + _ADDRESSES, used + _ADDRESSES))
    resource.setrlimit(resource.RLIMIT_CPU, (_KILLED_SECONDS, _KILLED_SECONDS + 3))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.enable(file=report, all_threads=False)
    faulthandler.register(signal.SIGXCPU, file=report, all_threads=False, chain=True)


def alone(kind: str, seed: int, number: int) -> Outcome:
    """One question in a process of its own."""
    reading, writing = os.pipe()
    with tempfile.TemporaryFile() as report:
        child = os.fork()
        if child == 0:
            try:
                os.close(reading)
                _limited(report)
                with os.fdopen(writing, "w") as file:
                    file.write(json.dumps(answer(kind, seed, number, report)))
            except BaseException as error:
                report.write(f"{type(error).__name__}: {error}\n".encode())
                report.flush()
            finally:
                os._exit(0)
        os.close(writing)
        data, ended = _received(reading, child)
        if data:
            return Outcome(*json.loads(data))
        report.seek(0)
        return _ended(number, ended, report.read().decode(errors="replace"))


def _received(reading: int, child: int) -> tuple[bytes, tuple[int, resource.struct_rusage]]:
    """What the process writes until it ends, or until it has taken far too long."""
    deadline, data = time.monotonic() + _KILLED_WALL, b""
    with os.fdopen(reading, "rb") as file:
        while True:
            ready, _, _ = select.select([file], [], [], max(0.0, deadline - time.monotonic()))
            part = os.read(file.fileno(), 1 << 16) if ready else b""
            if not part:
                break
            data += part
        if not ready:
            os.kill(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    return data, (status, usage)


def _ended(number: int, ended: tuple[int, resource.struct_rusage], report: str) -> Outcome:
    """A process that died without an answer: of time, of memory, or otherwise."""
    status, usage = ended
    first, _, report = report.partition("\n")
    subject = json.loads(first) if first.startswith('"') else f"while it was drawn: {first}"
    frames = re.findall(r'File "([^"]*)", line (\d+) in (\w+)', report)
    ours = [frame for frame in frames if "/src/renyi/" in frame[0]] or frames
    place = (
        _place(ours[0][0], int(ours[0][1]), ours[0][2]) if ours else (report.strip().splitlines() or ["nowhere"])[-1]
    )
    seconds, number_of_signal = usage.ru_utime + usage.ru_stime, os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    if number_of_signal in (signal.SIGXCPU, signal.SIGKILL):
        reason = "slow: killed" if seconds > MOST_SECONDS else "hung: killed"
    else:
        reason = f"crash: signal {number_of_signal}"
    stack = " < ".join(_place(name, int(line)) for name, line, _ in ours[:6])
    return Outcome(
        number, "failed", [f"{reason} at {place}: {stack}"], seconds, usage.ru_maxrss * 1024.0 / 1e6, subject, ""
    )


def warm() -> None:
    """What first calls load, once, for all processes that fork from this one."""
    step = renyi.Gaussian(1.1).on(renyi.Poisson(0.01))
    for event in (step * 1000, step * 100 + renyi.Laplace(2.0), renyi.Laplace(3.0) * 5, renyi.ZCDP(0.1) * 3):
        _check_guarantee(renyi.guarantee(event, delta=1e-6))
        renyi.delta(event, epsilon=1.0)
        check_event(event)
    random_events.kinds()


Task = tuple[str, int, int, int]
"""What is asked, with which seed, from which number on, up to which."""


def work(task: Task) -> list[Outcome]:
    kind, seed, first, last = task
    return [alone(kind, seed, number) for number in range(first, last)]


def run(seed: int, wanted: dict[str, int], journal: Journal | None, tree: str) -> dict[str, list[Outcome]]:
    """All questions; what this tree was asked already is not asked again."""
    tasks: list[Task] = [
        (kind, seed, first, min(first + CHUNK, total))
        for kind, total in wanted.items()
        for first in range(0, total, CHUNK)
    ]
    done: dict[Task, list[Outcome]] = {}
    for chunk in journal or ():
        if chunk.tree == tree:
            done[chunk.task] = [Outcome(*row) for row in chunk.rows]
    left = [task for task in tasks if task not in done]
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # what has threads cannot be forked safely
    with get_context("spawn").Pool(PROCESSES, initializer=warm) as pool:
        for task, batch in zip(left, pool.imap(work, left), strict=True):
            done[task] = batch
            if journal is not None:
                journal.add(Chunk(task, tree, batch))
            for one in batch:
                if one.failures:
                    print(f"\r{task[0]} {one.number}: {one.failures}\n    {one.subject[:300]}", file=sys.stderr)
            print(f"\r{len(done)}/{len(tasks)}", end="", file=sys.stderr, flush=True)
    return {kind: [one for task in tasks if task[0] == kind for one in done[task]] for kind in wanted}


def grouped(outcomes: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    """Failures by what went wrong and where, the commonest first."""
    found: dict[str, list[Outcome]] = {}
    for one in outcomes:
        for text in one.failures:
            kind = re.sub(r"\d+\.\d+ s|\d+ MB|[-\d.e+]{4,}", "#", text.split(" < ")[0] if "killed" in text else text)
            found.setdefault(kind[:160], []).append(one)
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def kind_of(reason: str) -> str:
    """A reason without its numbers and parameters."""
    return re.sub(r"\([^()]*\)", "", re.sub(r"\d[-\d.e+]*", "#", reason))[:80]


def summary(outcomes: Sequence[Outcome]) -> dict[str, object]:
    """Counts of answers and refusals, failures, times and memory."""
    failed = [one for one in outcomes if one.failures]
    seconds, memory = [one.seconds for one in outcomes], [one.memory for one in outcomes]
    shares = {"median": 0.5, "90 %": 0.9, "99 %": 0.99, "largest": 1.0}
    verdicts = Counter(one.verdict for one in outcomes)
    reasons = {
        verdict: Counter(kind_of(one.reason) for one in outcomes if one.verdict == verdict).most_common(20)
        for verdict in (UNSUPPORTED, MEANS, REFUSED)
    }
    return {
        "asked": len(outcomes),
        "verdicts": dict(sorted(verdicts.items())),
        "reasons": {verdict: dict(found) for verdict, found in reasons.items() if found},
        "refused for want of means": verdicts[MEANS] / len(outcomes),
        "refusals above 1 s": sum(one.seconds > SLOW_REFUSAL and one.verdict != ANSWERED for one in outcomes),
        "failed": len(failed),
        "failures": [
            {"number": one.number, "failures": one.failures, "subject": one.subject[:2000]} for one in failed[:50]
        ],
        "seconds of CPU": {name: round(float(np.quantile(seconds, share)), 3) for name, share in shares.items()},
        "peak memory in MB": {name: round(float(np.quantile(memory, share)), 1) for name, share in shares.items()},
    }


def versions() -> dict[str, str]:
    names = ("renyi", "numpy", "scipy")
    return {"python": platform.python_version(), **{name: importlib.metadata.version(name) for name in names}}


def wrong(result: dict[str, dict[str, object]]) -> list[str]:
    """Why the campaign has not passed."""
    texts = [f"{kind}: {found['failed']} failures" for kind, found in result.items() if found["failed"]]
    refused = result["events"]["refused for want of means"] if "events" in result else 0.0
    assert isinstance(refused, float)
    return texts + ([f"{refused:.2%} of valid events refused for want of means"] if refused > MOST_REFUSED else [])


def show(found: dict[str, list[Outcome]]) -> None:
    """Failures, and refusals for want of means, each kind with its shortest example."""
    for kind, outcomes in found.items():
        refusals: dict[str, list[Outcome]] = {}
        for one in outcomes:
            if one.verdict == MEANS:
                refusals.setdefault(f"refused for want of means: {kind_of(one.reason)}", []).append(one)
        for text, ones in {**grouped(outcomes), **refusals}.items():
            least = min(ones, key=lambda one: len(one.subject))
            print(f"{len(ones):5d} x {kind}: {text}\n        --one {kind} {least.number}   {least.subject[:600]}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--documents", type=int, default=DOCUMENTS)
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--one", nargs=2, metavar=("KIND", "NUMBER"), help="ask one question here, with its traceback")
    parser.add_argument("--list", action="store_true", help="what failed so far, grouped")
    arguments = parser.parse_args()
    if arguments.one:
        return one(arguments.one[0], arguments.seed, int(arguments.one[1]))
    journal, tree = Journal.of("hostile", arguments.seed), tree_of_accountants()
    if arguments.list:
        rows: dict[str, list[Outcome]] = {kind: [] for kind in KINDS}
        for chunk in journal:
            rows[chunk.task[0]] += [Outcome(*row) for row in chunk.rows if chunk.tree == tree]
        show(rows)
        return 0
    wanted = {"documents": arguments.documents, "events": arguments.events}
    is_whole = wanted == {"documents": DOCUMENTS, "events": EVENTS}
    if is_whole and tree.endswith(CHANGED):
        print("src/ differs from what is committed: commit it first, so that the result has a name.", file=sys.stderr)
        return 2
    started = time.time()
    # A small run asks afresh each time, and leaves nothing behind.
    found = run(arguments.seed, wanted, journal if is_whole else None, tree)
    print(f"\r{time.time() - started:.0f} s", file=sys.stderr)
    show(found)
    result = {kind: summary(outcomes) for kind, outcomes in found.items() if outcomes}
    for kind, part in result.items():
        print(kind, json.dumps({name: value for name, value in part.items() if name != "failures"}, indent=1))
    if is_whole:
        limits = {"seconds of CPU": MOST_SECONDS, "MB": MOST_MEMORY, "share refused for want of means": MOST_REFUSED}
        document = {
            "tree of src": tree_of_source(),
            "tree of what was asked": tree,
            "versions": versions(),
            "seed": arguments.seed,
            "limits": limits,
            **result,
        }
        RESULT.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    for text in (reasons := wrong(result)):
        print(text, file=sys.stderr)
    return 1 if reasons else 0


def one(kind: str, seed: int, number: int) -> int:
    """One question in the foreground: what it is, its traceback, its time and memory."""
    warm()
    before = time.process_time()
    warnings.simplefilter("error")
    try:
        print(KINDS[kind](np.random.default_rng([seed, number, kind == "events"]), print))
        return 0
    finally:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        print(f"{time.process_time() - before:.2f} s of CPU, {usage.ru_maxrss * 1024 / 1e6:.0f} MB", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
