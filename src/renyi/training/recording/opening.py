"""How a run gets its journal: a new one, or the one it left behind.

On resuming the journal is the truth: whatever it records is charged, whether or not the checkpoint knows of it. A
checkpoint is accepted only if the journal holds everything the checkpoint was saved under, so nobody resumes under a
smaller record.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from renyi.ledger import Entry, Journal
from renyi.training.errors import TrainingError
from renyi.training.planning.clip import AdaptiveClip
from renyi.training.planning.plan import Plan
from renyi.training.recording import checkpoint as saved
from renyi.training.recording import record as lines
from renyi.training.recording.record import Record

Checkpoint = str | os.PathLike[str] | dict[str, Any]


@dataclass(frozen=True, slots=True)
class Opening:
    """A journal held open, what it says, and the checkpoint to go on from."""

    journal: Journal
    record: Record
    checkpoint: dict[str, Any] | None = None

    def restore(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Put the weights and the optimizer's state back, if there is a checkpoint."""
        if self.checkpoint is not None:
            model.load_state_dict(self.checkpoint["model"])
            optimizer.load_state_dict(self.checkpoint["optimizer"])

    def bound(self, plan: Plan) -> float:
        """The clip bound to go on with.

        An adaptive one is the newest that was released: the checkpoint's, or the journal's.
        """
        if not isinstance(plan.clip, AdaptiveClip) or self.record.bound is None:
            return plan.clip.bound
        if self.checkpoint is not None and self.checkpoint["steps"] == self.record.steps:
            return float(self.checkpoint["bound"])
        return self.record.bound

    def first_line(self, plan: Plan, *, private: bool) -> dict[str, Any]:
        """What the run writes before anything else."""
        if len(self.journal):
            return lines.resumed(private=private, torn=self.journal.torn)
        return lines.begun(plan, private=private)


def fresh(path: str | os.PathLike[str]) -> Opening:
    """A journal of its own for a new run."""
    journal = Journal(path)
    if len(journal):
        journal.close()
        raise TrainingError(
            f"the journal {journal.path} already holds a run. Go on with Run.resume(...), or give this run a journal "
            "of its own."
        )
    return Opening(journal, Record())


def reopened(path: str | os.PathLike[str], plan: Plan, checkpoint: Checkpoint | None) -> Opening:
    """The journal of a run that ended or crashed, if plan and checkpoint belong to it."""
    if not Path(path).exists():
        raise TrainingError(f"there is no journal {path} to resume: without it nobody knows what was released.")
    values = None if checkpoint is None else saved.load(checkpoint)
    place = saved.Place.of(values)
    record = Record()

    def each(entry: Entry) -> None:
        record.add(entry)
        place.pass_by(entry)

    journal = Journal(path, each)
    try:
        saved.expect_same_plan(plan, record.plan, "journal")
        if record.stopped:
            raise TrainingError(f"the run of {path} was stopped, and its guarantee given. It cannot go on.")
        if values is not None:
            saved.expect_same_plan(plan, Plan.from_json(values["plan"]), "checkpoint")
            place.expect_passed(journal)
    except BaseException:
        journal.close()
        raise
    return Opening(journal, record, values)
