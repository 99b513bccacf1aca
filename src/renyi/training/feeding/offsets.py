"""Rows that lie person by person, told by where each person's begin: no list of an id for every row."""

from __future__ import annotations

from typing import Any

import numpy as np

from renyi.errors import InvalidInput

STRETCH = 1 << 20
"""Offsets that are checked at a time: they may lie on disk, and be more than fit into memory."""


class Offsets:
    """Says whose rows are whose in a dataset sorted by person: ``run.batches(dataset, owners=Offsets(offsets))``.

    Person ``i`` has the rows from number ``offsets[i]`` up to, and without, ``offsets[i + 1]``; the last offset is the number
    of rows. Any array of whole numbers serves, a memory-mapped one too: ``np.load("offsets.npy", mmap_mode="r")``. It is read
    through once; after that a draw reads the offsets of those that it has drawn.
    """

    def __init__(self, offsets: Any) -> None:
        found = offsets if isinstance(offsets, np.ndarray) else np.asarray(offsets)
        if found.ndim != 1 or len(found) < 1 or found.dtype.kind not in "iu" or int(found[0]) != 0:
            raise InvalidInput(
                "offsets are whole numbers in one line, 0 first and the number of rows last; got "
                f"{found.dtype} of shape {found.shape}, beginning with {found.flat[0] if found.size else 'nothing'}."
            )
        for start in range(0, len(found) - 1, STRETCH):
            part = found[start : start + STRETCH + 1]
            if not (part[1:] > part[:-1]).all():
                place = start + int(np.flatnonzero(part[1:] <= part[:-1])[0])
                raise InvalidInput(
                    f"offsets rise: person {place} would have the rows from {found[place]} up to {found[place + 1]}, which "
                    "are none. Leave persons without rows out."
                )
        self._offsets = found

    def __len__(self) -> int:
        """The number of persons."""
        return len(self._offsets) - 1

    def __getitem__(self, person: int) -> range:
        """The rows of a person."""
        return range(int(self._offsets[person]), int(self._offsets[person + 1]))

    def of(self, rows: int) -> Offsets:
        """These offsets, which must divide a dataset of so many rows."""
        if int(self._offsets[-1]) != rows:
            raise InvalidInput(f"offsets end with the number of rows: got {self._offsets[-1]} for {rows} rows.")
        return self
