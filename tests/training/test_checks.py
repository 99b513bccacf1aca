"""Coupling between units is found when it starts, and where padding is what couples them."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from renyi import Poisson
from renyi.training import LeakError, seeded
from renyi.training.clipping.fallback import Fallback
from tests.training.support import dataset, losses, run, train


class Centred(nn.Module):
    """Subtracts the mean of the batch once ``on``."""

    def __init__(self, *, on=True):
        super().__init__()
        self.inner = nn.Linear(4, 2)
        self.on = on

    def forward(self, x):
        return self.inner(x - x.mean(0) if self.on else x)


def test_a_first_batch_of_one_unit_does_not_spend_the_check(tmp_path):
    made = run(tmp_path, net=Centred(), sampling=Poisson(1.0))
    tickets = iter(made.batches(dataset(1)))
    made.step(next(tickets))
    with pytest.raises(LeakError, match="see each other"):
        train(made, steps=1)
    assert made.steps == 1
    made.close()


@pytest.mark.parametrize("calm", [1, 2, 5])
def test_coupling_that_starts_later_is_found_at_once_if_it_calls_something_new(tmp_path, calm):
    net = Centred(on=False)
    made = run(tmp_path, net=net, sampling=Poisson(1.0), steps=40, keys=seeded(1))
    train(made, steps=calm)
    net.on = True
    with pytest.raises(LeakError, match="see each other"):
        train(made)
    assert made.steps == calm
    made.close()


class Rolled(nn.Module):
    """Adds a neighbour: of the features, or of the batch once ``on``. The functions are the same."""

    def __init__(self):
        super().__init__()
        self.inner, self.on = nn.Linear(4, 2), False

    def forward(self, x):
        return self.inner(x + x.roll(1, 0 if self.on else 1))


@pytest.mark.parametrize("calm", [1, 2, 5])
def test_coupling_by_the_same_functions_is_found_at_the_next_power_of_two(tmp_path, calm):
    net = Rolled()
    made = run(tmp_path, net=net, sampling=Poisson(1.0), steps=40, keys=seeded(1))
    train(made, steps=calm)
    net.on = True
    with pytest.raises(LeakError, match="see each other"):
        train(made)
    assert made.steps + 1 == 1 << calm.bit_length()
    made.close()


def median(value):
    return value * (value > value.median())


def detached_mean(value):
    return value * value.detach().mean()


def other_axis(value):
    return value - 0.1 * value.mean(0)


@pytest.mark.parametrize("change", [median, detached_mean, other_axis])
@pytest.mark.parametrize("booked", [True, False], ids=["rules", "fallback"])
def test_mining_that_starts_late_is_found_when_it_starts(tmp_path, change, booked):
    """From release 10 of 15, between two looks: what the loss calls is new at that step."""

    def mining(net, batch):
        value = losses(net, batch).unsqueeze(1).mean(1)
        return change(value) if made.steps >= 9 else value

    made = run(tmp_path, loss=mining, sampling=Poisson(1.0), steps=15)
    if not booked:
        made._clipper._fallback = Fallback(made.net)
    with pytest.raises(LeakError):
        train(made, physical_batch=60)
    assert made.steps == 9
    assert made.guarantee().epsilon.upper == float("inf")
    made.close()


class Lengths(torch.utils.data.Dataset):
    """Sequences that are as long as their batch is made."""

    def __len__(self):
        return 40

    def __getitem__(self, row):
        return torch.full((4,), row / 40)


def test_sizes_alone_are_no_reason_to_look(tmp_path):
    looks, sizes = [], []

    def of_any_length(net, batch):
        x = batch.repeat(1, 1 + made.steps).view(len(batch), -1, 4)
        sizes.append(x.shape[1])
        return net(x).square().sum(2).mean(1).view(len(batch), 1).expand(-1, 1 + made.steps).sum(1)

    made = run(tmp_path, loss=of_any_length, sampling=Poisson(1.0), steps=20)
    real = made._looks._at
    made._looks._at = lambda ticket: (looks.append(made.steps + 1), real(ticket))
    train(made, Lengths(), physical_batch=40)
    assert len(set(sizes)) == 20
    assert looks == [1, 2, 4, 8, 16]
    made.close()


def test_looks_come_at_powers_of_two_and_while_batches_are_small(tmp_path):
    made = run(tmp_path, sampling=Poisson(1.0), steps=20)
    looks = []
    real = made._looks._at
    made._looks._at = lambda ticket: (looks.append((made.steps + 1, ticket.units)), real(ticket))
    for people in (1, 2, 2, 3, 3, 6):
        train(made, dataset(people), steps=1)
    train(made)
    assert looks == [(1, 1), (2, 2), (4, 3), (6, 6), (8, 7), (16, 7)]
    made.close()


def per_row(net, batch):
    (x, y), _ = batch
    return nn.functional.cross_entropy(net(x).flatten(0, 1), y.flatten(), reduction="none").reshape(y.shape)


def ignoring(net, batch):
    return per_row(net, batch).mean(1)


def heeding(net, batch):
    return (per_row(net, batch) * batch.present).sum(1) / batch.present.sum(1)


@pytest.mark.parametrize(
    "owners", [[0] * 3 + [1] * 20 + [2] * 37, [row // 2 for row in range(60)]], ids=["few", "even"]
)
def test_a_loss_that_ignores_present_is_refused(tmp_path, owners):
    made = run(tmp_path, loss=ignoring, unit="person", sampling=Poisson(1.0))
    with pytest.raises(LeakError, match="Multiply by present"):
        made.step(next(iter(made.batches(dataset(), owners=owners))))
    assert made.steps == 0
    made.close()
    fine = run(tmp_path, loss=heeding, unit="person", sampling=Poisson(1.0), name="fine.jsonl")
    fine.step(next(iter(fine.batches(dataset(), owners=owners))))
    assert fine.steps == 1
    fine.close()


def test_views_are_never_filled_up_so_a_plain_mean_will_do(tmp_path):
    made = run(tmp_path, loss=ignoring, sampling=Poisson(1.0))
    made.step(next(iter(made.batches(dataset(), views=2))))
    assert made.steps == 1
    made.close()


class Sentences(torch.utils.data.Dataset):
    """Sequences of different lengths, each a few vectors."""

    def __init__(self, seed=0):
        generator = torch.Generator().manual_seed(seed)
        self.rows = [torch.randn(1 + 3 * (i % 5), 4, generator=generator) for i in range(20)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, row):
        return self.rows[row]


def padded(items):
    return torch.nn.utils.rnn.pad_sequence(items, batch_first=True), torch.tensor([len(item) for item in items])


def over_everything(net, batch):
    x, _ = batch
    return net(x).square().sum(-1).mean(1)


def over_its_own(net, batch):
    x, lengths = batch
    mask = torch.arange(x.shape[1])[None] < lengths[:, None]
    return (net(x).square().sum(-1) * mask).sum(1) / mask.sum(1)


@pytest.mark.parametrize("workers", [0, pytest.param(1, marks=pytest.mark.filterwarnings("ignore:This process"))])
def test_a_mean_over_padding_to_the_longest_is_refused(tmp_path, workers):
    made = run(tmp_path, loss=over_everything, sampling=Poisson(1.0))
    with pytest.raises(LeakError, match="how its neighbours are padded"):
        made.step(next(iter(made.batches(Sentences(), collate=padded, num_workers=workers))))
    made.close()


def test_padding_that_is_masked_is_fine_and_dropout_does_not_confuse_the_check(tmp_path):
    for number, net in enumerate((None, nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2)))):
        made = run(tmp_path, net=net, loss=over_its_own, sampling=Poisson(1.0), name=f"{number}.jsonl")
        tickets = made.batches(Sentences(), collate=padded, steps=2)
        for batch in tickets:
            state = torch.get_rng_state()
            made.step(batch)
            assert torch.equal(state, torch.get_rng_state()) == (number == 0)  # dropout draws, the checks do not
        assert made.steps == 2
        made.close()


def a_little_of_everything(net, batch):
    return over_its_own(net, batch) + 0.01 * over_everything(net, batch)


def in_the_gradient(net, batch):
    loss = over_everything(net, batch)
    return loss - loss.detach()


def at_random(net, batch):
    return over_everything(net, batch) * (0.5 + torch.rand(len(batch[0])))


@pytest.mark.parametrize("loss", [a_little_of_everything, in_the_gradient, at_random])
def test_padding_that_hides_is_refused(tmp_path, loss):
    """A hundredth of the loss, the gradient behind a constant value, and a random loss."""
    net = nn.Linear(4, 2, bias=False)
    made = run(tmp_path, net=net, loss=loss, sampling=Poisson(1.0))
    with pytest.raises(LeakError, match="how its neighbours are padded"):
        made.step(next(iter(made.batches(Sentences(), collate=padded))))
    made.close()


class Attending(nn.Module):
    """Attention that leaves the padding out, and a mean that does."""

    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(4, 2, 16, dropout=0.1, batch_first=True)

    def forward(self, x, mask):
        return self.layer(x, src_key_padding_mask=~mask)


def attending(net, batch):
    x, lengths = batch
    mask = torch.arange(x.shape[1])[None] < lengths[:, None]
    return (net(x, mask).square().sum(-1).float() * mask).sum(1) / mask.sum(1)


def attending_in_half_precision(net, batch):
    with torch.autocast("cpu", torch.bfloat16):
        return attending(net, batch)


@pytest.mark.parametrize("loss", [attending, attending_in_half_precision])
def test_rounding_by_other_kernels_is_no_leak(tmp_path, loss):
    for seed in range(5):
        torch.manual_seed(seed)
        made = run(tmp_path, net=Attending(), loss=loss, sampling=Poisson(1.0), name=f"{seed}.jsonl")
        made.step(next(iter(made.batches(Sentences(seed), collate=padded))))
        made.close()


def losses_of_random_size(net, batch):
    return losses(net, batch) * (1 + torch.rand(()))


def test_a_random_loss_of_one_law_passes(tmp_path):
    made = run(tmp_path, loss=losses_of_random_size, sampling=Poisson(1.0))
    made.step(next(iter(made.batches(dataset(), collate=torch.utils.data.default_collate))))
    assert made.steps == 1
    made.close()
