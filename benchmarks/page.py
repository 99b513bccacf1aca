"""How fast the page answers while a slider moves, and whether it bears fifty visitors; writes docs/benchmark-page.json.

    make bench-page

A server is started as anybody starts it (``renyi serve``), and asked over the loopback address alone. First one visitor moves
every slider of five runs from end to end, one position after the other. Times are the processor's, of the server and its
workers together, beside those by the clock, which a busy machine makes longer. The ends of sliders are corners where nobody
runs anything and answers take longer: they are counted apart.
Then fifty visitors ask once a second for a minute, each about a run whose figures they vary. The number of requests is fixed
beforehand, and the load stops by itself. It needs Linux, which tells the processor's time of other processes.
"""

from __future__ import annotations

import http.client
import json
import math
import os
import random
import re
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.beside import tree
from renyi.cli import options
from renyi.web.form import Form
from renyi.web.layout import FIELDS, Field

DOCS = Path(__file__).resolve().parents[1] / "docs"
RESULT = DOCS / "benchmark-page.json"
BEGIN, END = "<!-- page: written by `make bench-page` -->\n", "\n<!-- /page -->"

POSITIONS = 40
"""Places of each slider: from one end to the other, as when it is dragged once."""

USUAL_STEPS, USUAL_EPSILON = 100, (0.05, 50.0)
"""The least number of steps, and both ends of epsilon, of a run that somebody might make."""

VISITORS, SECONDS = 50, 60

RUNS = {
    "60 epochs of MNIST": Form(),
    "a thousand epochs of CIFAR-10": Form(noise="3", batch="4096", dataset="50000", epochs="1000"),
    "three epochs of a million sentences": Form(noise="0.6", batch="1024", dataset="1000000", epochs="3", delta="1e-7"),
    "rate and steps": Form(by="rate", noise="1", rate="0.01", steps="10000", delta="1e-6"),
    "federated rounds": Form(by="rate", noise="7", rate="0.002", steps="2000", delta="1e-10"),
}
"""Runs of DP-SGD, at whose fields the sliders begin."""


UNUSED = {
    "epsilon": ("epsilon",),
    "delta": ("delta",),
    "noise": ("noise",),
    "rate": ("rate", "batch"),
    "steps": ("steps", "epochs"),
}
"""What can be found, and the sliders that are not asked for then."""

EVERY = 5
"""Where another figure than epsilon is found, one place of so many is asked for: each takes longer."""


def moves(form: Form) -> Iterator[Form]:
    """The form at every position of each slider that is shown beside it."""
    for field in FIELDS:
        if field.name not in UNUSED[form.solve] and field.by in ("", form.by):
            places = (moved(form, field, k / (POSITIONS - 1)) for k in range(POSITIONS))
            yield from filter(is_a_run, places)


def is_a_run(form: Form) -> bool:
    """Whether a batch is no larger than the data: else there is nothing to compute, and the page says so."""
    return form.by != "sizes" or int(form.batch) <= int(form.dataset)


def moved(form: Form, field: Field, share: float) -> Form:
    """The form with one slider at a share of its length."""
    return replaced(form, field, field.low * (field.high / field.low) ** share)


def varied(form: Form, drawn: random.Random) -> Form:
    """The form with one figure up to three times larger or smaller."""
    field = drawn.choice([field for field in FIELDS if field.name != "epsilon" and field.by in ("", form.by)])
    value = options.number(form.to_dict()[field.name]) * 3.0 ** drawn.uniform(-1.0, 1.0)
    return replaced(form, field, min(value, field.high))


def replaced(form: Form, field: Field, value: float) -> Form:
    """The form with another figure, of three digits, as sliders write them."""
    text = str(max(1, round(float(f"{value:.3g}")))) if field.whole else f"{value:.3g}"
    return Form.from_dict({**form.to_dict(), field.name: text})


class Server(NamedTuple):
    """Where it is, and its process."""

    host: str
    port: int
    process: int

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.host, self.port, timeout=60)

    def processor(self) -> float:
        """Seconds of the processor's time that the server and its workers have taken."""
        children = Path(f"/proc/{self.process}/task/{self.process}/children").read_text(encoding="ascii")
        # The clock of another process, as clock_getcpuclockid(3) makes it.
        return sum(time.clock_gettime(~pid << 3 | 2) for pid in (self.process, *map(int, children.split())))


