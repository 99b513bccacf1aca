"""DP-SGD in a Trainer of transformers: python examples/with_hf_trainer.py [--short]

A Trainer draws its own batches and steps by itself, so train() is replaced; evaluating, logging and saving stay as they are.
"""

import sys
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

from renyi import Guarantee, Poisson
from renyi.training import LogTo, Plan, Run

SHORT = "--short" in sys.argv
STEPS, UNITS = (3, 100) if SHORT else (100, 1_000)
FOLDER = Path("with-hf-trainer")
FOLDER.mkdir(exist_ok=True)


def losses(model: nn.Module, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """One loss per text."""
    scores = model(input_ids=batch["input_ids"]).logits
    return nn.functional.cross_entropy(scores, batch["labels"], reduction="none")


class PrivateTrainer(Trainer):
    """A Trainer whose training is a run."""

    def train(self, plan: Plan, journal: Path) -> Guarantee:
        """Train under this plan, and return what it cost."""
        self.model.train()
        optimizer = self.create_optimizer()  # what the arguments ask for: learning rate, weight decay
        log = LogTo(lambda values, step: self.log({**values, "step": step}))  # to whatever report_to names
        with Run(plan, self.model, optimizer, losses, journal=journal, callback=log) as run:
            options = {"collate": self.data_collator, "physical_batch": self.args.per_device_train_batch_size}
            for batch in run.batches(self.train_dataset, **options):
                run.step(batch)
                self.state.global_step = run.steps
            return run.guarantee()


def texts(units: int, seed: int) -> list[dict[str, Any]]:
    """Texts of 12 tokens; the label is whether small ones prevail."""
    tokens = torch.randint(100, (units, 12), generator=torch.Generator().manual_seed(seed))
    return [{"input_ids": each, "labels": int((each < 50).sum() > 6)} for each in tokens]


if __name__ == "__main__":
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    settings = {"learning_rate": 1e-2, "per_device_train_batch_size": 64, "use_cpu": not torch.cuda.is_available()}
    arguments = TrainingArguments(FOLDER, **settings, report_to=[], disable_tqdm=True, dataloader_pin_memory=False)
    model = BertForSequenceClassification(BertConfig(vocab_size=100, **sizes))
    trainer = PrivateTrainer(model, arguments, train_dataset=texts(UNITS, 0), eval_dataset=texts(100, 1))
    plan = Plan(sampling=Poisson(0.1), steps=STEPS, clip=1.0, expected_batch=0.1 * UNITS, epsilon=3.0, delta=1e-5)
    print(trainer.train(plan, FOLDER / "run.jsonl"))
    print(trainer.evaluate())  # on public texts: a loss of private ones carries no noise
    trainer.save_model(str(FOLDER / "model"))
