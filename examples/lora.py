"""Fine-tuning a transformer with LoRA under DP-SGD: python examples/lora.py [--short]

The model is made from a config, so that nothing is downloaded; GPT2LMHeadModel.from_pretrained("gpt2") takes its place.
"""

import random
import sys
from pathlib import Path

import torch
from peft import LoraConfig, get_peft_model
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel

from renyi import Poisson
from renyi.training import Plan, Progress, Run

STEPS, TEXTS = (3, 200) if "--short" in sys.argv else (100, 2_000)
FOLDER = Path("lora")
FOLDER.mkdir(exist_ok=True)
PADDING = -100  # of labels, as cross_entropy ignores it


def texts() -> list[torch.Tensor]:
    """Texts of 5 to 20 tokens: here each counts up from somewhere."""
    choice = random.Random(0)
    return [torch.arange(choice.randint(5, 20)) + choice.randrange(60) for _ in range(TEXTS)]


def collate(items: list[torch.Tensor]) -> dict[str, torch.Tensor]:
    """A batch of texts, each padded by itself: no text depends on another."""
    labels = nn.utils.rnn.pad_sequence(items, batch_first=True, padding_value=PADDING)
    return {"input_ids": labels.clamp(min=0), "attention_mask": (labels >= 0).long(), "labels": labels}


def losses(model: nn.Module, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """One loss per text, the mean over its own tokens. (The loss of the model's output is a mean over the whole batch.)"""
    scores = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits[:, :-1]
    wanted = batch["labels"][:, 1:]
    each = nn.functional.cross_entropy(scores.transpose(1, 2), wanted, reduction="none", ignore_index=PADDING)
    return each.sum(1) / (wanted != PADDING).sum(1)


def main() -> None:
    """Train the adapters, save them, and print what they cost."""
    sizes = {"vocab_size": 100, "n_embd": 32, "n_layer": 2, "n_head": 2, "bos_token_id": 0, "eos_token_id": 0}
    base = GPT2LMHeadModel(GPT2Config(**sizes))
    model = get_peft_model(base, LoraConfig(r=4, target_modules=["c_attn"], fan_in_fan_out=True))
    optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=1e-2)  # the adapters only
    public = {"clip": 0.5, "expected_batch": 0.1 * TEXTS, "epsilon": 3.0, "delta": 1e-5, "unit": "text"}
    plan = Plan(sampling=Poisson(0.1), steps=STEPS, **public)
    with Run(plan, model, optimizer, losses, journal=FOLDER / "run.jsonl", callback=Progress()) as run:
        for batch in run.batches(texts(), physical_batch=64, collate=collate, rows_are_units=True):
            run.step(batch)
        print(run.guarantee())
    model.save_pretrained(str(FOLDER / "adapter"))


if __name__ == "__main__":
    main()
