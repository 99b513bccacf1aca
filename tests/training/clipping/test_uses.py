"""Parameters used in every way that models use them, without a module that owns the use."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional

from renyi.training.clipping.clipper import Clipper
from tests.training.clipping.reference import UNITS, agrees, randomised, squared


class Net(nn.Module):
    """Three parameters, an embedding, a linear layer, and a way to use them."""

    def __init__(self, use):
        super().__init__()
        self.use = use
        self.a = nn.Parameter(torch.zeros(8, 2))
        self.b = nn.Parameter(torch.zeros(2, 8))
        self.rows = nn.Parameter(torch.zeros(UNITS, 8))
        self.token = nn.Parameter(torch.zeros(1, 1, 8))
        self.scalar = nn.Parameter(torch.zeros(()))
        self.gru = nn.GRU(8, 4, batch_first=True)
        self.start = nn.Parameter(torch.zeros(1, 1, 4))
        self.places = nn.Embedding(9, 8)
        self.linear = nn.Linear(8, 8)
        self.bilinear = nn.Bilinear(8, 8, 3)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        return self.use(self, x)


def several_parts(m, x):
    pairs = zip(m.linear.weight.chunk(4), m.linear.bias.chunk(4), strict=True)
    return sum(functional.linear(x, w, b).pow(power) for power, (w, b) in enumerate(pairs, start=1))


def merged_rows(m, x):
    return torch.addmm(m.a.sum(0), x.reshape(-1, 8), m.a).view(len(x), -1, 2)


def used_and_moved(m, x):
    w = m.b * 1
    first = x @ w.T
    w.mul_(2)
    return first + x @ w.T


def written(m, x):
    x = m.linear(x).clone()
    x += m.token
    return x


USES = {
    "einsum": lambda m, x: torch.einsum("btd,de->bte", x, m.a),
    "two sides": lambda m, x: m.bilinear(x, x.flip(-1)),
    "choice": lambda m, x: m.linear(torch.where(x[..., :1] > 0, m.token, x)),
    "learned queries": lambda m, x: torch.softmax(m.linear(m.rows) @ x.transpose(1, 2), -1) @ x,
    "expanded queries": lambda m, x: m.attention(m.rows.expand(len(x), -1, -1), x, x)[0],
    "positions": lambda m, x: m.linear(torch.tanh(x + m.places(torch.arange(x.shape[1])))),
    "positions of every unit": lambda m, x: m.linear(
        torch.tanh(x + m.places(torch.arange(x.shape[1]).expand(len(x), -1)))
    ),
    "positions, cut": lambda m, x: m.linear(torch.tanh(x + m.rows[: x.shape[1]])),
    "low rank, beside": lambda m, x: m.linear(x) + (x @ m.a) @ m.b,
    "low rank, merged": lambda m, x: functional.linear(x, m.linear.weight + m.a @ m.b, m.linear.bias),
    "a gate": lambda m, x: x + torch.sigmoid(m.scalar) * m.linear(x),
    "a temperature": lambda m, x: m.linear(x) / m.scalar.exp(),
    "several parts": several_parts,
    "merged rows": merged_rows,
    "a learned start": lambda m, x: m.gru(x, m.start.expand(-1, len(x), -1).contiguous())[0],
    "a mask": lambda m, x: m.attention(x, x, x, key_padding_mask=x[..., 0] > 1, need_weights=False)[0],
    "time first": lambda m, x: m.linear(x.transpose(0, 1)).transpose(0, 1),
    "one matrix for each time": lambda m, x: torch.bmm(x.transpose(0, 1), m.rows.unsqueeze(2)).transpose(0, 1),
    "only for its type": lambda m, x: m.linear(x.type_as(m.a)),
    "detached": lambda m, x: m.linear(x) @ m.a.detach(),
    "not at all": lambda m, x: m.linear(x),
}
BEYOND = {
    "a derived matrix changed in place": used_and_moved,
    "added in place": written,
    "a transform inside": lambda m, x: torch.vmap(lambda row: x * row)(m.rows).movedim(0, 1),
}


def regularised(model, batch):
    """A penalty on the weights, the same for every unit."""
    return squared(model, batch) + 0.1 * sum(p.square().sum() for p in model.parameters())


def adversarial(model, batch):
    """The loss at the worst nearby input, which another backward pass finds."""
    x = batch.detach().requires_grad_()
    (slope,) = torch.autograd.grad(squared(model, x).sum(), x)
    return squared(model, batch + 0.1 * slope.sign())


@pytest.mark.parametrize("losses", [squared, regularised, adversarial])
@pytest.mark.parametrize("use", USES)
def test_every_use_is_booked(use, losses):
    torch.manual_seed(0)
    agrees(randomised(Net(USES[use])), torch.randn(UNITS, UNITS, 8), losses)


@pytest.mark.parametrize("use", BEYOND)
def test_what_cannot_be_booked_is_noticed(use):
    torch.manual_seed(0)
    agrees(randomised(Net(BEYOND[use])), torch.randn(UNITS, UNITS, 8), booked=False)


@pytest.mark.filterwarnings("ignore")  # of the compiler itself
def test_compiled_parts_are_right():
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(8, 6), torch.compile(nn.Sequential(nn.Linear(6, 6), nn.Tanh()), backend="eager"), nn.Linear(6, 3)
    )
    plain = nn.Sequential(model[0], model[1]._orig_mod, model[2])
    batch = torch.randn(UNITS, 8)
    found, expected = (Clipper(each, squared).sums(batch, UNITS, 0.1).gradients.values() for each in (model, plain))
    assert all(torch.allclose(one, other, rtol=1e-5, atol=1e-8) for one, other in zip(found, expected, strict=True))
