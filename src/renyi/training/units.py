"""A dataset seen as units: what one person, or one example, contributes is one item.

The unit is what is drawn, clipped and protected. A unit of several rows (all rows of a person, or several random views
of one example) comes to the loss as one entry of the leading axis with its rows along the second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.utils.data import DataLoader, IterableDataset, Sampler, default_collate

from renyi import check
from renyi.errors import InvalidInput

Collate = Callable[[list[Any]], Any]


class Rows(NamedTuple):
    """A batch whose units have several rows.

    ``values`` are of shape (units, rows, ...); ``present`` is False where a row only fills up. A loss per unit is then,
    for instance, ``(loss_per_row * present).sum(1) / present.sum(1)``.
    """

    values: Any
    present: torch.Tensor


class Units:
    """The units of a map-style dataset, by number: ``units[i]`` is what the collate function gets for unit i."""

    def __init__(
        self, dataset: Any, *, owners: Sequence[Any] | None = None, rows_per_unit: int | None = None, views: int = 1
    ) -> None:
        self._dataset = _map_style(dataset)
        self._views = check.whole(1, views=views)
        self._most = None if rows_per_unit is None else check.whole(1, rows_per_unit=rows_per_unit)
        self._rows: list[np.ndarray[Any, Any]] | None = None
        if owners is not None:
            self._rows = _rows_by_owner(owners, len(dataset))
        elif rows_per_unit is not None:
            raise InvalidInput(
                "rows_per_unit bounds the rows of one person; say who owns which row with owners=[id, ...]."
            )
        self.grouped = owners is not None or self._views > 1

    def __len__(self) -> int:
        return len(self._dataset) if self._rows is None else len(self._rows)

    def __getitem__(self, unit: int) -> Any:
        if not self.grouped:
            return self._dataset[unit]
        rows = [unit] if self._rows is None else [int(row) for row in self._rows[unit][: self._most]]
        return [self._dataset[row] for row in rows for _ in range(self._views)]


class UnitCollate:
    """Makes one batch of the items of several units; nothing drawn gives no batch."""

    def __init__(self, collate: Collate | None, *, grouped: bool) -> None:
        self._collate: Collate = default_collate if collate is None else collate
        self._grouped = grouped

    def __call__(self, items: list[Any]) -> Any:
        """The batch of these units."""
        if not items:
            return None
        if not self._grouped:
            return self._collate(items)
        longest = max(len(rows) for rows in items)
        filled = [row for rows in items for row in (*rows, *(rows[-1:] * (longest - len(rows))))]
        values = _leaves(self._collate(filled), lambda leaf: leaf.reshape(len(items), longest, *leaf.shape[1:]))
        present = torch.tensor([[place < len(rows) for place in range(longest)] for rows in items])
        return Rows(values, present)


def _leaves(batch: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """The same nest of tuples, lists and mappings with every tensor changed."""
    match batch:
        case torch.Tensor():
            return change(batch)
        case Mapping():
            return {name: _leaves(value, change) for name, value in batch.items()}
        case tuple() if hasattr(batch, "_fields"):
            return type(batch)(*(_leaves(value, change) for value in batch))
        case tuple() | list():
            return type(batch)(_leaves(value, change) for value in batch)
    return batch


def tensors(batch: Any) -> list[torch.Tensor]:
    """Every tensor of a nest, in order."""
    found: list[torch.Tensor] = []

    def note(leaf: torch.Tensor) -> torch.Tensor:
        found.append(leaf)
        return leaf

    _leaves(batch, note)
    return found


def _map_style(dataset: Any) -> Any:
    if isinstance(dataset, (DataLoader, Sampler)):
        raise InvalidInput(
            f"batches takes a dataset; got a {type(dataset).__name__}, whose batches are not Poisson draws. Give its "
            "dataset: the run draws, and loads with num_workers=... To train on a part, give "
            "torch.utils.data.Subset(dataset, indices)."
        )
    if isinstance(dataset, IterableDataset) or not (hasattr(dataset, "__getitem__") and hasattr(dataset, "__len__")):
        raise InvalidInput(
            f"Poisson sampling needs a map-style dataset, with len() and [index]; got {type(dataset).__name__}. "
            "Read a stream into a list, or index it on disk."
        )
    return dataset


def _rows_by_owner(owners: Sequence[Any], rows: int) -> list[np.ndarray[Any, Any]]:
    if len(owners) != rows:
        raise InvalidInput(f"owners names the person behind every row: got {len(owners)} ids for {rows} rows.")
    numbers: dict[Any, int] = {}
    plain = owners.tolist() if hasattr(owners, "tolist") else owners
    unit_of = np.fromiter((numbers.setdefault(owner, len(numbers)) for owner in plain), dtype=np.int64, count=rows)
    order = np.argsort(unit_of, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(unit_of[order])) + 1) if rows else []
