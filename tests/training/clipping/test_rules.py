"""Every rule against a loop over the units."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from renyi.training.clipping.clipper import Clipper
from tests.training.clipping import models
from tests.training.clipping.reference import agrees, squared


@pytest.mark.parametrize("name", models.RULES)
def test_clipped_sums_are_those_of_a_loop(name):
    agrees(*models.case(name))


@pytest.mark.parametrize("name", models.RULES)
def test_the_oracle_and_the_leak_check_pass(name):
    model, batch = models.case(name)
    clipper = Clipper(model, squared)
    clipper.check(batch, len(batch), 1.0)
    assert clipper._fallback is None


@pytest.mark.parametrize("name", models.RULES)
def test_frozen_parameters_are_ignored(name):
    model, batch = models.case(name)
    names = [n for n, _ in model.named_parameters()]
    if len(names) > 1:
        for n, p in model.named_parameters():
            p.requires_grad_(n in names[::2])
        assert list(agrees(model, batch).parameters) == names[::2]


@pytest.mark.parametrize("name", models.RULES)
def test_no_units_give_zeros_without_a_forward_pass(name):
    model, batch = models.case(name)

    def losses(model, batch):
        raise AssertionError("the model was called")

    found = Clipper(model, losses).sums(batch[:0], 0, 1.0)
    assert all(not g.any() and g.dtype == torch.float32 for g in found.gradients.values())
    assert {n: g.shape for n, g in found.gradients.items()} == {n: p.shape for n, p in model.named_parameters()}
    assert found.inside.tolist() == [0.0]
    assert found.losses.shape == (0,)


@pytest.mark.parametrize(
    "name",
    [
        "linear, middle axes",
        "conv2d",
        "embedding",
        "layer norm",
        "group norm",
        "attention",
        "lstm",
        "rms norm",
        "bare",
        "tied",
    ],
)
def test_operations_in_place_may_follow_a_layer(name):
    model, batch = models.case(name)

    class Followed(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, x):
            x = self.model(x)
            return torch.relu_(x.mul_(2))

    agrees(Followed(), batch)


@pytest.mark.parametrize("name", models.RULES)
def test_the_model_is_left_as_it_was(name):
    model, batch = models.case(name)
    before = {n: vars(m).copy() for n, m in model.named_modules()}
    attributes = {n: vars(p).copy() for n, p in model.named_parameters()}
    clipper = Clipper(model, squared)
    clipper.sums(batch, len(batch), 1.0)
    clipper.check(batch, len(batch), 1.0)
    clipper.close()
    assert {n: vars(m) for n, m in model.named_modules()} == before
    assert {n: vars(p) for n, p in model.named_parameters()} == attributes
    assert all(p.grad is None and p.requires_grad for p in model.parameters())
