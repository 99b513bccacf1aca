"""How processes join into one run: the team of this process, and a journal that one of them writes and all of them know.

The leader holds the file. The others hold a copy of its chain in memory: a line is appended there once the leader has forced
it to disk, and gets the same hash.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DataParallel, DistributedDataParallel

from renyi.ledger import Entry
from renyi.ledger.journal import BEGINNING, entries
from renyi.training.errors import TrainingError
from renyi.training.feeding.loading import Loader
from renyi.training.parallel.team import Team
from renyi.training.parallel.weights import Weights
from renyi.training.parallel.workers import Workers
from renyi.training.planning.plan import Plan
from renyi.training.randomness.stream import Reader
from renyi.training.recording.opening import Opening
from renyi.training.recording.record import Record

PROBED = 4
"""Units that are compared between processes: one would do to see that a dataset was split among them."""


def team_here() -> Team:
    """All processes of ``torch.distributed``, if there are several; else this one by itself."""
    if _joined() > 1:
        return Workers()
    expect_announced(1)
    return Team()


def expect_announced(size: int) -> None:
    """Refuse a world of another size than that of the team: some of its processes would train beside the run."""
    world = _joined() or int(os.environ.get("WORLD_SIZE", "1") or 1)
    if world == size:
        return
    if _joined():
        raise TrainingError(
            f"this run began with {size} process{'es' * (size > 1)}, and the world size is {world} now: the others would draw "
            "batches and noise of their own. Call init_process_group before the run is made, and destroy it after run.close()."
        )
    raise TrainingError(
        f"this process is one of {world} (world size), but they were not joined: each would draw its own batches and noise, "
        "and the recorded guarantee would hold for none. Call torch.distributed.init_process_group() first."
    )


def expect_alone(what: str) -> None:
    """Refuse what several processes cannot do together."""
    if _joined() > 1:
        raise TrainingError(
            f"{what} trains in one process, and this is one of {_joined()} (world size): each would draw numbers of its own. "
            "Run it before init_process_group, or in a script without torchrun."
        )
    expect_announced(1)


def expect_bare(model: nn.Module) -> None:
    """Refuse the wrappers that reduce gradients by themselves: the run adds up clipped sums instead."""
    if isinstance(model, (DataParallel, DistributedDataParallel)):
        raise TrainingError(
            f"the model is wrapped in {type(model).__name__}, which averages gradients that are not clipped yet. Give the "
            "run the bare module, model.module: run.step adds up the clipped sums over all processes itself."
        )
    if any("FullyShardedDataParallel" in [kind.__name__ for kind in type(part).__mro__] for part in model.modules()):
        raise TrainingError(
            "the model is wrapped in FullyShardedDataParallel, which flattens parameters into one, so that no clip bound could "
            "name them. Shard it with torch.distributed.fsdp.fully_shard(module): the run adds up and noises its shards."
        )


def weights_of(model: nn.Module, team: Team) -> Weights:
    """The weights of a model: whole in every process, or divided by ``fully_shard``, as the model came."""
    sharding = sys.modules.get("torch.distributed.tensor")  # loading it takes a second; without it nothing was divided
    if sharding is None or not any(isinstance(parameter, sharding.DTensor) for parameter in model.parameters()):
        return Weights(model, team)
    from renyi.training.parallel.shards import Shards

    return Shards(model, team)


@dataclass(slots=True)
class Copy:
    """The chain of a journal that another process writes, in memory."""

    path: Path
    head: str = BEGINNING
    length: int = 0
    torn: int = 0

    def __len__(self) -> int:
        return self.length

    def append(self, payload: dict[str, Any]) -> Entry:
        """The entry that the leader has written."""
        entry = Entry.following(self.length, self.head, payload)
        self.head, self.length = entry.hash, self.length + 1
        return entry

    def close(self) -> None:
        """There is nothing to release."""


def opened_together(team: Team, journal: str | os.PathLike[str], opened: Callable[[], Opening]) -> Opening:
    """What ``opened`` returns, in a team of one; otherwise the leader's opening, of which the others hold a copy."""
    if team.size == 1:
        return opened()
    made: list[Opening] = []

    def lead() -> bytes:
        made.append(opened())
        return _packed(made[0])

    told = team.led(lead)
    return made[0] if made else _unpacked(told, Path(journal))


def _packed(opening: Opening) -> bytes:
    """Everything that the others need of an opening: the lines so far, and the checkpoint."""
    held = len(opening.journal)
    payloads = [entry.payload for entry in entries(opening.journal.path)] if held else []
    file = io.BytesIO()
    torch.save({"lines": json.dumps(payloads), "torn": opening.journal.torn, "checkpoint": opening.checkpoint}, file)
    return file.getvalue()


def _unpacked(told: bytes, path: Path) -> Opening:
    # weights_only: what comes over the network need not be believed to run code.
    values = torch.load(io.BytesIO(told), weights_only=True, map_location="cpu")
    copy, record = Copy(path, torn=values["torn"]), Record()
    for payload in json.loads(values["lines"]):
        record.add(copy.append(payload))
    return Opening(copy, record, values["checkpoint"])


def expect_alike(team: Team, loader: Loader, key: bytes, physical_batch: int, step: int) -> None:
    """Processes that share draws hold the same dataset, whole, and cut it into chunks of the same size."""
    if team.size == 1:
        return
    with team.reporting():
        words = Reader(key).numbers(PROBED if loader.units else 0)
        found = loader.digest((words % np.uint64(max(loader.units, 1))).astype(np.int64))
    with team.meeting(dataset=found, physical_batch=physical_batch, step=step):
        pass


def _joined() -> int:
    """How many processes ``torch.distributed`` has joined; 0 if it has not begun."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 0


def of_run(team: Team, plan: Plan, model: nn.Module, groups: object) -> object:
    """What all processes must have in common before any of them sends a tensor to another."""
    if team.size == 1:
        return None
    tensors = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    shapes = [
        (name, tuple(t.shape), t.dtype, t.requires_grad, getattr(t, "placements", "whole"))
        for name, t in tensors.items()
    ]
    return (version("renyi"), source(), torch.__version__, plan.hash, shapes, groups)


def source() -> bytes:
    """A digest of the code that trains: versions alone do not tell an edited copy from another."""
    files = sorted(Path(__file__).parents[1].rglob("*.py"))
    return hashlib.blake2b(b"".join(path.read_bytes() for path in files), digest_size=16).digest()