@contextmanager
def started() -> Iterator[Server]:
    """``renyi serve`` on a free port, ended afterwards."""
    # On a machine that is busy with other things an answer must not be ended for that.
    command = [sys.executable, "-m", "renyi", "serve", "--port", "0", "--seconds", "300"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        assert process.stderr is not None
        try:
            line = process.stderr.readline()
            host, port = line.split("http://")[1].split("/")[0].split(":")
            yield Server(host, int(port), process.pid)
        finally:
            process.terminate()


class Answered(NamedTuple):
    """Whether the whole answer came, after how many seconds, and epsilon."""

    status: int
    clock: float = math.inf
    epsilon: float = math.nan
    processor: float = math.nan


def asked(connection: http.client.HTTPConnection, form: Form) -> Answered:
    begun = time.perf_counter()
    connection.request("GET", f"/answer?{form.query()}")
    response = connection.getresponse()
    text = response.read().decode()
    clock = time.perf_counter() - begun
    found = re.search(r'data-exact="([^"]*)"', text)
    return Answered(response.status, clock, float(found[1]) if found else math.nan)


def timed(server: Server, connection: http.client.HTTPConnection, form: Form) -> Answered:
    """With the processor's time."""
    before = server.processor()
    return asked(connection, form)._replace(processor=server.processor() - before)


def is_usual(form: Form, epsilon: float) -> bool:
    """Whether somebody might make this run."""
    steps = int(form.steps) if form.by == "rate" else Fraction(form.epochs) * int(form.dataset) / int(form.batch)
    return steps >= USUAL_STEPS and USUAL_EPSILON[0] <= epsilon <= USUAL_EPSILON[1]


def slid(server: Server) -> dict[str, Any]:
    """Every slider moved from end to end, run by run."""
    connection = server.connection()
    for form in RUNS.values():
        asked(connection, form)  # each worker begins with an import
    found = []
    for form in (form for run in RUNS.values() for form in moves(run)):
        found.append((form, timed(server, connection, form)))
    connection.close()
    return {
        "usual runs": alone([one for form, one in found if is_usual(form, one.epsilon)]),
        "from end to end": alone([one for _, one in found]),
    }


def solved(server: Server) -> dict[str, Any]:
    """The same where another figure is found."""
    connection = server.connection()
    found = {}
    for figure in UNUSED.keys() - {"epsilon"}:
        runs = [Form.from_dict({**run.to_dict(), "solve": figure}) for run in RUNS.values()]
        forms = [form for run in runs for form in moves(run)][::EVERY]
        found[figure] = alone([timed(server, connection, form) for form in forms])
    connection.close()
    return {figure: found[figure] for figure in UNUSED if figure in found}


def visited(server: Server) -> dict[str, Any]:
    """Fifty visitors, one request a second each, for a minute."""
    found: list[Answered] = []
    before, begun = server.processor(), time.monotonic() + 1.0

    def visitor(number: int) -> None:
        drawn = random.Random(number)
        form = list(RUNS.values())[number % len(RUNS)]
        connection = server.connection()
        for second in range(SECONDS):
            time.sleep(max(0.0, begun + second + number / VISITORS - time.monotonic()))
            try:
                found.append(asked(connection, varied(form, drawn)))
            except OSError:
                found.append(Answered(0))
                connection.close()
        connection.close()

    threads = [threading.Thread(target=visitor, args=(number,)) for number in range(VISITORS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {
        "visitors": VISITORS,
        "seconds": SECONDS,
        **counted(found),
        "processor's seconds": round(server.processor() - before, 1),
        "by the clock": spread([one.clock for one in found if one.status == 200]),
    }


def alone(found: list[Answered]) -> dict[str, Any]:
    """Answers to one visitor at a time."""
    answered = [one for one in found if one.status == 200]
    return {
        **counted(found),
        "processor": spread([one.processor for one in answered]),
        "by the clock": spread([one.clock for one in answered]),
    }


def counted(found: list[Answered]) -> dict[str, int]:
    return {"requests": len(found), "errors": sum(one.status != 200 for one in found)}


def spread(seconds: list[float]) -> dict[str, float]:
    """In milliseconds, and the share within fifty of them."""
    ordered = sorted(seconds)
    return {
        "median ms": round(1e3 * percentile(ordered, 0.5), 2),
        "99th percentile ms": round(1e3 * percentile(ordered, 0.99), 2),
        "longest ms": round(1e3 * ordered[-1], 2),
        "within 50 ms": round(sum(each <= 0.05 for each in seconds) / len(seconds), 4),
    }


def percentile(ordered: list[float], share: float) -> float:
    """The least value that at least this share of them does not exceed."""
    return ordered[math.ceil(share * len(ordered)) - 1]


def sentence(result: dict[str, Any]) -> str:
    """What the page about the page says of it."""
    usual, whole, visitors = (result[name] for name in ("usual runs", "from end to end", "visitors"))
    names = {"delta": "delta", "noise": "the noise", "rate": "a rate or batch size", "steps": "steps or epochs"}
    medians = [f"{result['solved'][figure]['processor']['median ms']:.0f} ms for {names[figure]}" for figure in names]
    others = f"{', '.join(medians[:-1])} and {medians[-1]}"
    near, far, low, high = usual["processor"], whole["processor"], *USUAL_EPSILON
    said = (
        f"While a slider moves, an answer takes the server {near['median ms']:.0f} ms of a processor's time in the median, and "
        f"{near['99th percentile ms']:.0f} ms at the 99th percentile: measured at {usual['requests']} places of the sliders, "
        f"for runs of at least {USUAL_STEPS} steps with an epsilon from {low:g} to {high:g}. "
        f"Of all {whole['requests']} places, "
        f"both ends of every slider included, {100.0 * far['within 50 ms']:.0f} % took at most 50 ms. That is for finding "
        f"epsilon; to find another figure takes longer, in the median {others}. A batch size for a number of epochs takes "
        "longest: its cost is not known to be monotone, so some seventy batches are asked about. "
        f"{visitors['visitors']} "
        f"visitors who asked once a second each, for a minute, sent {visitors['requests']:,} requests, of which "
        f"{visitors['errors'] or 'none'} failed (`make bench-page`)."
    )
    return textwrap.fill(said, 150)


def main() -> None:
    with started() as server:
        sliders, others = slid(server), solved(server)
        visitors = visited(server)
    load = round(os.getloadavg()[2], 1)
    result = {
        "tree of src": tree(),
        "cores": os.cpu_count(),
        "load of the machine": load,
        **sliders,
        "solved": others,
        "visitors": visitors,
    }
    RESULT.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    page = DOCS / "page.md"
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}{sentence(result)}{END}{after}", encoding="utf-8")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
