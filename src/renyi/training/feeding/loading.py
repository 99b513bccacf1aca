"""From draws to tickets: drawn units are loaded, in this process or in workers, and handed out in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils.data import DataLoader

from renyi import check
from renyi.training.errors import LeakError
from renyi.training.feeding.tickets import Ticket
from renyi.training.feeding.units import Collate, Source, UnitCollate, Units, tensors
from renyi.training.randomness.sampler import Indices

COLLATE_TRIES = 8
"""How often a collate function is tried: one that mixes units at random may leave some batches unmixed."""


class Chunks:
    """The draws of some steps, cut into chunks. An empty draw is one empty chunk, because its step is released too."""

    def __init__(self, draw: Callable[[int], Indices], steps: range, size: int) -> None:
        self._draw = draw
        self._steps = steps
        self._size = size
        # The loader yields the data of the chunks in order; their headers wait here until it does.
        self.headers: deque[tuple[int, int, int, list[int]]] = deque()

    def __iter__(self) -> Iterator[list[int]]:
        for step in self._steps:
            drawn = self._draw(step).tolist()
            count = max(1, -(-len(drawn) // self._size))
            for chunk in range(count):
                part = drawn[chunk * self._size : (chunk + 1) * self._size]
                self.headers.append((step, chunk, count, part))
                yield part


def tickets(
    units: Units,
    draw: Callable[[int], Indices],
    *,
    issue: Callable[[Ticket], Ticket],
    steps: range,
    physical_batch: int,
    num_workers: int,
    collate: Collate | None,
) -> Iterator[Ticket]:
    """The tickets of these steps. Draws are made in this process; worker processes only load."""
    chunks = Chunks(draw, steps, check.whole(1, physical_batch=physical_batch))
    if collate is not None and len(units) > 1:
        expect_apart(collate, [units[0], units[1]], grouped=units.grouped)
    together = UnitCollate(collate, grouped=units.grouped)
    loader: DataLoader[Any] = DataLoader(
        units,  # type: ignore[arg-type]
        batch_sampler=chunks,
        num_workers=check.whole(0, num_workers=num_workers),
        collate_fn=together,
    )
    for data in loader:
        step, chunk, count, drawn = chunks.headers.popleft()
        yield issue(Ticket(step, chunk, count, len(drawn), data, Source(units, together, drawn)))


def expect_apart(collate: Collate, items: list[Any], *, grouped: bool) -> None:
    """Refuse a collate function that mixes units: the first unit's data must not change when another unit is added.

    Padding to the longest is fine, because only the common part is compared. A function that is random even for a single unit
    cannot be compared, and passes.
    """
    together = UnitCollate(collate, grouped=grouped)
    # Trying the function must not change the caller's random numbers.
    with torch.random.fork_rng(devices=[]):
        alone, again = tensors(together(items[:1])), tensors(together(items[:1]))
        if not all(_first_agrees(*pair) for pair in zip(alone, again, strict=True)):
            return
        for _ in range(COLLATE_TRIES):
            if not all(_first_agrees(*pair) for pair in zip(alone, tensors(together(items)), strict=True)):
                raise LeakError(
                    "the collate function mixes units: the first one's data changes when another is in the batch "
                    "(MixUp, CutMix, normalisation over the batch). Then clipping cannot bound one unit's influence. "
                    "Transform each item by itself, in the dataset."
                )


def _first_agrees(alone: torch.Tensor, together: torch.Tensor) -> bool:
    """Whether the first unit has the same values in both, over the part that both have."""
    if alone.dim() == 0 or alone.dim() != together.dim():
        return True
    common = tuple(slice(0, min(a, b)) for a, b in zip(alone[0].shape, together[0].shape, strict=True))
    return torch.allclose(alone[0][common].double(), together[0][common].double(), equal_nan=True)
