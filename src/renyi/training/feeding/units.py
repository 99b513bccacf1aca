"""A dataset as a sequence of units: everything that one person, or one example, contributes.

The unit is what is drawn, clipped and protected. A unit of several rows (all rows of a person, or several random views of one
example) reaches the loss as one entry of the leading axis, with its rows along the second axis.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn.utils.rnn import PackedSequence
from torch.utils.data import ConcatDataset, DataLoader, IterableDataset, Sampler, Subset, default_collate

from renyi import check
from renyi.errors import InvalidInput
from renyi.training.errors import ClippingError, TrainingError
from renyi.training.feeding.offsets import Offsets

Collate = Callable[[list[Any]], Any]

RowsOf = Offsets | list[np.ndarray[Any, Any]]
"""For every unit the numbers of its rows."""


class Rows(NamedTuple):
    """A batch whose units have several rows.

    ``values`` have shape (units, rows, ...); ``present`` is False where a row is only padding. A loss per unit is then,
    for instance, ``(loss_per_row * present).sum(1) / present.sum(1)``.
    """

    values: Any
    present: torch.Tensor


class Units:
    """The units of a map-style dataset: ``units[i]`` is what the collate function gets for unit i."""

    def __init__(
        self,
        dataset: Any,
        *,
        owners: Sequence[Any] | Offsets | None = None,
        rows_per_unit: int | None = None,
        views: int = 1,
    ) -> None:
        self._dataset = _map_style(dataset)
        self._views = check.whole(1, views=views)
        self._most = None if rows_per_unit is None else check.whole(1, rows_per_unit=rows_per_unit)
        self._rows: RowsOf | None = None
        if isinstance(owners, Offsets):
            self._rows = owners.of(len(dataset))
        elif owners is not None:
            self._rows = _rows_by_owner(owners, len(dataset))
        elif rows_per_unit is not None:
            raise InvalidInput(
                "rows_per_unit bounds the rows of one person; say who owns which row with owners=[id, ...]."
            )
        if isinstance(dataset, (Subset, ConcatDataset)):
            _expect_told_apart(_rows_behind(dataset), self._rows)
        self.owned = owners is not None
        self.grouped = owners is not None or self._views > 1

    def __len__(self) -> int:
        return len(self._dataset) if self._rows is None else len(self._rows)

    def __getitem__(self, unit: int) -> Any:
        if not self.grouped:
            return self._dataset[unit]
        rows = [unit] if self._rows is None else [int(row) for row in self._rows[unit][: self._most]]
        return [self._dataset[row] for row in rows for _ in range(self._views)]


class UnitCollate:
    """Makes one batch from the items of several units; None if no unit was drawn."""

    def __init__(self, collate: Collate | None, *, grouped: bool) -> None:
        self._collate: Collate = default_collate if collate is None else collate
        self.custom = collate is not None
        self._grouped = grouped

    def __call__(self, items: list[Any]) -> Any:
        """The batch of these units."""
        if not items:
            return None
        if not self._grouped:
            return self._collate(items)
        # Shorter units are padded with copies of their own last row, never with rows of another unit.
        longest = max(len(rows) for rows in items)
        filled = [row for rows in items for row in (*rows, *(rows[-1:] * (longest - len(rows))))]
        values = leaves(self._collate(filled), lambda leaf: leaf.reshape(len(items), longest, *leaf.shape[1:]))
        present = torch.tensor([[place < len(rows) for place in range(longest)] for rows in items])
        return Rows(values, present)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Source:
    """The origin of the units of a batch, so that a few can be loaded again and batched differently."""

    units: Units
    collate: UnitCollate
    drawn: list[int]

    def items(self, most: int) -> list[Any]:
        """The first ``most`` units of the batch, as the collate function gets them."""
        return [self.units[unit] for unit in self.drawn[:most]]


def longer(rows: Rows, fillers: int) -> Rows:
    """The same units padded with ``fillers`` more rows, as they would be beside a unit with that many more."""
    values = leaves(rows.values, lambda leaf: torch.cat([leaf, *[leaf[:, -1:]] * fillers], dim=1))
    return Rows(values, torch.cat([rows.present, rows.present.new_zeros(len(rows.present), fillers)], dim=1))


def expect_stated(unit: str, *, owned: bool, rows_are_units: bool, before: bool | None) -> None:
    """Require that the caller states what a row is, and the same each time: the guarantee is per unit, not per row."""
    if owned and unit == "example":
        raise InvalidInput(
            'owners groups rows by person, but the plan protects one "example". Plan with unit="person".'
        )
    if owned and rows_are_units:
        raise InvalidInput(
            "owners says that a unit has several rows, rows_are_units that it has one. Give only one of the two."
        )
    if unit != "example" and not owned and not rows_are_units:
        raise InvalidInput(
            f'the plan protects one "{unit}", so batches must know which rows belong to one: owners=[id of each row]; '
            f"or rows_are_units=True, if no {unit} has more than one row."
        )
    if before is not None and before == owned and unit != "example":
        raise TrainingError(
            f"this run began with {'rows_are_units=True' if before else 'owners'}: what one {unit} is cannot change "
            "within a run, because its guarantee is for one kind of unit."
        )


def leaves(batch: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """The same nested tuples, lists and mappings with ``change`` applied to every tensor."""
    match batch:
        case torch.Tensor():
            return change(batch)
        case PackedSequence():
            raise ClippingError(
                "the batch holds a packed sequence, in which units lie mixed by time. Collate with pad_sequence instead, pass "
                "the lengths beside it, and mask the padding in the loss."
            )
        case Mapping():
            return {name: leaves(value, change) for name, value in batch.items()}
        case tuple() if hasattr(batch, "_fields"):
            return type(batch)(*(leaves(value, change) for value in batch))
        case tuple() | list():
            return type(batch)(leaves(value, change) for value in batch)
    return batch


def tensors(batch: Any) -> list[torch.Tensor]:
    """Every tensor of a nested batch, in order."""
    found: list[torch.Tensor] = []

    def note(leaf: torch.Tensor) -> torch.Tensor:
        found.append(leaf)
        return leaf

    leaves(batch, note)
    return found


def _map_style(dataset: Any) -> Any:
    if isinstance(dataset, (DataLoader, Sampler)):
        raise InvalidInput(
            f"batches takes a dataset; got a {type(dataset).__name__}, whose batches are not Poisson draws. Give its "
            "dataset: the run draws, and loads with num_workers=... To train on a part, give "
            "torch.utils.data.Subset(dataset, indices)."
        )
    if isinstance(dataset, Mapping):
        raise InvalidInput(
            f"a {type(dataset).__name__} is looked up by name, and the run draws rows by number. Of columns make "
            "torch.utils.data.TensorDataset(*columns.values()); of several splits give one, such as dataset['train']."
        )
    if isinstance(dataset, IterableDataset) or not (hasattr(dataset, "__getitem__") and hasattr(dataset, "__len__")):
        raise InvalidInput(
            f"Poisson sampling needs a map-style dataset, with len() and [index]; got {type(dataset).__name__}. "
            "Read a stream into a list, or index it on disk."
        )
    return dataset


def _rows_behind(dataset: Any) -> np.ndarray[Any, Any]:
    """For every row a number that its copies share, as far as Subset and ConcatDataset show which they are."""
    first: dict[int, int] = {}  # by dataset, the number of its first row
    count = 0

    def rows(part: Any) -> np.ndarray[Any, Any]:
        nonlocal count
        if isinstance(part, Subset):
            return rows(part.dataset)[np.asarray(part.indices, dtype=np.int64).reshape(-1)]
        if isinstance(part, ConcatDataset):
            return np.concatenate([rows(each) for each in part.datasets])
        if id(part) not in first:
            first[id(part)], count = count, count + len(part)
        return first[id(part)] + np.arange(len(part))

    return rows(dataset)


def _expect_told_apart(rows: np.ndarray[Any, Any], units: RowsOf | None) -> None:
    """Refuse a row that occurs more than once, unless all its copies belong to one owner."""
    if len(np.unique(rows)) == len(rows):
        return
    if units is None:
        raise InvalidInput(
            "a row occurs more than once in this Subset or ConcatDataset, and each time it would count as a unit of its "
            "own: its guarantee would be weaker than the number says. Leave the repetitions out; or give owners=[id of "
            'each row], the same for every copy, with a plan of unit="person".'
        )
    owner = np.empty(len(rows), dtype=np.int64)
    for number in range(len(units)):
        owner[np.asarray(units[number])] = number
    if len(np.unique(np.column_stack([rows, owner]), axis=0)) > len(np.unique(rows)):
        raise InvalidInput(
            "a row occurs more than once in this Subset or ConcatDataset, and owners gives its copies different ids: give "
            "every copy of a row the same id."
        )


def _rows_by_owner(owners: Sequence[Any], rows: int) -> list[np.ndarray[Any, Any]]:
    """The rows of each owner, in order; owners are numbered as they first appear."""
    if isinstance(owners, (Mapping, Set)):
        raise InvalidInput(f"owners is a list, the id behind every row in order; got a {type(owners).__name__}.")
    if len(owners) != rows:
        raise InvalidInput(f"owners names the person behind every row: got {len(owners)} ids for {rows} rows.")
    numbers: dict[Any, int] = {}
    plain = owners.tolist() if hasattr(owners, "tolist") else owners
    unit_of = np.fromiter((numbers.setdefault(_id(owner), len(numbers)) for owner in plain), np.int64, count=rows)
    order = np.argsort(unit_of, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(unit_of[order])) + 1) if rows else []


def _id(owner: Any) -> Any:
    """An id that is compared by value: two rows of one person must be recognised as such."""
    if isinstance(owner, (torch.Tensor, np.ndarray, np.generic)) and owner.ndim == 0:
        owner = owner.item()
    if isinstance(owner, tuple):
        return tuple(_id(part) for part in owner)
    try:
        by_value = owner is not None and getattr(type(owner), "__hash__", None) is not object.__hash__
        if by_value and bool(owner == owner) and not isinstance(owner, torch.Tensor):
            hash(owner)
            return owner
    except (TypeError, ValueError, RuntimeError):
        pass
    raise InvalidInput(
        f"an id in owners is a number or a text, equal for all rows of one person; got a {type(owner).__name__} that is "
        "missing (None, NaN), has several values, or cannot be compared by value: each of its rows would count as a "
        "person of its own. Give missing ids a value, and turn the others into text."
    )
