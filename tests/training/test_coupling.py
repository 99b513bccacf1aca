"""Couplings that hide: behind a constant loss, a random branch, a random loss, or units that are all alike.

Each is first shown to leak in a naive engine, at the draws where it does: one unit moves the sum by more than the bound.
"""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.distributions import Dirichlet, Gamma

from renyi.training import LeakError
from renyi.training.clipping.clipper import Clipper
from renyi.training.errors import ClippingError
from tests.training.naive import BOUND, influence, linear, naive_sum

UNITS = 12


def plain(net, batch):
    x, y = batch
    return (net(x).squeeze(-1) - y).square()


def rescaled(net, batch):
    """The value is always zero; the gradient is divided by the largest loss of the batch."""
    loss = plain(net, batch)
    return (loss - loss.detach()) * (10 / loss.detach().max())


def at_times(coupled, chance):
    """Couple the units in some of the steps."""

    def losses(net, batch):
        return coupled(net, batch) if torch.rand(()) < chance else plain(net, batch)

    return losses


def mixed(net, batch):
    """Each unit is blended with the one before."""
    x, y = batch
    return plain(net, (0.5 * x + 0.5 * x.roll(1, 0), y))


def centred(net, batch):
    x, y = batch
    return plain(net, (x - x.mean(0), y))


def noisy_share(net, batch):
    """A random loss over the number of units."""
    loss = plain(net, batch)
    return loss * (0.5 + torch.rand_like(loss)) / len(loss)


def silent_share(net, batch):
    """The same, with a value that does not show it."""
    loss = noisy_share(net, batch)
    return loss - loss.detach() + torch.rand_like(loss)


def weighted_by_all(net, batch):
    """Weights that are normalised over the batch."""
    x, _, weight = batch
    return net(x).squeeze(-1) * weight / weight.sum() * 10


def apart():
    """Units of which the first is far from the others."""
    x = torch.randn(UNITS, 4, generator=torch.Generator().manual_seed(0))
    x[0] *= 100
    return x, torch.ones(UNITS)


def against():
    """Units with gradients below the bound, the first against all the others."""
    x = torch.full((UNITS, 4), 1.2)
    x[0] *= -1
    return x, torch.full((UNITS,), 2.0)


def alike(first=1.0):
    """Units that are all the same, unless the first has another weight."""
    weight = torch.ones(UNITS)
    weight[0] = first
    return torch.ones(UNITS, 4), torch.zeros(UNITS), weight


HIDDEN = {
    "in the gradient": (rescaled, apart()),
    "mixup three times in ten": (at_times(mixed, 0.3), apart()),
    "centred four times in ten": (at_times(centred, 0.4), apart()),
    "a random share": (noisy_share, against()),
    "a random share in the gradient": (silent_share, against()),
    "weights over all": (weighted_by_all, alike(first=1000.0)),
}


def worst(loss, batch):
    """How far the first unit moves the naive sum, at the draw where it moves it most."""

    def total(given):
        return naive_sum(linear(4, 1, bias=False)(), loss, given)

    def from_seed(seed):
        def seeded_total(given):
            torch.manual_seed(seed)
            return total(given)

        return influence(seeded_total, batch)

    return max(from_seed(seed) for seed in range(10))


@pytest.mark.parametrize("name", HIDDEN)
def test_a_coupling_that_hides_is_found(name):
    loss, batch = HIDDEN[name]
    assert worst(loss, batch) > 1.2 * BOUND
    for seed in range(10):
        with pytest.raises(LeakError):
            Clipper(linear(4, 1, bias=False)(), loss).check(batch, UNITS, BOUND, seed=seed)


def test_units_that_are_all_alike_do_not_hide_a_coupling():
    assert worst(weighted_by_all, alike(first=1000.0)) > 1.2 * BOUND
    for seed in range(20):
        with pytest.raises(LeakError, match="loss function"):
            Clipper(linear(4, 1, bias=False)(), weighted_by_all).check(alike(), UNITS, BOUND, seed=seed)


