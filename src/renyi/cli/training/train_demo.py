"""``renyi train-demo``: a real training run with its guarantee, 100 steps on one thread."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer

from renyi.errors import PrivacyError
from renyi.numerics.printing import rounded_up
from renyi.report import Report

JournalFile = Annotated[
    Path | None, typer.Option("--journal", help="Keep the run's journal in this file, which must not exist yet.")
]


def command(journal: JournalFile = None) -> Report:
    """Train on the 8x8 digits of scikit-learn at epsilon <= 3, delta 1e-4; print accuracy and guarantee.

    Examples:

        renyi train-demo

        renyi train-demo --journal run.jsonl --json
    """
    missing = [name for name in ("torch", "sklearn") if importlib.util.find_spec(name) is None]
    if missing:
        raise PrivacyError(
            f"training needs {' and '.join(missing)}: pip install 'renyi[training]', in a clone '.[training]'"
        )
    from renyi.training import Progress
    from renyi.training.demo import train

    started = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch, Progress() as bar:
        trained = train(journal or Path(scratch) / "run.jsonl", bar if sys.stderr.isatty() else None)
    seconds = time.monotonic() - started
    answer, plan = trained.guarantee, trained.plan
    same = (
        f"renyi epsilon --noise-multiplier {plan.noise_multiplier!r} --rate {plan.sampling.rate!r} "
        f"--steps {plan.steps} --delta {plan.delta!r}"
    )
    lines = (
        f"accuracy {trained.accuracy:.4f}",
        f"epsilon {rounded_up(answer.epsilon.upper)}",
        f"delta {rounded_up(answer.delta)}",
    )
    messages = (f"Trained for {plan.steps} steps in {seconds:.0f} s.", str(answer), f"The same number: {same}")
    data = {
        "accuracy": trained.accuracy,
        **answer.to_dict(),
        "plan": plan.to_dict(),
        "seconds": seconds,
        "command": same,
    }
    return Report(lines, messages, data)
