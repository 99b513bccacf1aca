"""Low precision and numbers that are not finite."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from renyi.training.clipping import gradients
from renyi.training.clipping.block import Block
from renyi.training.clipping.bounds import ClipBounds
from renyi.training.clipping.clipper import Clipper
from tests.training.clipping import models
from tests.training.clipping.reference import UNITS, each_within_its_bound, error, norms, per_unit, squared

RULES = [
    "linear, middle axes",
    "conv2d",
    "embedding",
    "layer norm",
    "group norm",
    "attention",
    "gru",
    "bare",
    "tied",
]


def autocast(model, batch):
    with torch.autocast("cpu", torch.bfloat16):
        return squared(model, batch).float()


@pytest.mark.parametrize("name", RULES)
def test_autocast_agrees_with_the_loop_under_autocast(name):
    model, batch = models.case(name)
    expected = per_unit(model, autocast, batch, double=False)
    bound = float(norms(expected).median())
    clipper = Clipper(model, autocast)
    found = clipper.sums(batch, UNITS, bound)
    assert all(g.dtype == torch.float32 for g in found.gradients.values())
    assert error(found, expected, ClipBounds.flat(expected, bound)) < 1e-2
    each_within_its_bound(clipper, batch, bound)
    with torch.autocast("cpu", torch.bfloat16):
        inside = clipper.sums(batch, UNITS, bound)
    assert all(torch.equal(found.gradients[n], g) for n, g in inside.gradients.items())
    clipper.check(batch, UNITS, bound)


@pytest.mark.parametrize("name", ["linear, middle axes", "conv2d", "attention", "lstm", "tied"])
def test_sums_over_bfloat16_activations_are_float32_sums(name, monkeypatch):
    """The same activations and output gradients, summed in float64, give the same clipped sums to 1e-5."""
    model, batch = models.case(name)
    clipper = Clipper(model, autocast)
    clipper.sums(batch, UNITS, 1.0)
    ((_, forms),) = clipper._measured(batch, UNITS)
    exact = {name: _exactly(form) for name, form in forms.items()}
    bound = float(norms(exact).median())
    found = clipper.sums(batch, UNITS, bound)
    assert error(found, exact, ClipBounds.flat(exact, bound)) < 1e-5


def _exactly(form):
    if isinstance(form, gradients.Outer):
        blocks = [Block(b.left if b.one_hot else b.left.double(), b.right.double()) for b in form.blocks]
        total = 0
        for block in blocks:
            left = torch.nn.functional.one_hot(block.left, form.shape[0]).double() if block.one_hot else block.left
            total = total + left.transpose(1, 2) @ block.right
        return total
    return form.dense().double()


@pytest.mark.parametrize("name", ["linear, middle axes", "conv2d", "embedding", "layer norm", "attention"])
def test_bfloat16_models_are_summed_in_float32(name):
    model, batch = models.case(name)
    model = model.bfloat16()
    batch = batch.bfloat16() if batch.is_floating_point() else batch
    expected = per_unit(model, squared, batch, double=False)
    bound = float(norms(expected).median())
    clipper = Clipper(model, squared)
    found = clipper.sums(batch, UNITS, bound)
    assert all(g.dtype == torch.float32 for g in found.gradients.values())
    assert error(found, expected, ClipBounds.flat(expected, bound)) < 3e-2  # the loop itself rounds its gradients
    each_within_its_bound(clipper, batch, bound)
    clipper.check(batch, UNITS, bound)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 3e38])
@pytest.mark.parametrize(
    "name", ["linear", "linear, long", "conv2d", "conv2d, few positions", "layer norm", "attention", "bare"]
)
def test_a_unit_that_is_not_finite_contributes_nothing(name, bad):
    model, batch = models.case(name)
    clipper = Clipper(model, squared)
    others = torch.cat([batch[:2], batch[3:]])
    expected = clipper.sums(others, UNITS - 1, 0.5)
    damaged = batch.clone()
    damaged[2] = bad
    (own,) = norms(per_unit(model, squared, damaged[2:3], double=False))
    if own.isfinite():  # a saturated tanh hands nothing on, so the gradient is small however large the input
        assert (name, bad) == ("linear", 3e38)
        expected += Clipper(model, squared).sums(damaged[2:3], 1, 0.5)
    found = clipper.sums(damaged, UNITS, 0.5)
    for n, g in found.gradients.items():
        assert torch.allclose(g, expected.gradients[n], rtol=1e-5, atol=1e-6)
    assert torch.equal(found.inside, expected.inside)
    first = Clipper(model, squared)
    again = first.sums(damaged, UNITS, 0.5)
    assert all(torch.allclose(g, again.gradients[n], rtol=1e-5, atol=1e-6) for n, g in found.gradients.items())
    assert first.method == clipper.method == "rules"


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_damaged_unit_is_left_out_by_the_fallback_too(bad):
    from tests.training.clipping.test_fallbacks import Sorted

    torch.manual_seed(0)
    model, batch = Sorted(), torch.randn(UNITS, 4, 8)
    expected = Clipper(model, squared).sums(batch[1:], UNITS - 1, 0.01)
    clipper = Clipper(model, squared)
    clipper.sums(batch, UNITS, 0.01)
    damaged = batch.clone()
    damaged[0] = bad
    found = clipper.sums(damaged, UNITS, 0.01)
    assert clipper._fallback is not None
    assert all(torch.allclose(g, expected.gradients[n], rtol=1e-5, atol=1e-8) for n, g in found.gradients.items())


def test_cancelling_terms_do_not_break_the_bound():
    """Terms a thousand times larger than their sum: a Gram matrix alone would misjudge the norm."""
    torch.manual_seed(0)
    model = nn.Linear(300, 300, bias=False)

    def losses(model, batch):
        y = model(batch)
        return (y[:, 0] * 1000 - y[:, 1] * 1000 + y[:, 2]).sum(1)

    x = torch.randn(UNITS, 3, 300)
    x[:, 1] = x[:, 0] * (1 + 1e-4)
    each_within_its_bound(Clipper(model, losses), x, 0.5)


def test_long_positive_sums_do_not_break_the_bound():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4096, 64), nn.ReLU(), nn.Linear(64, 8))
    each_within_its_bound(Clipper(model, squared), torch.rand(UNITS, 4096), 0.1)
    each_within_its_bound(Clipper(model, squared), torch.rand(UNITS, 3, 4096), 0.1)
