"""Models that the rules do not cover: right by another way, or refused by name."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from renyi.training.clipping.clipper import Clipper
from renyi.training.errors import ClippingError, LeakError
from tests.training.clipping.reference import UNITS, agrees, randomised, squared


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


class Doubled(torch.autograd.Function):
    """x @ w by a function of its own, which no mode sees into."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g @ w.T, x.flatten(0, -2).T @ g.flatten(0, -2)


class Custom(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.w = nn.Parameter(torch.randn(8, 3))

    def forward(self, x):
        return Doubled.apply(self.first(x), self.w)


class Written(nn.Module):
    """Writes a parameter into data in place."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.token = nn.Parameter(torch.randn(8))

    def forward(self, x):
        x = self.first(x).clone()
        x[:, 0] = self.token
        return torch.tanh(x)


class Sorted(nn.Module):
    """Puts the units in another order and back, which depends on the data."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 3)

    def forward(self, x):
        x = torch.tanh(self.first(x))
        order = x.sum((1, 2)).argsort()
        return self.second(x[order])[order.argsort()]


class Routed(nn.Module):
    """Sends each token to one of two experts."""

    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleList([nn.Linear(8, 3), nn.Linear(8, 3)])

    def forward(self, x):
        rows = x.flatten(0, 1)
        first = rows.sum(1) > 0
        result = rows.new_zeros(len(rows), 3)
        result[first] = self.experts[0](rows[first])
        result[~first] = self.experts[1](rows[~first])
        return result.view(*x.shape[:2], 3)


class Branching(nn.Module):
    """Looks at the numbers, which cannot be mapped."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)

    def forward(self, x):
        return torch.stack([self.first(row) if float(row.sum()) > 0 else self.first(-row) for row in x])


@pytest.mark.parametrize("kind", [Custom, Written, Sorted, Routed, Branching])
def test_what_no_rule_covers_is_right_all_the_same(kind):
    clipper = agrees(randomised(kind()), torch.randn(UNITS, 4, 8), booked=False)
    clipper.check(torch.randn(UNITS, 4, 8), UNITS, 1.0)
    assert clipper.method.startswith("loop" if kind in (Custom, Routed, Branching) else "whole model")
    assert "because of" in clipper.method


def test_a_loss_that_differentiates_the_model_is_noticed():
    model = randomised(nn.Sequential(nn.Linear(8, 6), nn.Tanh(), nn.Linear(6, 1)))

    def losses(model, batch):
        x = batch.detach().requires_grad_()
        (slope,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
        return slope.flatten(1).square().sum(1)

    agrees(model, torch.randn(UNITS, 8), losses, booked=False)


def test_a_loss_that_differentiates_a_recurrent_layer_is_noticed():
    """Its derivative is written out, and has none of its own."""

    class Cell(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = nn.LSTMCell(8, 3)

        def forward(self, x):
            return self.cell(x)[0]

    def losses(model, batch):
        x = batch.detach().requires_grad_()
        (slope,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
        return slope.flatten(1).square().sum(1)

    agrees(randomised(Cell()), torch.randn(UNITS, 8), losses, booked=False)


def test_scripted_modules_are_right():
    with pytest.warns(DeprecationWarning, match="torch.jit.script"):
        script = torch.jit.script(nn.Linear(8, 5))
    model = nn.Sequential(nn.Linear(8, 8), script)
    batch = torch.randn(UNITS, 8)
    clipper = Clipper(model, squared)
    found = clipper.sums(batch, UNITS, 0.1).gradients
    plain = nn.Sequential(model[0], nn.Linear(8, 5))
    plain[1].load_state_dict(script.state_dict())
    expected = Clipper(plain, squared).sums(batch, UNITS, 0.1).gradients
    assert all(torch.allclose(found[name], expected[name], rtol=1e-5, atol=1e-7) for name in expected)


class Checkpointed(nn.Module):
    def __init__(self, *, reentrant):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8)) for _ in range(2)])
        self.reentrant = reentrant

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=self.reentrant)
        return x


def test_checkpointed_blocks_are_booked_once():
    clipper = agrees(randomised(Checkpointed(reentrant=False)), torch.randn(UNITS, 4, 8))
    clipper.check(torch.randn(UNITS, 4, 8), UNITS, 1.0)


def test_reentrant_checkpointing_is_refused_by_name():
    clipper = Clipper(Checkpointed(reentrant=True), squared)
    with pytest.raises(ClippingError, match="use_reentrant=False"):
        clipper.sums(torch.randn(UNITS, 4, 8), UNITS, 1.0)


def test_packed_sequences_are_refused_by_name():
    class Packed(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(8, 4, batch_first=True)

        def forward(self, x):
            lengths = torch.tensor([4, 3, 3, 2, 1, 1])[: len(x)]
            packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
            return self.lstm(packed)[1][0].transpose(0, 1)

    with pytest.raises(ClippingError, match=r"lstm\.weight_ih_l0.*packed sequence"):
        Clipper(Packed(), squared).sums(torch.randn(UNITS, 4, 8), UNITS, 1.0)


def test_a_changed_input_is_noticed():
    class Overwrites(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 3)

        def forward(self, x):
            x = self.first(x)
            y = self.second(x)
            x.zero_()
            return y

    with pytest.raises(ClippingError, match=r"second\.weight was changed in place"):
        Clipper(Overwrites(), squared).sums(torch.randn(UNITS, 8), UNITS, 1.0)


def test_an_embedding_with_a_largest_norm_is_refused():
    with pytest.raises(LeakError, match="max_norm"):
        Clipper(nn.Embedding(11, 8, max_norm=1.0), squared).sums(torch.zeros(2, 3, dtype=torch.long), 2, 1.0)


def test_a_bag_with_a_largest_norm_is_refused():
    with pytest.raises(LeakError, match="max_norm"):
        Clipper(nn.EmbeddingBag(11, 8, max_norm=1.0), squared).sums(torch.zeros(2, 3, dtype=torch.long), 2, 1.0)


def test_complex_parameters_are_refused_by_name():
    model = nn.Linear(3, 3, dtype=torch.complex64)
    with pytest.raises(ClippingError, match=r"weight.*complex"):
        Clipper(model, squared)


def test_forward_passes_in_between_leave_nothing():
    model, batch = randomised(nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3))), torch.randn(UNITS, 8)
    clipper = Clipper(model, squared)
    before = clipper.sums(batch, UNITS, 0.5)
    model.eval()(torch.randn(3, 8))
    with torch.no_grad():
        model.train()(torch.randn(9, 8))
    squared(model, torch.randn(5, 8)).sum().backward()
    after = clipper.sums(batch, UNITS, 0.5)
    assert all(torch.equal(before.gradients[name], after.gradients[name]) for name in before.gradients)


def test_dead_layers_are_right_once_they_live():
    """A head that starts at zero sends no gradient down, so the first step cannot tell where units are."""
    model = randomised(nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 3)))
    nn.init.zeros_(model[4].weight)
    nn.init.zeros_(model[4].bias)

    def losses(model, batch):
        return functional.mse_loss(model(batch), torch.ones(len(batch), UNITS, 3), reduction="none").flatten(1).mean(1)

    batch = torch.randn(UNITS, UNITS, 8)
    clipper = Clipper(model, losses)
    found = clipper.sums(batch, UNITS, 1.0)
    assert not found.gradients["0.weight"].any()
    randomised(model)
    again, fresh = clipper.sums(batch, UNITS, 1.0), Clipper(model, losses).sums(batch, UNITS, 1.0)
    assert all(torch.equal(again.gradients[name], fresh.gradients[name]) for name in again.gradients)
    agrees(model, batch, losses)
