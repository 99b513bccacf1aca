"""Samplers side by side: what the same noise costs, depending on how batches were really drawn."""

from __future__ import annotations

import math
from collections.abc import Callable
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
from renyi.web.form import By, Form, Solve

_Made = Callable[[Event, float, int, tuple[int, int] | None], Event]


def samplers(form: Form) -> dict[str, Any]:
    """For each sampler and each notion of neighbours both ends of epsilon, or why there is none."""
    if form.solved is Solve.DELTA:
        raise InvalidInput("samplers are compared at a given delta: find epsilon or another figure.")
    claimed = found(form).guarantee
    inner, rate, steps = _steps(claimed.event)
    sizes = None
    if form.described_by is By.SIZES and form.solved is not Solve.RATE:
        sizes = options.whole(form.batch), options.whole(form.dataset)
    rows = []
    for name, (does, make) in _SAMPLERS.items():
        try:
            event: Event | str = make(inner, rate, steps, sizes)
        except PrivacyError as error:
            event = str(error)
        rows.append({"name": name, "does": does, "cells": [_cell(event, each, claimed.delta) for each in Adjacency]})
    return {
        "delta": rounded_up(claimed.delta),
        "columns": [each.change("record") for each in Adjacency],
        "steps": f"{steps:,}",
        "rate": f"{rate:.6g}",
        "rows": rows,
        "claimed": str(claimed),
    }


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
        return {"none": str(error)}
    return {"lower": rounded_down(ends.lower), "upper": rounded_up(ends.upper)}


def _epochs(rate: float, steps: int) -> tuple[int, int]:
    """Batches of an epoch, and epochs: few batches make the most epochs, the last of which counts in full."""
    batches = max(math.floor(1.0 / rate * (1.0 + 1e-12)), 1)
    return batches, math.ceil(steps / batches)


def _poisson(inner: Event, rate: float, steps: int, _: tuple[int, int] | None) -> Event:
    return inner.on(Poisson(rate)) * steps


def _fixed(inner: Event, rate: float, steps: int, sizes: tuple[int, int] | None) -> Event:
    if sizes is None:
        raise InvalidInput(
            "a fixed size needs the batch size and the number of records: say the run by batch and epochs."
        )
    return inner.on(WithoutReplacement(*sizes)) * steps


def _allocated(inner: Event, rate: float, steps: int, _: tuple[int, int] | None) -> Event:
    batches, epochs = _epochs(rate, steps)
    return inner.on(RandomAllocation(batches)) * epochs


def _shuffled(inner: Event, rate: float, steps: int, _: tuple[int, int] | None) -> Event:
    batches, epochs = _epochs(rate, steps)
    return inner.on(Shuffled(batches)) * epochs


_SAMPLERS: dict[str, tuple[str, _Made]] = {
    "Poisson": ("flips a coin for every record in every step", _poisson),
    "fixed size": ("draws a set of fixed size, anew in every step", _fixed),
    "allocation": ("sends every record to one random step of each epoch", _allocated),
    "shuffled": ("shuffles the data and takes consecutive batches, as most loops do", _shuffled),
}
