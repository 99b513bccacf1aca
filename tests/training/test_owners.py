"""Whose row is whose: ids are compared by value, and what a unit is must be said, and stays."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from renyi import InvalidInput, Poisson
from renyi.training import Run, TrainingError, replay
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
