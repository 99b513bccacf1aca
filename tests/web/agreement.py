"""Page, library and command about the same random runs: one number, to the last digit; writes docs/page-agreement.json.

The page is asked by HTTP, and its worker answers in a process of its own. The library is asked by its public functions, about
an event that is built here from the fields. The command is what the page prints as "the same in the shell": run in this
process, and for some of the runs as a program of its own.

Usage: make agreement, or python -m tests.web.agreement [--runs 1000] [--programs 20] [--seed N]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from html import unescape
from pathlib import Path
from typing import NamedTuple

from starlette.testclient import TestClient
from typer.testing import CliRunner

import renyi
from renyi import Composed, Gaussian, Laplace, Poisson, RandomAllocation, RandomizedResponse, WithoutReplacement
from renyi.cli.main import app as command
from renyi.cli.questions.steps import MOST_STEPS
from renyi.web.app import create_app
from renyi.web.form import Form
from renyi.web.site import Settings
from tests import examples
from tests.soundness.journal import tree_of_source

RESULT = Path(__file__).parents[2] / "docs" / "page-agreement.json"
HOST = "localhost:8484"

MORE = {
    "": (),
    "laplace:noise_multiplier=10 times 3": (Laplace(10.0) * 3,),
    "randomized_response:probability=3/4": (RandomizedResponse(0.75),),
    "gaussian:noise_multiplier=8 on random_allocation:steps=20\nlaplace:noise_multiplier=9": (
        Gaussian(8.0).on(RandomAllocation(20)),
        Laplace(9.0),
    ),
    "gaussian:noise_multiplier=9 on without_replacement:batch=10,dataset=1000 times 5": (
        Gaussian(9.0).on(WithoutReplacement(10, 1000)) * 5,
    ),
}
"""Further releases as the page reads them, and as the library is told."""


class Said(NamedTuple):
    """Both ends with all their digits, and the figure that was found; or that there is no answer."""

    lower: str = "refused"
    upper: str = "refused"
    value: str | None = None


def random_forms(count: int, seed: int) -> Iterator[Form]:
    """Runs as people describe them: most ask for epsilon, a tenth each for noise, steps or rate."""
    drawn = random.Random(seed)
    for _ in range(count):
        solve = drawn.choices(["epsilon", "delta", "noise", "steps", "rate"], [5, 2, 1, 1, 1])[0]
        batch, dataset = drawn.randint(1, 2000), drawn.randint(2000, 10**6)
        calibrated = solve not in ("epsilon", "delta")
        yield Form(
            solve=solve,
            by=drawn.choice(["rate", "sizes"]),
            noise=f"{math.exp(drawn.uniform(-0.7, 3.0)):.4g}",
            rate=drawn.choice([f"{math.exp(drawn.uniform(-9.0, 0.0)):.3g}", f"{batch}/{dataset}"]),
            steps=str(int(math.exp(drawn.uniform(0.0, 10.0)))),
            batch=str(batch),
            dataset=str(dataset),
            epochs=f"{math.exp(drawn.uniform(-1.0, 4.0)):.3g}",
            epsilon=f"{math.exp(drawn.uniform(-2.0, 2.0)):.3g}",
            delta=f"{10.0 ** drawn.uniform(-12.0, -2.0):.2g}",
            adjacency="add-or-remove" if calibrated else drawn.choice(["add-or-remove", "zero-out", "replace-one"]),
            more="" if calibrated else drawn.choices(list(MORE), [16, 1, 1, 1, 1])[0],
        )


def of_library(form: Form) -> Said:
    """What the public functions say about the run of the fields."""
    adjacency = renyi.Adjacency(form.adjacency)
    try:
        make = _maker(form)
        value = None
        if form.solve not in ("epsilon", "delta"):
            value = renyi.calibrate(
                make, epsilon=float(form.epsilon), delta=float(form.delta), adjacency=adjacency, **_bounds(form)
            )
        given = {"epsilon": float(form.epsilon)} if form.solve == "delta" else {"delta": float(form.delta)}
        found = renyi.guarantee(make(value), adjacency=adjacency, **given).answer
    except renyi.PrivacyError:
        return Said()
    return Said(repr(found.lower), repr(found.upper), None if value is None else _digits(form, value))


def _maker(form: Form):
    """The run as a function of the figure that is left open."""
    noise, rate, steps = float(form.noise), float(Fraction(form.rate)), int(form.steps)
    dataset, epochs = int(form.dataset), Fraction(form.epochs)

    def run(noise, rate, steps):
        event = Gaussian(noise).on(Poisson(rate)) * steps
        return Composed((event, *MORE[form.more])) if form.more else event

    def of_batch(batch):
        return float(Fraction(batch, dataset)), math.ceil(epochs * dataset / batch)

    if form.by == "sizes":
        if form.solve == "rate":
            return lambda batch: run(noise, *of_batch(int(batch)))
        rate, steps = of_batch(int(form.batch))
    return {
        "noise": lambda x: run(x, rate, steps),
        "rate": lambda q: run(noise, q, steps),
        "steps": lambda n: run(noise, rate, int(n)),
    }.get(form.solve, lambda _: run(noise, rate, steps))


def _bounds(form: Form) -> dict[str, object]:
    if form.solve == "steps":
        return {"integer": True, "high": MOST_STEPS}
    if form.solve == "rate":
        return {"integer": True, "low": 1.0, "high": float(form.dataset)} if form.by == "sizes" else {"high": 1.0}
    return {}


def _digits(form: Form, value: float) -> str:
    return str(int(value)) if form.solve == "steps" or (form.solve, form.by) == ("rate", "sizes") else repr(value)


def of_page(html: str) -> Said:
    """What stands on the page."""
    ends = re.findall(r'data-exact="([^"]*)"', html)
    if 'role="alert"' in html:
        return Said()
    found = re.search(r"<output data-found=[^>]*>([^<]*)</output>", html)
    return Said(ends[1], ends[0], found[1] if found else None)


def shown(html: str) -> str:
    """The number that is written large."""
    found = re.search(r'<p class="number">[^<]*(?:<output[^>]*>([^<]*)</output>|has no upper end)', html)
    return found[1] or "inf"


def shell(html: str) -> str:
    """The same in the shell."""
    return unescape(re.search(r'<code data-lang="shell">([^<]*)</code>', html)[1])


def of_command(text: str) -> Said:
    """What the command says in this process."""
    before, _, line = text.rpartition("|\n")
    given = shlex.split(before)[2] if before else None
    done = CliRunner().invoke(command, [*shlex.split(line)[1:], "--json"], input=given)
    if done.exit_code not in (0, 5):  # 5: it promises nothing
        return Said()
    values = json.loads(done.stdout)
    guarantee = values.get("guarantee", values)
    ends = guarantee[guarantee["question"]]
    value = values.get("value", values.get("steps"))
    return Said(repr(float(ends["lower"])), repr(float(ends["upper"])), None if value is None else repr(value))


def of_program(text: str) -> str:
    """What the command prints as a program of its own."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", text], capture_output=True, text=True, check=False, env={**os.environ, "PATH": path}
    )
    return done.stdout.strip()


