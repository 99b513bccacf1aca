"""What a batch may consist of."""

from __future__ import annotations

from collections import UserDict, defaultdict

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from renyi.training.clipping.batches import take
from renyi.training.clipping.clipper import Clipper
from renyi.training.errors import ClippingError, LeakError
from tests.training.clipping.reference import UNITS, squared
from tests.training.clipping.test_fallbacks import Sorted

LENGTHS = [1, 4, 2, 3, 4, 1]


def by_length(model, batch):
    """Each unit's own first steps, their number given in a list."""
    x, lengths = batch
    found = model(x).square().mean(2)
    return torch.stack([row[:length].mean() for row, length in zip(found, lengths, strict=True)])


def masked(model, batch):
    x, lengths = batch
    mask = torch.arange(x.shape[1])[None] < lengths[:, None]
    return (model(x).square().mean(2) * mask).sum(1) / mask.sum(1)


@pytest.mark.parametrize("kind", [lambda: nn.Linear(8, 3), Sorted], ids=["rules", "fallback"])
@pytest.mark.parametrize("container", [list, tuple])
def test_a_list_with_a_value_for_each_unit_goes_with_them(kind, container):
    torch.manual_seed(0)
    model, x = kind(), torch.randn(UNITS, 4, 8)
    clipper = Clipper(model, by_length)
    listed = (x, container(LENGTHS))
    clipper.check(listed, UNITS, 1.0)
    found = clipper.sums(listed, UNITS, 0.05)
    expected = Clipper(model, masked).sums((x, torch.tensor(LENGTHS)), UNITS, 0.05)
    for name, gradient in expected.gradients.items():
        torch.testing.assert_close(found.gradients[name], gradient, rtol=1e-4, atol=1e-6)
    assert "loop" in clipper.method or clipper.method == "rules"


def test_a_coupling_through_a_list_is_found():
    def losses(model, batch):
        x, lengths = batch
        return squared(model, x) * (sum(lengths) / 10)

    with pytest.raises(LeakError, match="loss function"):
        Clipper(nn.Linear(8, 3), losses).check((torch.randn(UNITS, 4, 8), LENGTHS), UNITS, 1.0, seed=0)


def test_texts_stay_with_their_units():
    batch = {"x": torch.arange(3), "more": [["a", "b", "c"], (1.5, None, 2)], "all": "one", "no": None}
    taken = take(batch, 3, [2, 0])
    assert taken.pop("x").tolist() == [2, 0]
    assert taken == {"more": [["c", "a"], (2, 1.5)], "all": "one", "no": None}


@pytest.mark.parametrize("kind", [dict, UserDict, lambda given: defaultdict(None, given)])
def test_mappings_of_any_kind_are_taken_apart_at_any_depth(kind):
    (inner, label), size = take(((kind({"x": torch.arange(4)}), torch.arange(4)), 2.0), 4, [3, 1])
    assert isinstance(inner, type(kind({})))
    assert inner["x"].tolist() == label.tolist() == [3, 1]
    assert size == 2.0


@pytest.mark.parametrize(
    ("constant", "words"),
    [
        ((32, 32), "holds a tuple of values that are no tensors"),
        (["cat", "dog"], r"a list of values .*functools\.partial"),
        ([{"name": "Ann"}] * UNITS, "a list of values .*not one number or text for each"),
        ([[1, 2], [3]] * 3, "a list of values"),
        (np.zeros(UNITS), "a ndarray, which cannot be taken apart"),
        (object(), "an? object, which cannot be taken apart"),
    ],
    ids=["tuple", "list", "dicts", "ragged", "array", "object"],
)
def test_what_cannot_be_taken_apart_is_refused(constant, words):
    def losses(model, batch):
        return functional.mse_loss(model(batch[0]), batch[0], reduction="none").mean(1)

    with pytest.raises(ClippingError, match=words):
        Clipper(nn.Linear(8, 8), losses).check((torch.randn(UNITS, 8), constant), UNITS, 1.0)
