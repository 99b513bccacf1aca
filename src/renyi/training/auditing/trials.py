"""Trials: the steps of a real run, in some of which the canary is among the data and in others not.

Everything between the batch and the optimizer is the run's own code: the draw, clipping, the journal, noise, the release. All
trials of one kind are steps of one run, whose plan repeats the step in question.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from renyi.ledger import Ledger, Payer
from renyi.training.auditing.subject import Subject, Taken
from renyi.training.planning.clip import AdaptiveClip
from renyi.training.planning.plan import Plan
from renyi.training.run import Run

Array = NDArray[np.float64]

BLOCK = 100
"""Releases after which the canary comes or goes; loading is prepared anew each time, which costs about as much as a release."""

LOADED = 64
"""Units loaded at a time."""

IN_MEMORY = Path("/dev/shm")
"""Where Linux keeps files in memory: a journal of made-up data need not survive a crash."""


@dataclass(frozen=True, slots=True)
class Releases:
    """What was released in the direction of the canary, in clip bounds: a row for each trial, a column for each step of it.

    Each is multiplied by the sign that the canary's gradient has, or would have, in that step.
    """

    inside: Array
    outside: Array


def repeated(plan: Plan, count: int) -> Plan:
    """A plan of ``count`` times the first step of this one, under the same clip, sampler and neighbours."""
    return _plan(plan, steps=count, noise_multiplier=plan.noise_at(0), noise_schedule=None)


def scaled(plan: Plan, factor: float) -> Plan:
    """The same plan with so many times the noise, that of an adaptive clip's count included."""
    clip = plan.clip
    if isinstance(clip, AdaptiveClip):
        clip = AdaptiveClip(clip.initial, clip.count_noise_multiplier * factor, clip.quantile, clip.rate)
    return _plan(plan, clip=clip, noise_multiplier=plan.noise_multiplier * factor)


def _plan(plan: Plan, **changes: Any) -> Plan:
    """A plan with other values. Learning rates are left out: they change nothing of what is released."""
    names = (
        "sampling",
        "steps",
        "clip",
        "delta",
        "expected_batch",
        "noise_multiplier",
        "unit",
        "adjacency",
        "noise_schedule",
    )
    return Plan(**({name: getattr(plan, name) for name in names} | changes))


def played(
    plan: Plan,
    subject: Subject,
    *,
    trials: int,
    steps: int,
    journal: str | os.PathLike[str] | None = None,
    ledger: Ledger | Payer | None = None,
) -> Releases:
    """Play ``trials`` trials of ``steps`` releases each with the canary and as many without."""
    plan = repeated(plan, 2 * trials * steps)
    taken = Taken([parameter for parameter in subject.model.parameters() if parameter.requires_grad])
    rows: dict[bool, list[float]] = {True: [], False: []}
    block = max(BLOCK // steps, 1) * steps
    with _journal(journal) as path, Run(plan, subject.model, taken, subject.losses, journal=path, ledger=ledger) as run:
        for begun in range(0, trials * steps, block):
            for there in (True, False):
                _block(run, subject, taken, min(block, trials * steps - begun), rows[there], there=there)
    inside, outside = (np.array(rows[there]).reshape(trials, steps) for there in (True, False))
    return Releases(inside, outside)


def _block(run: Run, subject: Subject, taken: Taken, steps: int, scores: list[float], *, there: bool) -> None:
    plan, data = run.plan, subject.data(there=there)
    sign = 1.0
    subject.turned(sign, run.record.bound or plan.clip.bound)
    rows = plan.unit != "example"
    tickets = run.batches(data, steps=steps, physical_batch=LOADED, rows_are_units=rows, collate=subject.collate)
    for ticket in tickets:
        run.step(ticket)
        if not ticket.last:
            continue
        bound = run.record.bound or plan.clip.bound  # that of the release; an adaptive one has moved on since
        scores.append(subject.read(taken.gradients) * plan.expected_batch / bound)
        sign = -sign if subject.alternates else sign
        subject.turned(sign, bound)


@contextmanager
def _journal(given: str | os.PathLike[str] | None) -> Iterator[str | os.PathLike[str]]:
    """The journal of the trials: the one that was given, or one that ends with them."""
    if given is not None:
        yield given
        return
    memory = IN_MEMORY if os.access(IN_MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory, prefix="renyi-audit-") as folder:
        yield Path(folder) / "trials.jsonl"
