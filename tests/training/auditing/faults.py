"""Faults planted in the release step, one at a time, and the plan and statistic by which an audit sees each."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np

from renyi.training import release as release_module
from renyi.training import run as run_module
from renyi.training.clipping.bounds import ClipBounds
from renyi.training.clipping.clipper import Clipper
from renyi.training.randomness.entropy import Keys
from renyi.training.randomness.stream import Reader

TOO_LITTLE, RANKS, MANY = 1.3, 4, 1e6


@contextmanager
def smaller_noise() -> Iterator[None]:
    """The noise divided by 1.3, while the journal says what was planned."""
    real = release_module.round_in_place

    def less(sums: Any, *, deviation: float, **others: Any) -> None:
        real(sums, deviation=deviation / TOO_LITTLE, **others)

    with mock.patch.object(release_module, "round_in_place", less):
        yield


@contextmanager
def no_clip() -> Iterator[None]:
    """A bound so large that it clips nobody."""
    real = Clipper.sums

    def unclipped(self: Clipper, batch: Any, units: int, bounds: Any) -> Any:
        return real(self, batch, units, ClipBounds.flat(self.parameters, MANY))

    with mock.patch.object(Clipper, "sums", unclipped):
        yield


@contextmanager
def same_noise_twice() -> Iterator[None]:
    """The noise's key changes in every other step only."""
    real = Keys.key

    def stale(self: Keys, purpose: str, step: int, name: str = "") -> bytes:
        return real(self, purpose, step - step % 2 if purpose == "noise" else step, name)

    with mock.patch.object(Keys, "key", stale):
        yield


@contextmanager
def noise_by_rank() -> Iterator[None]:
    """Each of four processes adds a quarter of the deviation, under a key of its own: together that is half of it."""
    real = release_module.round_in_place

    def shared(sums: Any, *, deviation: float, keys: Any, **others: Any) -> None:
        for rank in range(RANKS):
            mine = [hashlib.sha256(key + bytes([rank])).digest() for key in keys]
            real(sums, deviation=deviation / RANKS, keys=mine, **others)

    with mock.patch.object(release_module, "round_in_place", shared):
        yield


@contextmanager
def shuffled_batches() -> Iterator[None]:
    """Every epoch of 1/rate steps is a permutation of the records, cut into batches of equal size; other data begin anew."""
    left: list[Any] = []
    shuffled_units = 0

    def shuffled(key: bytes, *, units: int, rate: float) -> Any:
        nonlocal shuffled_units
        if not left or units != shuffled_units:
            words, shuffled_units = Reader(key).numbers(units), units
            left[:] = np.array_split(np.argsort(words), round(1.0 / rate))
        return np.sort(left.pop())

    with mock.patch.object(run_module, "poisson_draw", shuffled):
        yield


FAULTS: dict[str, tuple[Callable[[], Any], str]] = {
    "noise divided by 1.3": (smaller_noise, "step"),
    "a forgotten clip": (no_clip, "step"),
    "the same noise twice": (same_noise_twice, "difference"),
    "noise sigma/4 on each of 4 ranks": (noise_by_rank, "step"),
    "shuffled batches priced as Poisson": (shuffled_batches, "epoch"),
}
"""What is wrong, how it is planted, and the statistic that sees it."""
