"""Whose row is whose: ids are compared by value, and what a unit is must be said, and stays."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import Subset

from renyi import InvalidInput, Poisson
from renyi.training import Offsets, Run, TrainingError, replay
from renyi.training.feeding.units import Units
from tests.training.support import dataset, losses, model, plan, run, train

IDS = [3, 1, 3, 3, 1, 2]


@pytest.mark.parametrize(
    "owners",
    [
        [torch.tensor(i) for i in IDS],
        list(torch.tensor(IDS)),
        [np.int32(i) for i in IDS],
        [np.array(i) for i in IDS],
        np.array(IDS),
        torch.tensor(IDS),
        [str(i) for i in IDS],
        [(i, "house") for i in IDS],
        [(torch.tensor(i), 0) for i in IDS],
        [np.datetime64(i, "D") for i in IDS],
    ],
    ids=lambda owners: f"{type(owners).__name__} of {type(owners[0]).__name__}",
)
def test_ids_are_compared_by_value_whatever_holds_them(owners):
    units = Units(list(range(6)), owners=owners)
    assert [units[i] for i in range(len(units))] == [[0, 2, 3], [1, 4], [5]]


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


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        float("nan"),
        np.float64("nan"),
        torch.tensor(float("nan")),
        [1],
        {1},
        torch.ones(2),
        np.ones(2),
        object(),
        (1, None),
        np.datetime64("NaT"),
    ],
    ids=lambda wrong: type(wrong).__name__,
)
def test_ids_that_nobody_can_compare_are_refused(wrong):
    with pytest.raises(InvalidInput, match="equal for all rows of one person"):
        Units([0, 1], owners=["ann", wrong])


@pytest.mark.parametrize("owners", [{0: "ann", 1: "ann"}, {"ann", "bob"}], ids=["dict", "set"])
def test_owners_is_a_list_in_the_order_of_the_rows(owners):
    with pytest.raises(InvalidInput, match="in order"):
        Units([0, 1], owners=owners)


def test_a_dataset_that_is_a_dict_is_told_from_rows(tmp_path):
    made = run(tmp_path)
    with pytest.raises(InvalidInput, match="TensorDataset"):
        made.batches({"x": torch.ones(3, 4), "y": torch.ones(3)})
    made.close()


def of_person(net, batch):
    (x, y), present = batch
    rows = nn.functional.cross_entropy(net(x).flatten(0, 1), y.flatten(), reduction="none").reshape(y.shape)
    return (rows * present).sum(1) / present.sum(1)


OWNERS = [row // 2 for row in range(60)]


def test_a_unit_that_is_not_the_example_must_be_said(tmp_path):
    made = run(tmp_path, unit="person")
    with pytest.raises(InvalidInput, match="rows_are_units=True"):
        made.batches(dataset())
    with pytest.raises(InvalidInput, match="only one of the two"):
        made.batches(dataset(), owners=OWNERS, rows_are_units=True)
    for batch in made.batches(dataset(), rows_are_units=True):
        made.step(batch)
    assert made.guarantee() == replay(tmp_path / "run.jsonl").guarantee()
    made.close()


def test_what_a_unit_is_cannot_change_within_a_run(tmp_path):
    made = run(tmp_path, unit="person", loss=of_person)
    for batch in made.batches(dataset(), owners=OWNERS, steps=2):
        made.step(batch)
    with pytest.raises(TrainingError, match="began with owners"):
        made.batches(dataset(), rows_are_units=True)
    for batch in made.batches(dataset(), owners=OWNERS, steps=1):
        made.step(batch)
    made.close()


def test_what_a_unit_is_cannot_change_across_a_resume(tmp_path):
    made = run(tmp_path, unit="image")
    for batch in made.batches(dataset(), rows_are_units=True, steps=2):
        made.step(batch)
    made.close()
    net = model()
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    again = Run.resume(plan(unit="image"), net, sgd, losses, journal=tmp_path / "run.jsonl")
    with pytest.raises(TrainingError, match="began with rows_are_units=True"):
        again.batches(dataset(), owners=OWNERS)
    for batch in again.batches(dataset(), rows_are_units=True):
        again.step(batch)
    assert again.steps == 6
    again.close()


def test_where_the_unit_is_the_example_nothing_need_be_said(tmp_path):
    made = train(run(tmp_path, sampling=Poisson(0.5)))
    assert made.steps == 6
    made.close()
