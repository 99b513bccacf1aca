"""What a device other than the host would notice: how often it is waited for, and float64 that it may not have."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from renyi.training.clipping import gram
from renyi.training.clipping.clipper import Clipper
from tests.training.clipping import models
from tests.training.clipping.reference import UNITS, agrees, each_within_its_bound, squared
from tests.training.clipping.test_norms import compared

aten = torch.ops.aten
WAITING = {
    *(aten._local_scalar_dense.default, aten.is_nonzero.default, aten.equal.default),
    *(aten.nonzero.default, aten.masked_select.default, aten._unique2.default),
}


class Seen(TorchDispatchMode):
    """Counts the times at which the host waits for a number, and the tensors in float64."""

    def __init__(self):
        super().__init__()
        self.waits = self.doubles = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        output = func(*args, **(kwargs or {}))
        self.waits += func in WAITING
        self.waits += func is aten.index.Tensor and any(
            index is not None and index.dtype == torch.bool for index in args[1]
        )
        self.doubles += any(
            isinstance(leaf, torch.Tensor) and leaf.dtype == torch.float64 for leaf in tree_leaves(output)
        )
        return output


def later_step(clipper, batch, bound=1.0):
    for _ in range(4):
        clipper.sums(batch, UNITS, bound)
    with Seen() as seen:
        clipper.sums(batch, UNITS, bound)
    return seen


@pytest.mark.parametrize(
    "name", ["linear", "linear, middle axes", "conv2d", "conv2d, few positions", "encoder", "lstm", "tied, many words"]
)
def test_the_host_waits_once_in_a_step_however_many_parameters(name):
    model, batch = models.case(name)
    assert later_step(Clipper(model, squared), batch).waits == 1


def test_units_without_a_gradient_are_not_waited_for():
    model, batch = models.case("linear, middle axes")

    def losses(model, batch):
        return squared(model, batch) * torch.tensor([0.0, 1, 0, 1, 1, 0])

    assert later_step(Clipper(model, losses), batch).waits == 1


def test_units_in_doubt_cost_a_few_waits_more():
    torch.manual_seed(0)
    model, batch = nn.Linear(200, 8, bias=False), 1e3 + torch.rand(UNITS, 2, 200)
    assert not Clipper(model, compared).sums(batch, UNITS, 1.0).gradients["weight"].isnan().any()
    assert 1 < later_step(Clipper(model, compared), batch).waits <= 4


@pytest.fixture
def without_float64(monkeypatch):
    monkeypatch.setattr(gram, "WITHOUT_FLOAT64", {"cpu"})


@pytest.mark.usefixtures("without_float64")
@pytest.mark.parametrize("name", models.RULES)
def test_a_device_without_float64_clips_as_well(name):
    model, batch = models.case(name)
    agrees(model, batch, tolerance=3e-5)
    assert later_step(Clipper(model, squared), batch).doubles == 0


@pytest.mark.usefixtures("without_float64")
@pytest.mark.parametrize("offset", [0.0, 10.0, 1e3, 1e5])
@pytest.mark.parametrize("width", [200, 16384])
def test_what_cancels_is_not_taken_for_zero_without_float64_either(width, offset):
    torch.manual_seed(0)
    batch = offset + torch.rand(3, 2, width)
    each_within_its_bound(Clipper(nn.Linear(width, 8, bias=False), compared), batch, 0.5)


@pytest.mark.usefixtures("without_float64")
@pytest.mark.parametrize("scale", [1e-30, 1e-15, 1.0, 1e15, 1e22, 1e30])
def test_gradients_of_any_size_are_clipped_without_float64(scale):
    torch.manual_seed(0)
    model, batch = nn.Linear(30, 5, bias=False), torch.randn(4, 3, 30)

    def losses(model, batch):
        return model(batch).flatten(1).sum(1) * scale

    truth = scale * batch.double().sum(1).norm(dim=1) * 5**0.5
    for unit in range(4):
        found = Clipper(model, losses).sums(batch[unit : unit + 1], 1, 1.0).gradients["weight"].double().norm()
        assert float(found) == pytest.approx(min(1.0, float(truth[unit])), rel=3e-5)
        assert float(found) <= 1 + 2**-20


def test_an_estimate_that_its_error_reaches_is_never_a_small_norm():
    one = torch.ones(())
    for estimate, error in ((0.0, 1e-20), (1e-9, 1e-9), (-1.0, 1.0), (float("nan"), 1.0), (1.0, float("nan"))):
        found = gram.norm2_upper(estimate * one, error * one, one, wide=False)
        assert found == torch.inf
        wide = gram.norm2_upper(estimate * one, error * one, one, wide=True)
        assert not wide < max(error, 0.0)
