"""The comparison on which every look rests: the same numbers at any size, and float64 when in doubt."""

from __future__ import annotations

import random

import pytest
import torch
from torch import nn
from torch.distributions import Beta, Dirichlet, Gamma
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from renyi.training.checks.comparison import MOST_LARGE, Comparison, Setting
from renyi.training.checks.in_float64 import InFloat64
from renyi.training.checks.same_numbers import SameNumbers, knows_all_draws
from renyi.training.clipping.clipper import Clipper
from renyi.training.errors import LeakError
from renyi.training.recording.findings import Looks
from tests.training.clipping import models
from tests.training.clipping.reference import squared

DRAWS = {
    "rand": lambda x: torch.rand(len(x), 5),
    "rand_like": torch.rand_like,
    "randn": lambda x: torch.randn(len(x), 3, 5),
    "randn_like": torch.randn_like,
    "time first": lambda x: torch.randn(7, len(x), 5).transpose(0, 1),
    "randint": lambda x: torch.randint(3, 9, (len(x), 5)).float(),
    "randint_like": lambda x: torch.randint_like(x, 4),
    "normal": lambda x: torch.normal(x, 2.0),
    "bernoulli": lambda x: torch.bernoulli(torch.full_like(x, 0.3)),
    "bernoulli_": lambda x: torch.empty_like(x).bernoulli_(0.7),
    "uniform_": lambda x: torch.empty_like(x).uniform_(-1, 1),
    "normal_": lambda x: torch.empty_like(x).normal_(1, 2),
    "exponential_": lambda x: torch.empty_like(x).exponential_(),
    "poisson": lambda x: torch.poisson(20 * x.abs()),
    "binomial": lambda x: torch.binomial(torch.full_like(x, 30), x.sigmoid()),
    "gamma": lambda x: Gamma(x.exp(), torch.ones(())).rsample(),
    "beta": lambda x: Beta(x.exp(), x.exp() + 1).rsample(),
    "dirichlet": lambda x: Dirichlet(x.exp()).rsample(),
    "rrelu": lambda x: functional.rrelu(x, training=True),
    "a leaf": lambda x: torch.rand(len(x), 5, requires_grad=True).detach(),
    "one number": lambda x: x * torch.rand(()),
    "gumbel": lambda x: functional.gumbel_softmax(x, hard=True),
    "dropout": lambda x: functional.dropout(x, 0.5),
    "dropout2d": lambda x: nn.Dropout2d(0.5)(x[:, :, None, None]).flatten(1),
    "attention": lambda x: functional.scaled_dot_product_attention(x, x, x, dropout_p=0.5),
    "layers": lambda x: ENCODER(x[:, None]).squeeze(1),
    "recurrent": lambda x: LSTM(x[:, None])[0].squeeze(1),
}
STEADY = {"dropout", "dropout2d", "attention", "layers", "recurrent", "gamma", "beta", "dirichlet", "rrelu"}
ENCODER = nn.TransformerEncoderLayer(6, 2, 8, dropout=0.5, batch_first=True)
LSTM = nn.LSTM(6, 4, num_layers=2, dropout=0.5, batch_first=True)


@pytest.mark.parametrize("name", DRAWS)
def test_a_unit_gets_the_same_numbers_in_batches_of_any_size(name):
    unit = torch.linspace(-1, 1, 6)

    def seen(size):
        torch.manual_seed(3)
        with SameNumbers(), torch.no_grad():
            first, second = (DRAWS[name](unit.repeat(size, 1)) for _ in range(2))
            assert knows_all_draws()
        return first[-1], second[-1]

    whole, alone = seen(5), seen(1)
    assert all(torch.allclose(one, two, atol=1e-6) for one, two in zip(whole, alone, strict=True))
    if name not in STEADY | {"gumbel", "bernoulli", "bernoulli_"}:
        assert not torch.allclose(*whole)  # the second draw is another


def test_the_numbers_follow_their_laws():
    torch.manual_seed(0)
    with SameNumbers():
        uniform, normal = torch.rand(2, 40_000)[0], torch.randn(2, 40_000)[1]
        whole = torch.randint(-2, 3, (2, 40_000))[0]
        coin = torch.empty(2, 40_000).bernoulli_(0.3)[0]
        counts = (
            torch.poisson(torch.full((2, 40_000), 20.0))[0],
            torch.binomial(*torch.tensor([80, 0.5]).expand(2, 40_000, 2).unbind(2))[0],
        )
    assert uniform.mean() == pytest.approx(0.5, abs=0.01)
    assert normal.mean() == pytest.approx(0.0, abs=0.03)
    assert normal.std() == pytest.approx(1.0, abs=0.02)
    assert sorted(whole.unique().tolist()) == [-2, -1, 0, 1, 2]
    assert coin.mean() == pytest.approx(0.3, abs=0.01)
    for count, mean in zip(counts, (20, 40), strict=True):
        assert count.mean() == pytest.approx(mean, rel=0.01)
        assert count.var() == pytest.approx(20, rel=0.05)


def test_draws_that_are_not_known_are_noticed():
    torch.manual_seed(0)
    with SameNumbers():
        torch.rand(3)
        assert knows_all_draws()
        torch.multinomial(torch.rand(3, 4), 2)
        assert not knows_all_draws()


def test_checkpointing_repeats_the_numbers():
    x = torch.ones(2, 6, requires_grad=True)
    torch.manual_seed(0)
    with SameNumbers():
        value = checkpoint(lambda t: (t * torch.randn_like(t)).square(), x, use_reentrant=False)
        torch.rand(())
        (gradient,) = torch.autograd.grad(value.sum(), x)
    assert torch.allclose(gradient, 2 * value.detach(), rtol=1e-4)


