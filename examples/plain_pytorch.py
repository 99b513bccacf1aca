"""DP-SGD in a plain PyTorch loop: python examples/plain_pytorch.py [--short]

With a learning-rate schedule, averaged weights, bfloat16, and now and then an evaluation and a checkpoint. Interrupt it and
start it again: it goes on from the checkpoint, and everything that the journal holds is charged.
"""

import sys
from functools import partial
from pathlib import Path

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import TensorDataset

from renyi import Poisson
from renyi.training import Plan, Progress, Run

STEPS, EVERY = (12, 6) if "--short" in sys.argv else (300, 50)
FOLDER = Path("plain-pytorch")
FOLDER.mkdir(exist_ok=True)
DIGITS = load_digits()
IMAGES, LABELS = torch.tensor(DIGITS.images / 16, dtype=torch.float32).unsqueeze(1), torch.tensor(DIGITS.target)


def losses(model: nn.Module, batch: list[torch.Tensor]) -> torch.Tensor:
    """One loss per image; the forward pass is in bfloat16, which needs no scaler."""
    images, labels = batch
    with torch.autocast(images.device.type, torch.bfloat16):
        scores = model(images)
    return nn.functional.cross_entropy(scores.float(), labels, reduction="none")


def main(steps: int = STEPS) -> None:
    """Train for so many of the planned steps, and print what they cost."""
    checkpoint, training = FOLDER / "run.pt", TensorDataset(IMAGES[:1400], LABELS[:1400])
    model = nn.Sequential(nn.Conv2d(1, 16, 3), nn.Tanh(), nn.Flatten(), nn.Linear(576, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))
    after = [lambda _: scheduler.step(), lambda _: average.update_parameters(model), Progress()]  # every release
    plan = Plan(sampling=Poisson(0.2), steps=STEPS, clip=1.0, expected_batch=280, epsilon=3.0, delta=1e-4)
    begin = partial(Run.resume, checkpoint=checkpoint) if checkpoint.exists() else Run
    kept = {"scheduler": scheduler, "average": average}  # in the checkpoint, too
    with begin(plan, model, optimizer, losses, journal=FOLDER / "run.jsonl", callback=after, also=kept) as run:
        while run.steps < steps:
            for batch in run.batches(training, physical_batch=256, steps=EVERY):
                run.step(batch)
            run.save(checkpoint)
            with torch.no_grad():  # of images taken to be public: an accuracy on private ones needs noise of its own
                right = average(IMAGES[1400:]).argmax(1) == LABELS[1400:]
            print(f"step {run.steps}: {right.float().mean():.1%} right")
        print(run.guarantee())


if __name__ == "__main__":
    main()
