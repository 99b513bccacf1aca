"""Norms are never too small, whatever cancels, underflows or overflows on the way."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from renyi.errors import InvalidInput
from renyi.training.clipping.block import Block
from renyi.training.clipping.bounds import ClipBounds
from renyi.training.clipping.clipper import Clipper
from renyi.training.clipping.gradients import Outer, norm2
from renyi.training.clipping.rules.conv import Convolved, Geometry
from tests.training.clipping.reference import each_within_its_bound


def compared(model, batch):
    """The difference of two positions, which all but cancels."""
    h = model(batch)
    return (h[:, 0] - h[:, 1]).sum(1)


@pytest.mark.parametrize("offset", [0.0, 10.0, 1e3, 1e5])
@pytest.mark.parametrize("width", [200, 16384])
def test_long_dot_products_of_one_sign_that_cancel_are_not_taken_for_zero(width, offset):
    torch.manual_seed(0)
    batch = offset + torch.rand(3, 2, width)
    each_within_its_bound(Clipper(nn.Linear(width, 8, bias=False), compared), batch, 0.5)


@pytest.mark.parametrize("turn", range(20))
def test_outer_products_have_norms_that_are_large_enough(turn):
    torch.manual_seed(turn)
    width, rows, terms = (int(torch.randint(low, high, ())) for low, high in ((100, 20000), (1, 100), (2, 9)))
    right = 10 ** (5 * float(torch.rand(()))) + torch.randn(2, terms, width)
    left = torch.randn(2, terms, rows)
    left = left - left.mean(1, keepdim=True)
    found = norm2(Outer((Block(left, right),), (rows, width))).sqrt()
    formed = (left.double().transpose(1, 2) @ right.double()).flatten(1).norm(dim=1)
    size = (left.double().norm(dim=2) * right.double().norm(dim=2)).sum(1)
    assert bool((found >= formed * (1 - 1e-12)).all())
    assert bool((found <= formed * (1 + 1e-3) + 1e-5 * size).all())


@pytest.mark.parametrize("size", [1e3, 3e4, 1e5])
@pytest.mark.parametrize("channels", [64, 1024])
def test_patches_that_cancel_are_not_taken_for_zero(channels, size):
    torch.manual_seed(0)
    x = size + torch.rand(2, 1, channels, 3, 4) * size * 1e-4
    gradient = torch.ones(2, 1, 16, 1, 2)
    gradient[..., 1] = -1
    form = Convolved(x, gradient, Geometry((16, channels, 3, 3), (1, 1), (0, 0), (1, 1), 1))
    exact = 4 * (x[..., :3] - x[..., 1:]).double().flatten(1).norm(dim=1)
    found = norm2(form).sqrt()
    assert bool((found >= exact * (1 - 1e-12)).all())
    assert bool((found <= exact * 1.05).all())


@pytest.mark.parametrize("positions", [1, 2, 40])
@pytest.mark.parametrize("scale", [1e-30, 1e-22, 1e-15, 1.0, 1e15, 1e22, 1e30])
def test_gradients_of_any_size_are_clipped_rightly(scale, positions):
    torch.manual_seed(0)
    model, batch = nn.Linear(30, 5), torch.randn(4, positions, 30)

    def losses(model, batch):
        return model(batch).flatten(1).sum(1) * scale

    truth = scale * torch.cat([batch.double().sum(1), torch.full((4, 1), float(positions))], 1).norm(dim=1) * 5**0.5
    for bound in (1e-12, 1.0, 1e12):
        for unit in range(4):
            found = Clipper(model, losses).sums(batch[unit : unit + 1], 1, bound).gradients
            total = float(torch.cat([g.double().flatten() for g in found.values()]).norm())
            assert total == pytest.approx(min(bound, float(truth[unit])), rel=1e-5)


def test_factors_of_which_one_overflows_when_squared_are_multiplied_rightly():
    left, right = torch.full((1, 1, 3), 1e25), torch.full((1, 1, 50), 1e-15)
    assert float(Outer((Block(left, right),), (3, 50)).norm2(wide=True)) == pytest.approx(150e20, rel=1e-5)


@pytest.mark.parametrize("bound", [0.0, -1.0, 1e-46, 1e-25, 9e-13, 1.1e12, 1e39, float("inf"), float("nan")])
def test_bounds_that_float32_cannot_honour_are_refused(bound):
    with pytest.raises(InvalidInput):
        ClipBounds.flat(["weight"], bound)