def disagreement(form: Form, html: str, *, program: bool = False) -> str | None:
    """Which two disagree about a run, or nothing; ``html`` is what the page answered."""
    page, library = of_page(html), of_library(form)
    if page != library:
        return f"the page says {page}, the library {library}"
    if page == Said():
        return None
    text = shell(html)
    said = of_command(text)
    # There is no command that finds a rate: the page's is about the one that was found.
    expected = page._replace(value=None) if form.solve == "rate" else page
    if said != expected:
        return f"the page says {expected}, {text} says {said}"
    if program and (printed := of_program(text)) != (large := _large(form, html)):
        return f"the page shows {large}, {text} prints {printed}"
    return None


def _large(form: Form, html: str) -> str:
    if form.solve != "rate":
        return shown(html)
    return re.search(r"Upper end(?:, safe to publish)?</dt><dd[^>]*>([^<]*)<", html)[1]


def campaign(runs: int, programs: int, seed: int) -> dict[str, object]:
    kinds: Counter[str] = Counter()
    wrong: list[str] = []
    as_programs = 0
    app = create_app(Settings(frozenset({HOST}), workers=1, seconds=600.0))
    with TestClient(app, base_url=f"http://{HOST}") as client:
        for form in random_forms(runs, seed):
            html = client.get(f"/answer?{form.query()}").text
            refused = of_page(html) == Said()
            program = as_programs < programs and not refused
            as_programs += program
            kinds["refused by all" if refused else form.solve] += 1
            if found := disagreement(form, html, program=program):
                wrong.append(f"{form.query()}: {found}")
    return {
        "tree of src": tree_of_source(),
        "seed": seed,
        "runs": runs,
        "of which as programs": as_programs,
        "what was asked": dict(sorted(kinds.items())),
        "disagreements": wrong,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--programs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=examples.SEED)
    parser.add_argument("--output", type=Path, default=RESULT)
    given = parser.parse_args()
    found = campaign(given.runs, given.programs, given.seed)
    given.output.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=2))
    sys.exit(1 if found["disagreements"] else 0)


if __name__ == "__main__":
    main()
