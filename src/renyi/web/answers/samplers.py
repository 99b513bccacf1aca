"""Samplers side by side: what the same noise costs, depending on how batches were really drawn."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from renyi.accountants import guarantee
from renyi.cli import options
from renyi.errors import InvalidInput, PrivacyError
from renyi.events.event import Event
from renyi.events.nodes import Repeated, Sampled
from renyi.laws.relation import Adjacency
from renyi.numerics.printing import rounded_down, rounded_up
from renyi.sampling.poisson.poisson import Poisson
from renyi.sampling.random_allocation.random_allocation import RandomAllocation
from renyi.sampling.shuffled import Shuffled
from renyi.sampling.without_replacement import WithoutReplacement
from renyi.web.answers.answer import found
from renyi.web.form import By, Form, Solve, on_the_page

_Made = Callable[["_Run"], Event]


@dataclass(frozen=True, slots=True)
class _Run:
    """Equal steps on Poisson samples, the same in epochs, and batch and dataset if the form says them."""

    inner: Event
    rate: float
    steps: int
    batches: int
    epochs: int
    sizes: tuple[int, int] | None


def samplers(form: Form) -> dict[str, Any]:
    """For each sampler and each notion of neighbours both ends of epsilon, or why there is none."""
    if form.solved is Solve.DELTA:
        raise InvalidInput("samplers are compared at a given delta: find epsilon or another figure.")
    claimed = found(form).guarantee
    run = _run(form, claimed.event)
    rows = []
    for name, (does, make) in _SAMPLERS.items():
        try:
            event: Event | str = make(run)
        except PrivacyError as error:
            event = str(error)
        rows.append({"name": name, "does": does, "cells": [_cell(event, each, claimed.delta) for each in Adjacency]})
    return {
        "delta": rounded_up(claimed.delta),
        "columns": [each.change("record") for each in Adjacency],
        "steps": f"{run.steps:,}",
        "rate": f"{run.rate:.6g}",
        "rows": rows,
        "claimed": str(claimed),
    }


def _run(form: Form, event: Event) -> _Run:
    """The run, with batch, dataset and epochs as the form says them where it does."""
    inner, rate, steps = _steps(event)
    if form.described_by is By.RATE or form.solved is Solve.RATE or form.event or form.more:
        return _Run(inner, rate, steps, *_epochs(rate, steps), None)
    sizes = options.whole(form.batch), options.whole(form.dataset)
    if form.solved is Solve.STEPS:
        return _Run(inner, rate, steps, *_epochs(rate, steps), sizes)
    return _Run(inner, rate, steps, *options.in_epochs(*sizes, options.fraction(form.epochs)), sizes)


def _steps(event: Event) -> tuple[Event, float, int]:
    """What a step releases, at which rate, how often."""
    match event.canonical():
        case Repeated(Sampled(inner, Poisson(rate)), steps) if rate > 0.0:
            return inner, rate, steps
        case Sampled(inner, Poisson(rate)) if rate > 0.0:
            return inner, rate, 1
    raise InvalidInput("samplers are compared for a run of equal steps on Poisson samples, without further releases.")


def _cell(event: Event | str, adjacency: Adjacency, delta: float) -> dict[str, str]:
    if isinstance(event, str):
        return {"none": event}
    try:
        ends = guarantee(event, delta=delta, adjacency=adjacency).epsilon
    except PrivacyError as error:
        return {"none": on_the_page(error)}
    return {"lower": rounded_down(ends.lower), "upper": rounded_up(ends.upper)}


def _epochs(rate: float, steps: int) -> tuple[int, int]:
    """Batches of an epoch, and epochs: few batches make the most epochs, the last of which counts in full."""
    batches = max(math.floor(1.0 / rate * (1.0 + 1e-12)), 1)
    return batches, math.ceil(steps / batches)


def _poisson(run: _Run) -> Event:
    return run.inner.on(Poisson(run.rate)) * run.steps


def _fixed(run: _Run) -> Event:
    if run.sizes is None:
        raise InvalidInput(
            "a fixed size needs the batch size and the number of records: say the run by batch and epochs."
        )
    return run.inner.on(WithoutReplacement(*run.sizes)) * run.steps


def _allocated(run: _Run) -> Event:
    return run.inner.on(RandomAllocation(run.batches)) * run.epochs


def _shuffled(run: _Run) -> Event:
    return run.inner.on(Shuffled(run.batches)) * run.epochs


_SAMPLERS: dict[str, tuple[str, _Made]] = {
    "Poisson": ("flips a coin for every record in every step", _poisson),
    "fixed size": ("draws a set of fixed size, anew in every step", _fixed),
    "allocation": ("sends every record to one random step of each epoch", _allocated),
    "shuffled": ("shuffles the data and takes consecutive batches, as most loops do", _shuffled),
}
