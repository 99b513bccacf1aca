"""Opening the journal of a run: a new one, or that of a run to be resumed.

On resuming, the journal is authoritative: whatever it records is charged, whether or not the checkpoint knows of it. A
checkpoint is accepted only if the journal holds everything that was recorded when it was saved, so that no release goes
uncharged.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch

from renyi.ledger import Entry, Journal
from renyi.ledger.paths import path_of
from renyi.training.errors import TrainingError
from renyi.training.parallel.weights import Weights
from renyi.training.planning.clip import AdaptiveClip
from renyi.training.planning.plan import Plan
from renyi.training.recording import checkpoint as saved
from renyi.training.recording import record as lines
from renyi.training.recording.findings import Looks
from renyi.training.recording.record import Opened, Record

Checkpoint = str | os.PathLike[str] | dict[str, Any]


class Chain(Protocol):
    """A journal that lines can be appended to: the file, or the copy of a process beside the one that writes it."""

    path: Path
    torn: int

    @property
    def head(self) -> str:
        """The hash of the last line."""
        ...

    def __len__(self) -> int: ...

    def append(self, payload: dict[str, Any]) -> Entry:
        """Append a line; it is returned once it counts."""
        ...

    def close(self) -> None:
        """Release the journal."""
        ...


@dataclass(frozen=True, slots=True)
class Opening:
    """An open journal, its record, and the checkpoint to resume from."""

    journal: Chain
    record: Record
    checkpoint: dict[str, Any] | None = None

    def restore(self, weights: Weights, optimizer: torch.optim.Optimizer, also: Mapping[str, saved.Stateful]) -> None:
        """Load the weights, the optimizer's state and what else was saved from the checkpoint, if there is one."""
        if self.checkpoint is not None:
            saved.restore(self.checkpoint, weights, optimizer, also)

    def bound(self, plan: Plan) -> float:
        """The clip bound of the next step.

        An adaptive bound is the newest one known: that of the checkpoint if it was saved after the last release, else that of
        the last release in the journal.
        """
        if not isinstance(plan.clip, AdaptiveClip) or self.record.bound is None:
            return plan.clip.bound
        if self.checkpoint is not None and self.checkpoint["steps"] == self.record.steps:
            return float(self.checkpoint["bound"])
        return self.record.bound

    def first_line(self, plan: Plan, *, private: bool, looks: Looks, opened: Opened) -> dict[str, Any]:
        """The first line that the run appends."""
        if len(self.journal):
            return lines.resumed(private=private, torn=self.journal.torn, opened=opened)
        return lines.begun(plan, private=private, looks=looks, opened=opened)


def fresh(path: str | os.PathLike[str]) -> Opening:
    """A new journal for a new run."""
    journal = Journal(path)
    if len(journal):
        journal.close()
        raise TrainingError(
            f"the journal {journal.path} already holds a run. Go on with Run.resume(...), or give this run a journal "
            "of its own."
        )
    return Opening(journal, Record())


def reopened(path: str | os.PathLike[str], plan: Plan, checkpoint: Checkpoint | None) -> Opening:
    """The journal of a run that ended or crashed; refused unless the plan and the checkpoint belong to it."""
    if not os.path.exists(path_of(journal=path)):
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
            saved.tell_lost_steps(values, record)
    except BaseException:
        journal.close()
        raise
    return Opening(journal, record, values)
