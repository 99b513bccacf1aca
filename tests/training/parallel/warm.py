"""A step of training, made when this is imported: what torch loads at its first step is then in every process forked later."""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch
import torch.distributed as dist  # noqa: F401
import torch.distributed.fsdp
import torch.distributed.tensor.parallel

from tests.training.support import run, train

torch.set_num_threads(1)
with tempfile.TemporaryDirectory() as folder:
    made = train(run(Path(folder)), steps=1)
    made.save(Path(folder) / "run.pt")
    made.close()