def test_the_one_unit_that_couples_need_not_be_among_those_tried():
    """One unit in forty is not like the others, which are all alike."""
    present = torch.zeros(40, 5)
    present[:, 0] = 1
    present[0] = 1
    batch = (torch.full((40, 5), 0.6), present)

    def token_mean(net, batch):
        x, present = batch
        return ((net(x.unsqueeze(-1)).squeeze(-1) ** 2) * present).sum(1) / present.sum() * len(x)

    for seed in range(50):
        with pytest.raises(LeakError, match="loss function"):
            Clipper(linear(1, 1, bias=False)(), token_mean).check(batch, 40, BOUND, seed=seed)


def test_a_coupling_of_large_batches_only_is_found():
    def losses(net, batch):
        return centred(net, batch) if len(batch[0]) > 30 else plain(net, batch)

    x = torch.randn(40, 4, generator=torch.Generator().manual_seed(0))
    x[0] *= 1000
    batch = (x, torch.ones(40))
    assert influence(lambda given: naive_sum(linear(4, 1, bias=False)(), losses, given), batch) > 1.2 * BOUND
    for seed in range(5):
        with pytest.raises(LeakError, match="loss function"):
            Clipper(linear(4, 1, bias=False)(), losses).check(batch, 40, BOUND, seed=seed)


def test_what_is_carried_over_from_call_to_call_is_refused():
    seen = [0.0]

    def losses(net, batch):
        loss = plain(net, batch)
        seen[0] = 0.9 * seen[0] + 0.1 * float(loss.detach().mean())
        return loss * seen[0]

    with pytest.raises(ClippingError, match="carry nothing over"):
        Clipper(linear(4, 1, bias=False)(), losses).check(apart(), UNITS, BOUND)


class Moved(nn.Module):
    """A change of its input, drawn anew at every step."""

    def __init__(self, change):
        super().__init__()
        self.inner, self.head, self.change = nn.Linear(4, 6), nn.Linear(6, 1), change

    def forward(self, x):
        return self.head(self.change(torch.tanh(self.inner(x))))


RANDOM = {
    "dropout": nn.Dropout(0.5),
    "noise": lambda x: x + torch.randn_like(x),
    "erased at random": lambda x: x * (torch.rand_like(x) > 0.3),
    "scaled by unit": lambda x: x * torch.rand(len(x), 1),
    "flipped at times": lambda x: x.flip(1) if torch.rand(()) < 0.5 else x,
    "scaled as a whole": lambda x: x * torch.randn(()),
    "heavy tails": lambda x: x * torch.randn_like(x) / torch.randn_like(x),
    "slopes": nn.RReLU(),
    "counts": lambda x: torch.poisson(20 * x.exp()),
    "counts of thirty": lambda x: torch.binomial(torch.full_like(x, 30), x.detach().sigmoid()),
    "gamma": lambda x: Gamma(x.exp(), torch.ones(())).rsample(),
    "shares": lambda x: Dirichlet(x.exp()).rsample(),
}


@pytest.mark.parametrize("name", RANDOM)
def test_randomness_that_is_each_units_own_raises_no_alarm(name):
    torch.manual_seed(0)
    net, batch = Moved(RANDOM[name]), (torch.randn(UNITS, 4), torch.ones(UNITS))
    for seed in range(6):
        Clipper(net, plain).check(batch, UNITS, BOUND, seed=seed)


def test_a_check_from_one_seed_does_the_same_again():
    def seen_from(seed):
        seen = []

        def losses(net, batch):
            seen.append((batch[0].clone(), torch.get_rng_state()))
            return plain(net, batch)

        Clipper(Moved(RANDOM["noise"]), losses).check(
            (torch.randn(UNITS, 4), torch.ones(UNITS)), UNITS, BOUND, seed=seed
        )
        return seen

    def from_one_model(seed):
        torch.manual_seed(0)
        return seen_from(seed)

    first, again, other = from_one_model(5), from_one_model(5), from_one_model(6)
    assert len(first) == len(again) > 20
    assert all(
        torch.equal(*pair) for run, same in zip(first, again, strict=True) for pair in zip(run, same, strict=True)
    )
    assert not all(torch.equal(run[0], same[0]) for run, same in zip(first, other, strict=True))
    assert len({state.numpy().tobytes() for _, state in first}) > 10  # what happens at random is met at several draws
