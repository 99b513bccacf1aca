"""Data that no memory holds: mapped files as datasets, and rows sorted by person, told apart by offsets alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.utils.data import Subset

from renyi import InvalidInput
from renyi.training import Offsets, seeded
from renyi.training.feeding.units import Units
from tests.training.support import dataset, run, weights


class Mapped:
    """Rows of a file that is mapped into memory, as NumPy gives them."""

    def __init__(self, folder):
        for name, values in zip("xy", dataset().tensors, strict=True):
            np.save(folder / f"{name}.npy", values.numpy())
        self._columns = [np.load(folder / f"{name}.npy", mmap_mode="r") for name in "xy"]

    def __len__(self):
        return len(self._columns[0])

    def __getitem__(self, row):
        return tuple(np.array(column[row]) for column in self._columns)  # a copy: the file is not to be written


def test_a_mapped_file_is_a_dataset(tmp_path):
    """Loaded here or by a worker, it trains what the same rows in memory do."""
    found = []
    for name, data, workers in (
        ("memory", dataset(), 0),
        ("mapped", Mapped(tmp_path), 0),
        ("loaded", Mapped(tmp_path), 1),
    ):
        made = run(tmp_path, name=f"{name}.jsonl", keys=seeded(1))
        for batch in made.batches(data, physical_batch=7, num_workers=workers):
            made.step(batch)
        found.append(weights(made.net))
        made.close()
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])


def test_sorted_rows_are_told_by_where_each_persons_begin(tmp_path):
    """From a file that is mapped into memory, too; what is trained is what a list of ids gives."""
    np.save(tmp_path / "offsets.npy", np.array([0, 1, 4, 60]))
    offsets = Offsets(np.load(tmp_path / "offsets.npy", mmap_mode="r"))
    assert [offsets[person] for person in range(len(offsets))] == [range(1), range(1, 4), range(4, 60)]
    listed = Units(dataset(), owners=[0] + [1] * 3 + [2] * 56, rows_per_unit=5)
    units = Units(dataset(), owners=offsets, rows_per_unit=5)
    assert len(units) == len(listed) == 3
    for person in range(3):
        for one, other in zip(units[person], listed[person], strict=True):
            assert all(torch.equal(*pair) for pair in zip(one, other, strict=True))
    Units(Subset(dataset(), range(60)), owners=offsets)
    with pytest.raises(InvalidInput, match="the same id"):
        Units(Subset(dataset(), [0, *range(59)]), owners=offsets)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ([0, 3, 3, 60], "person 1 would have the rows from 3 up to 3"),
        ([0, 5, 2, 60], "person 1 would"),
        ([1, 60], "0 first"),
        ([0.0, 60.0], "whole numbers"),
        ([[0, 60]], "in one line"),
        ([], "0 first"),
        ([0, 59], "got 59 for 60 rows"),
    ],
)
def test_offsets_that_divide_nothing_are_refused(wrong, words):
    with pytest.raises(InvalidInput, match=words):
        Units(dataset(), owners=Offsets(wrong))


def test_a_thousand_million_rows_are_not_listed():
    """Neither the rows nor whose they are: what a draw costs is what it loads."""

    class Rows:
        def __len__(self):
            return 10**9

        def __getitem__(self, row):
            return torch.tensor(row)

    units = Units(Rows(), owners=Offsets(np.arange(0, 10**9 + 1, 1000)), rows_per_unit=2)
    assert len(units) == 10**6
    assert [row.item() for row in units[999_999]] == [999_999_000, 999_999_001]
    assert len(Units(Rows())) == 10**9
