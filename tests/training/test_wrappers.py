"""What other libraries put around models and optimizers: taken off where nothing is lost, and named where it would train."""

from __future__ import annotations

import pytest
import torch
from accelerate import Accelerator
from torch import nn
from transformers import Trainer, TrainingArguments

from renyi import InvalidInput
from renyi.training import Run, TrainingError, seeded
from tests.training.support import dataset, losses, model, plan, run, train, weights


def test_what_accelerate_prepares_trains_what_it_was_made_from(tmp_path):
    """Its optimizer leaves steps out while gradients accumulate; a release that was recorded is never left out."""
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=4)
    net = model()
    prepared, optimizer = accelerator.prepare(net, torch.optim.SGD(net.parameters(), lr=0.1))
    with Run(plan(), prepared, optimizer, losses, journal=tmp_path / "one.jsonl", keys=seeded(1)) as made:
        with pytest.raises(TrainingError, match="called outside the run"):
            optimizer.optimizer.step()
        train(made)
    other = train(run(tmp_path, name="two.jsonl", keys=seeded(1)))
    assert torch.equal(weights(net), weights(other.net))
    other.close()


class Labelled(nn.Module):
    """A model as a Trainer wants it: its output has the loss."""

    def __init__(self):
        super().__init__()
        self.net = model()

    def forward(self, x, labels):
        return {"loss": nn.functional.cross_entropy(self.net(x), labels)}


@pytest.mark.filterwarnings("ignore")  # of the libraries about themselves
def test_a_trainer_is_stopped_before_its_first_step_and_the_recipe_is_named(tmp_path):
    net = Labelled()
    rows = [{"x": x, "labels": y} for x, y in dataset()]
    options = {"report_to": [], "disable_tqdm": True, "use_cpu": True, "save_strategy": "no", "max_steps": 1}
    trainer = Trainer(net, TrainingArguments(str(tmp_path), **options), train_dataset=rows)
    with pytest.raises(InvalidInput, match=r"docs/recipes\.md"):
        Run(plan(), trainer, torch.optim.SGD(net.parameters(), lr=0.1), losses, journal=tmp_path / "none.jsonl")
    before = weights(net)
    made = run(tmp_path, net=net)
    with pytest.raises(TrainingError, match=r"another optimizer.*docs/recipes\.md"):
        trainer.train()
    assert torch.equal(weights(net), before)
    made.close()