def mixed(net, batch):
    """Casts down, makes constants in float32, works under autocast."""
    with torch.autocast("cpu", torch.bfloat16):
        output = net(batch.to(torch.bfloat16)).float()
    output = output * torch.ones(3, dtype=torch.float32) + torch.tensor(0.5)
    output += 1
    return output.log_softmax(-1, dtype=torch.float32).square().mean(1)


def test_a_forward_pass_in_half_precision_becomes_one_in_float64():
    torch.manual_seed(0)
    net, x = nn.Linear(5, 3), torch.randn(4, 5)
    with InFloat64():
        found = mixed(net, x)
        (gradient,) = torch.autograd.grad(found.sum(), [net.weight])
    weight, bias = net.weight.detach().double().requires_grad_(), net.bias.detach().double()
    expected = (functional.linear(x.double(), weight, bias) + 1.5).log_softmax(-1).square().mean(1)
    assert found.dtype == torch.float64
    assert torch.allclose(found, expected, rtol=1e-12)
    assert gradient.dtype == torch.float32
    assert torch.allclose(gradient, torch.autograd.grad(expected.sum(), weight)[0].float(), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", models.RULES)
def test_every_model_runs_in_float64_and_agrees_there(name):
    model, batch = models.case(name)
    units = len(batch)
    comparison = Comparison(model, squared, random.Random(0))
    places = tuple(range(units))
    one = Setting(batch, units, places, (1.0,) * units)
    seed = comparison.seed()
    narrow, wide = comparison.run(one, seed), comparison.run(one, seed, wide=True)
    assert torch.allclose(narrow.losses, wide.losses, rtol=1e-4)
    assert comparison.confirmed(one, one, seed, copies=None, same_size=True) is None
    assert comparison.runs_in_float64


class Kinked(nn.Module):
    """A kink that flips with the size of the batch: what batch-1 kernels do by rounding, done on purpose."""

    def __init__(self, *, float64):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(6, 4))
        self.float64 = float64

    def forward(self, x):
        x = x @ self.weight
        if x.dtype != torch.float64:
            return torch.where(x.detach() + (1e-6 if len(x) == 1 else 0) > 0, x, 0 * x)
        if not self.float64:
            raise RuntimeError("float64 is not implemented here")
        return torch.relu(x)


@pytest.mark.parametrize("float64", [True, False])
def test_a_kink_that_rounding_flips_is_no_leak(float64):
    comparison = Comparison(Kinked(float64=float64), squared_sum, random.Random(0))
    unit = torch.tensor([1.0, -1.0, 1.0, -1.0, -1e-7, 0.0])  # its sum is on the kink
    others = torch.randn(7, 6)
    base = comparison.run(Setting(torch.cat([unit[None], others]), 8, (0,), (1.0,)), 5)

    def copies(size):
        return Setting(unit.repeat(size, 1), size, (0,), (1.0,))

    assert comparison.differ(base, copies(1), copies=copies, same_size=False) is None
    assert comparison.doubts == 1
    assert comparison.runs_in_float64 is float64


def squared_sum(net, batch):
    return net(batch).sum(1)


@pytest.mark.parametrize("float64", [True, False])
def test_what_depends_on_the_size_is_confirmed(float64):
    comparison = Comparison(Kinked(float64=float64), lambda net, x: net(x.abs()).sum(1) / len(x), random.Random(0))
    batch = torch.rand(8, 6)
    base = comparison.run(Setting(batch, 8, (0,), (1.0,)), 5)

    def copies(size):
        return Setting(batch[:1].repeat(size, 1), size, (0,), (1.0,))

    assert comparison.differ(base, copies(1), copies=copies, same_size=False) is not None


def test_fewer_units_of_larger_models_are_compared():
    def units(count):
        return Looks.at_model([torch.empty(count, device="meta")]).units

    sizes = (1, 1 << 20, (1 << 20) + 1, 1 << 22, (1 << 22) + 1, 1 << 40)
    assert [units(count) for count in sizes] == [8, 8, 4, 4, 2, 2]


def coupled_in_float32(net, x):
    return net(x - x.mean(0) if x.dtype == torch.float32 else x).square().sum(1)


def coupled_unless_in_float64(net, x):
    return net(x if net.weight.dtype == torch.float64 else x - x.mean(0)).square().sum(1)


@pytest.mark.parametrize("losses", [coupled_in_float32, coupled_unless_in_float64])
def test_a_leak_that_float64_does_not_have_is_one_all_the_same(losses):
    with pytest.raises(LeakError):
        Clipper(nn.Linear(6, 3), losses).check(torch.randn(12, 6), 12, 1.0)


def test_it_takes_several_large_differences_that_float64_does_not_have():
    """Routing that rounding tips over, which is honest, causes one now and then."""
    torch.manual_seed(0)
    comparison = Comparison(nn.Linear(6, 3), coupled_in_float32, random.Random(0))

    def settings():
        kept = torch.randn(4, 6)
        return [Setting(torch.cat([kept, torch.randn(4, 6)]), 8, (0, 1, 2, 3), (1.0,) * 4) for _ in range(2)]

    found = []
    for _ in range(MOST_LARGE):
        one, other = settings()
        found.append(comparison.differ(comparison.run(one, comparison.seed()), other))
    assert found[:-1] == [None] * (MOST_LARGE - 1) != []
    assert found[-1] is not None
