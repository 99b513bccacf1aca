"""Norms are never too small, whatever cancels, underflows or overflows on the way."""

from __future__ import annotations

import itertools

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


@pytest.mark.parametrize(
    ("shape", "space", "stride", "padding", "dilation", "groups", "by_pixels"),
    [
        ((6, 4, 3), (9,), (1,), (1,), (1,), 1, True),
        ((6, 4, 3), (11,), (1,), (2,), (2,), 2, True),
        ((6, 4, 3, 3), (5, 6), (1, 1), (1, 1), (1, 1), 1, True),
        ((6, 2, 3, 2), (6, 5), (1, 1), (1, 0), (1, 2), 3, True),
        ((6, 4, 5, 5), (13, 14), (2, 1), (2, 2), (1, 1), 1, True),
        ((6, 4, 3, 3), (9, 9), (2, 2), (0, 0), (1, 1), 1, False),
        ((4, 140, 1, 1), (4, 3), (1, 1), (0, 0), (1, 1), 1, True),
        ((4, 3, 2, 3, 2), (4, 4, 5), (1, 1, 1), (0, 1, 0), (1, 1, 1), 1, True),
    ],
)
@pytest.mark.parametrize("wide", [False, True])
def test_inner_products_of_patches_are_those_of_their_pixels_summed(
    shape, space, stride, padding, dilation, groups, by_pixels, wide, monkeypatch
):
    """Every pair of positions of both views, against patches taken out one by one; the other way where that is cheaper."""
    torch.manual_seed(1)
    used = []
    one = Geometry._summed_over_kernel
    monkeypatch.setattr(Geometry, "_summed_over_kernel", lambda *given: used.append(1) or one(*given))
    geometry = Geometry(shape, stride, padding, dilation, groups)
    x = torch.randn(3, 2, shape[1] * groups, *space, dtype=torch.float64)
    padded = nn.functional.pad(x, [amount for pad in reversed(padding) for amount in (pad, pad)])
    out = [
        (size - d * (k - 1) - 1) // s + 1
        for size, d, k, s in zip(padded.shape[3:], dilation, shape[2:], stride, strict=True)
    ]
    patches = []
    for view in range(2):
        for place in itertools.product(*map(range, out)):
            window = [
                slice(at * s, at * s + d * (k - 1) + 1, d)
                for at, s, d, k in zip(place, stride, dilation, shape[2:], strict=True)
            ]
            patches.append(padded[(slice(None), view, slice(None), *window)].reshape(3, groups, -1))
    rows = torch.stack(patches, 2)
    wanted = rows @ rows.transpose(2, 3)
    table, share = geometry.overlaps(x if wide else x.float())
    lengths = rows.norm(dim=3)
    # The data were rounded to float32 too.
    allowed = (share + (0 if wide else 2.0**-23)) * lengths.unsqueeze(3) * lengths.unsqueeze(2)
    assert bool(used) == by_pixels
    assert table.shape == wanted.shape
    assert bool(((table - wanted).abs() <= allowed).all())


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
