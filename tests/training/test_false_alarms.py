"""A small part of the campaign: honest models that users train raise no alarm, and weak couplings do.

The whole is ``make false-alarms``; its result is docs/false-alarms.json.
"""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.utils.data import TensorDataset

from renyi import Poisson
from tests.training import false_alarm_campaign as campaign
from tests.training import families
from tests.training.families import FAMILIES, PRECISIONS
from tests.training.support import run, train

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")


@pytest.mark.parametrize("number", range(len(FAMILIES) + 1))
@pytest.mark.parametrize("precision", range(len(PRECISIONS)))
def test_an_honest_model_raises_no_alarm(number, precision):
    seed = 10**6 * 42 + number + precision * (len(FAMILIES) + 1)
    family, found, alarm = campaign.honest_look(seed)
    assert alarm is None
    assert found in PRECISIONS
    assert family in {*FAMILIES, "padded"}


def test_the_small_part_has_every_family_in_every_precision():
    seeds = [10**6 * 42 + number for number in range(len(PRECISIONS) * (len(FAMILIES) + 1))]
    names = [*FAMILIES, "padded"]
    seen = {(names[seed % len(names)], PRECISIONS[seed // len(names) % len(PRECISIONS)]) for seed in seeds}
    assert len(seen) == len(seeds)


@pytest.mark.parametrize("seed", range(7))
def test_a_coupling_that_moves_a_gradient_by_a_hundredth_is_caught(monkeypatch, seed):
    monkeypatch.setattr(campaign, "STRONGEST", 0.015)
    kind, _, moved, caught = campaign.planted_look(seed)
    assert moved >= campaign.WEAKEST
    assert caught, kind


@pytest.mark.parametrize("kind", [families.gpt2, families.bert])
def test_transformers_train_with_dropout_at_any_length(tmp_path, kind):
    """Lengths that the number of tried units divides: the forward pass is repeated, with the same dropout masks."""
    torch.manual_seed(0)
    net = kind().train()
    data = TensorDataset(torch.randint(0, families.WORDS, (24, 16)))

    def losses(model, batch):
        logits = model(input_ids=batch[0]).logits
        return nn.functional.cross_entropy(logits.transpose(1, 2), batch[0], reduction="none").mean(1)

    made = run(tmp_path, net=net, loss=losses, sampling=Poisson(1.0), steps=2)
    train(made, data, physical_batch=8)
    assert made.steps == 2
    assert made.method().clipping == "rules"
    made.close()


class Kinked(nn.Module):
    """A kink that every batch of one unit rounds to the other side: what some kernels do to some units, done to all."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 4, bias=False), nn.Linear(4, 2)
        nn.init.ones_(self.first.weight)

    def forward(self, x):
        x = self.first(x)
        rounding = 1e-6 if len(x) == 1 and x.dtype == torch.float32 else 0.0
        return self.second(torch.where(x.detach() + rounding > 0, x, 0.0))


def test_kinks_that_rounding_flips_are_decided_in_float64(tmp_path):
    torch.manual_seed(0)
    x = torch.randn(24, 6)
    x[:, 5] -= x.sum(1) + 1e-7  # a little below the kink
    made = run(tmp_path, net=Kinked(), loss=families.classified, sampling=Poisson(1.0), steps=4)
    train(made, TensorDataset(x, torch.arange(24) % 2), physical_batch=8)
    assert made.steps == 4
    found = made.method()
    assert found.doubts > 0
    assert found.unexamined == ()
    made.close()


def test_a_gradient_that_is_zero_raises_no_alarm(tmp_path):
    """A blank image and a layer without bias, and huge numbers that are classified beyond doubt.

    What underflow may have lost is added to their norms, in the second case multiplied by the huge numbers.
    """
    x = torch.randn(6, 2000)
    x[0], x[1] = 0.0, 1e17
    net = nn.Linear(2000, 2, bias=False)
    labels = net(x).argmax(1)
    made = run(tmp_path, net=net, loss=families.classified, sampling=Poisson(1.0), steps=2)
    train(made, TensorDataset(x, labels), physical_batch=6)
    assert made.steps == 2
    made.close()
