"""From draws to tickets: drawn units are loaded, in this process or in workers, and handed out in order."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.utils.data import DataLoader

from renyi import check
from renyi.errors import InvalidInput
from renyi.training.errors import LeakError
from renyi.training.feeding.offsets import Offsets
from renyi.training.feeding.tickets import Ticket
from renyi.training.feeding.units import Collate, Source, UnitCollate, Units, tensors
from renyi.training.randomness.sampler import Indices

COLLATE_TRIES = 8
"""How often a collate function is tried: one that mixes units at random may leave some batches unmixed."""


class Chunks:
    """The draws of some steps, cut into chunks. An empty draw is one empty chunk, because its step is released too.

    ``part`` is the rank of this process and the number of those that share each draw. All of them have the same number of
    chunks, so that they stay in step; some of one's chunks may be empty.
    """

    def __init__(self, size: int, part: tuple[int, int]) -> None:
        self._size = size
        self._rank, self._ranks = part
        self._draw: Callable[[int], Indices] | None = None
        self._steps = range(0)
        self.turn = object()
        # The loader yields the data of the chunks in order; their headers wait here until it does.
        self.headers: deque[tuple[int, int, int, list[int]]] = deque()

    def begin(self, draw: Callable[[int], Indices], steps: range) -> object:
        """Draw for these steps from now on; the returned value is ``turn`` until the next beginning."""
        self._draw, self._steps, self.turn = draw, steps, object()
        self.headers.clear()
        return self.turn

    def __iter__(self) -> Iterator[list[int]]:
        assert self._draw is not None
        for step in self._steps:
            drawn = self._draw(step).tolist()
            together = self._size * self._ranks
            count = max(1, -(-len(drawn) // together))
            for chunk in range(count):
                part = drawn[chunk * together + self._rank : (chunk + 1) * together : self._ranks]
                self.headers.append((step, chunk, count, part))
                yield part


class Loader:
    """Loads the units that are drawn, in this process or in workers. Draws are made in this process; workers only load."""

    def __init__(
        self,
        units: Units,
        collate: Collate | None,
        *,
        part: tuple[int, int],
        physical_batch: int,
        num_workers: int,
        pin_memory: bool,
        persistent_workers: bool,
    ) -> None:
        if persistent_workers and not num_workers:
            raise InvalidInput("persistent_workers=True keeps worker processes alive, and num_workers=0 has none.")
        if collate is not None and len(units) > 1:
            expect_apart(collate, [units[0], units[1]], grouped=units.grouped)
        self._units, self._together = units, UnitCollate(collate, grouped=units.grouped)
        self._chunks = Chunks(check.whole(1, physical_batch=physical_batch), part)
        self._loader: DataLoader[Any] = DataLoader(
            units,  # type: ignore[arg-type]
            batch_sampler=self._chunks,
            num_workers=check.whole(0, num_workers=num_workers),
            collate_fn=self._together,
            pin_memory=pin_memory,
            persistent_workers=persistent_workers,
        )

    @property
    def units(self) -> int:
        """How many units the dataset has."""
        return len(self._units)

    def digest(self, chosen: Indices) -> bytes:
        """A digest of these units, as far as they come from the dataset alike each time they are loaded."""
        found = hashlib.sha256(str(len(self._units)).encode())
        with torch.random.fork_rng(devices=[]):
            for unit in chosen.tolist():
                once, again = (tensors(self._together([self._units[unit]])) for _ in range(2))
                for one, other in zip(once, again, strict=True):
                    if torch.equal(one, other):  # a random augmentation differs from one process to the next, too
                        found.update(one.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
        return found.digest()

    def tickets(
        self, draw: Callable[[int, int], Indices], *, issue: Callable[[Ticket], Ticket], steps: range
    ) -> Iterator[Ticket]:
        """The tickets of these steps; an earlier iterator of this loader ends."""
        turn = self._chunks.begin(lambda step: draw(step, len(self._units)), steps)
        return self._tickets(turn, issue)

    def end(self) -> None:
        """End the iterators of this loader: the run is over."""
        self._chunks.begin(_nobody, range(0))

    def _tickets(self, turn: object, issue: Callable[[Ticket], Ticket]) -> Iterator[Ticket]:
        loaded: Iterator[Any] | None = None
        # Once another iterator has begun, the workers load for that one: its data must not be taken here.
        while self._chunks.turn is turn:
            loaded = iter(self._loader) if loaded is None else loaded
            try:
                data = next(loaded)
            except StopIteration:
                return
            step, chunk, count, drawn = self._chunks.headers.popleft()
            yield issue(Ticket(step, chunk, count, len(drawn), data, Source(self._units, self._together, drawn)))


def _nobody(step: int) -> Indices:
    raise AssertionError(f"step {step} is drawn after the end")


class Loaders:
    """The loader of a run. It is kept while its workers persist and it is asked for with the same arguments."""

    def __init__(self) -> None:
        self._made: tuple[tuple[Any, ...], dict[str, Any], Loader] | None = None

    def __call__(
        self,
        dataset: Any,
        owners: Sequence[Any] | Offsets | None,
        collate: Collate | None,
        *,
        rows_per_unit: int | None,
        views: int,
        **options: Any,
    ) -> Loader:
        """A loader of this dataset: the one of before if it serves."""
        given, settings = (dataset, owners, collate), {"rows_per_unit": rows_per_unit, "views": views, **options}
        if self._made is not None:
            before, with_settings, loader = self._made
            if all(one is other for one, other in zip(before, given, strict=True)) and with_settings == settings:
                return loader
        self.close()
        loader = Loader(Units(dataset, owners=owners, rows_per_unit=rows_per_unit, views=views), collate, **options)
        if options["persistent_workers"]:
            self._made = given, settings, loader
        return loader

    def close(self) -> None:
        """Let go of the loader, whose workers end with it."""
        self._made = None


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
