"""The contract of the clipper with a run."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest
import torch
from torch import nn
from torch.nn import functional

from renyi.errors import InvalidInput
from renyi.training.clipping.bounds import ClipBounds
from renyi.training.clipping.clipper import Clipper
from renyi.training.errors import ClippingError
from tests.training.clipping import models
from tests.training.clipping.reference import UNITS, between, error, norms, per_unit, squared


def small():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 6), nn.Tanh(), nn.Linear(6, 3)), torch.randn(UNITS, 8)


def test_groups_are_clipped_by_their_own_norms():
    model, batch = small()
    gradients = per_unit(model, squared, batch)
    first = between(norms({n: gradients[n] for n in ("0.weight", "0.bias")}))
    second = between(norms({"2.weight": gradients["2.weight"]}))
    bounds = ClipBounds.per_layer({"0": first, "2.weight": second, "2.bias": 10.0})
    found = Clipper(model, squared).sums(batch, UNITS, bounds)
    resolved = bounds.resolved(gradients)
    assert resolved.groups == ((("0.weight", "0.bias"), first), (("2.weight",), second), (("2.bias",), 10.0))
    assert error(found, gradients, resolved) < 1e-5
    assert found.inside.tolist() == [3.0, 3.0, 6.0]
    assert bounds.sensitivity == pytest.approx(math.sqrt(first**2 + second**2 + 100))


def test_a_mapping_of_names_is_a_bound_for_each():
    model, batch = small()
    found = Clipper(model, squared).sums(batch, UNITS, {"0": 1.0, "2": 2.0})
    assert found.inside.shape == (2,)


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ({"0": 1.0}, r"no clip bound covers 2\.weight"),
        ({"0": 1.0, "2": 1.0, "3": 1.0}, "holds no trainable"),
        (0.0, "> 0"),
    ],
)
def test_bounds_that_do_not_fit_are_refused(bounds, words):
    model, batch = small()
    with pytest.raises(InvalidInput, match=words):
        Clipper(model, squared).sums(batch, UNITS, bounds)


@pytest.mark.parametrize("losses", [lambda m, b: m(b).square().mean(), lambda m, b: m(b).square(), lambda m, b: 1.0])
def test_the_fix_of_a_wrong_loss_is_in_the_message(losses):
    model, batch = small()
    with pytest.raises(ClippingError, match=r'reduction="none".*mean over each unit'):
        Clipper(model, losses).sums(batch, UNITS, 1.0)
    with pytest.raises(ClippingError, match=r'reduction="none".*mean over each unit'):
        Clipper(model, losses).check(batch, UNITS, 1.0)


def test_losses_cut_off_from_the_parameters_are_refused():
    model, batch = small()
    with pytest.raises(ClippingError, match="do not depend on any trainable parameter"):
        Clipper(model, lambda m, b: squared(m, b).detach()).sums(batch, UNITS, 1.0)


def test_what_is_returned_is_detached():
    model, batch = small()
    found = Clipper(model, squared).sums(batch, UNITS, 1.0)
    assert torch.allclose(found.losses, squared(model, batch))
    assert not any(value.requires_grad for value in (found.losses, found.inside, *found.gradients.values()))


def test_sums_work_where_gradients_are_switched_off():
    model, batch = small()
    clipper = Clipper(model, squared)
    expected = clipper.sums(batch, UNITS, 1.0)
    with torch.no_grad():
        found = clipper.sums(batch, UNITS, 1.0)
    assert all(torch.equal(found.gradients[n], g) for n, g in expected.gradients.items())


def test_unused_parameters_contribute_zero():
    model, batch = small()
    model.register_parameter("spare", nn.Parameter(torch.ones(3)))
    found = Clipper(model, squared).sums(batch, UNITS, 1.0)
    assert not found.gradients["spare"].any()


def test_tied_parameters_have_one_name():
    model = models.Tied(by_hand=False)
    assert [n for n in Clipper(model, squared).parameters if n in ("embedding.weight", "head.weight")] == [
        "embedding.weight"
    ]


def test_parameters_unfrozen_later_are_refused():
    model, batch = small()
    model[0].requires_grad_(False)
    clipper = Clipper(model, squared)
    model[0].requires_grad_(True)
    with pytest.raises(ClippingError, match=r"0\.weight, 0\.bias became trainable"):
        clipper.sums(batch, UNITS, 1.0)


def test_a_closed_clipper_refuses():
    model, batch = small()
    clipper = Clipper(model, squared)
    clipper.close()
    with pytest.raises(ClippingError, match="closed"):
        clipper.sums(batch, UNITS, 1.0)


def test_an_error_in_the_loss_leaves_the_model_clean():
    model, batch = small()

    def losses(model, batch):
        model(batch)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Clipper(model, losses).sums(batch, UNITS, 1.0)
    assert torch.overrides._len_torch_function_stack() == 0
    assert all(not module._forward_hooks for module in model.modules())


def test_batches_may_be_any_nest_of_tensors():
    model, batch = small()
    label = torch.randint(0, 3, (UNITS,))

    def losses(model, batch):
        return functional.cross_entropy(model(batch["x"]), batch["more"][0], reduction="none") * batch["weight"]

    clipper = Clipper(model, losses)
    nest = {"x": batch, "more": (label,), "weight": 2.0}
    clipper.sums(nest, UNITS, 1.0)
    clipper.check(nest, UNITS, 1.0)
    with pytest.raises(ClippingError, match="leading axis"):
        clipper.check({**nest, "x": batch[:4]}, UNITS, 1.0)


def test_batch_sizes_may_change_from_step_to_step():
    model, _ = models.case("attention, time first")
    clipper = Clipper(model, squared)
    for units, length in ((6, 4), (1, 4), (4, 4), (3, 6), (6, 6), (2, 3), (0, 1)):
        batch = torch.randn(units, length, 8)
        found = clipper.sums(batch, units, 0.5)
        if units:
            gradients = per_unit(model, squared, batch)
            assert error(found, gradients, ClipBounds.flat(gradients, 0.5)) < 1e-5


def test_a_units_several_examples_are_clipped_together():
    """The unit axis leads; that a unit has five rows of its own makes no difference to the rules."""
    model, _ = small()
    batch = torch.randn(UNITS, 5, 8)
    gradients = per_unit(model, squared, batch)
    bound = float(norms(gradients).median())
    found = Clipper(model, squared).sums(batch, UNITS, bound)
    assert error(found, gradients, ClipBounds.flat(gradients, bound)) < 1e-5


@pytest.mark.parametrize(
    "name",
    [
        "linear",
        "linear, middle axes",
        "conv2d",
        "conv2d, few positions",
        "embedding",
        "layer norm",
        "group norm",
        "attention",
        "lstm",
        "lstm cell",
    ],
)
def test_shapes_come_out_on_a_device_without_data(name):
    model, batch = models.case(name)
    model, batch = model.to("meta"), batch.to("meta")
    found = Clipper(model, squared).sums(batch, UNITS, 1.0)
    assert {n: (g.shape, g.device.type) for n, g in found.gradients.items()} == {
        n: (p.shape, "meta") for n, p in model.named_parameters()
    }
    assert found.inside.shape == (1,)


def test_importing_the_library_does_not_import_torch():
    code = "import sys, renyi; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_units_that_start_to_change_places_are_noticed():
    class Moving(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 3)
            self.moving = False

        def forward(self, x):
            x = torch.tanh(self.first(x))
            order = x.sum(1).argsort() if self.moving else torch.arange(len(x))
            return self.second(x[order])[order.argsort()]

    torch.manual_seed(0)
    model, batch = Moving(), torch.randn(UNITS, 8)
    clipper = Clipper(model, squared)
    clipper.sums(batch, UNITS, 0.1)
    model.moving = True
    gradients = per_unit(model, squared, batch)
    assert error(clipper.sums(batch, UNITS, 0.1), gradients, ClipBounds.flat(gradients, 0.1)) < 1e-5
    assert clipper._fallback is not None
