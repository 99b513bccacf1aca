"""A run on disk: weights, optimizer state, and its place in its journal. No keys: a resumed run has new ones."""

from __future__ import annotations

import os
import pickle
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn

from renyi.ledger import Entry, Journal
from renyi.training.errors import TrainingError
from renyi.training.parallel.weights import Weights
from renyi.training.planning.plan import Plan
from renyi.training.recording.record import Record

FORMAT = "renyi-checkpoint-1"


class Stateful(Protocol):
    """What has a state to be saved: a learning-rate scheduler, averaged weights, a part of the user's own."""

    def state_dict(self) -> Any:
        """The state, as plain values and tensors."""
        ...

    def load_state_dict(self, state_dict: Any, /) -> Any:
        """Take this state."""
        ...


def state(
    plan: Plan,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    also: Mapping[str, Stateful],
    record: Record,
    place: tuple[int, str],
    bound: float,
) -> dict[str, Any]:
    """Everything needed to resume, as plain values and tensors; ``place`` is the journal's length and its head."""
    return {
        "format": FORMAT,
        "plan": plan.to_json(),
        "steps": record.steps,
        "journal": dict(zip(("length", "head"), place, strict=True)),
        "bound": bound,
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "also": {name: part.state_dict() for name, part in also.items()},
    }


def restore(
    values: dict[str, Any], weights: Weights, optimizer: torch.optim.Optimizer, also: Mapping[str, Stateful]
) -> None:
    """Load weights, optimizer and all else that was saved; refused if something asked for was not."""
    saved = values.get("also", {})  # checkpoints of earlier versions have none
    lacking = [name for name in also if name not in saved]
    if lacking:
        raise TrainingError(
            f"the checkpoint holds no state of {', '.join(lacking)}, only of {', '.join(saved) or 'model and optimizer'}. "
            "Save it with the run: Run(..., also={'name': part}). If it shall begin anew, leave it out of also here."
        )
    left = [name for name in saved if name not in also]
    if left:
        warnings.warn(
            f"the checkpoint also holds the state of {', '.join(left)}, which is not restored. To restore it: "
            f"Run.resume(..., also={{{left[0]!r}: ...}}).",
            stacklevel=5,
        )
    weights.load(values["model"], optimizer, values["optimizer"])
    for name, part in also.items():
        part.load_state_dict(saved[name])


def tell_lost_steps(values: dict[str, Any], record: Record) -> None:
    """Warn if the run released more than the checkpoint holds: what those steps learnt is gone, and charged."""
    lost = record.steps - values["steps"]
    if lost > 0:
        warnings.warn(
            f"this checkpoint was saved after {values['steps']} releases, and the journal holds {record.steps}: the updates "
            f"of {lost} step{'s' * (lost > 1)} are lost, and they are charged all the same. The run goes on with "
            f"{record.plan.steps - record.steps} of its {record.plan.steps} planned steps. Give a later checkpoint if "
            "there is one.",
            stacklevel=6,
        )


def write(path: str | os.PathLike[str], values: dict[str, Any]) -> None:
    """Save atomically, readable by the owner only: a crash leaves the old checkpoint or the new one."""
    target = Path(path)
    # A fresh random name each time, so that nobody can have placed a link there.
    with tempfile.NamedTemporaryFile(
        dir=target.parent, prefix=f"{target.name}.", suffix=".partial", delete=False
    ) as file:
        partial = Path(file.name)
        try:
            torch.save(values, file)
            file.flush()
            os.fsync(file.fileno())
            partial.replace(target)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise


def load(source: str | os.PathLike[str] | dict[str, Any]) -> dict[str, Any]:
    """The values of a checkpoint, from a file or from ``run.state_dict()``."""
    values = source if isinstance(source, dict) else _read(source)
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise TrainingError(
            "this is not a checkpoint of a run: it lacks the plan and the journal's place. Weights alone say nothing "
            "of what they cost; save with run.save(path)."
        )
    return values


def _read(path: str | os.PathLike[str]) -> Any:
    try:
        # weights_only: a checkpoint may come from elsewhere, and unpickling it must not run code.
        return torch.load(path, weights_only=True, map_location="cpu")
    except FileNotFoundError:
        raise TrainingError(
            f"there is no checkpoint {path}. Give the path that run.save(path) wrote to; without any, leave "
            "checkpoint out: the model and optimizer then go on as they are given, and what the journal holds is "
            "charged."
        ) from None
    except (OSError, EOFError, RuntimeError, pickle.UnpicklingError) as error:
        raise TrainingError(
            f"the checkpoint {path} cannot be read ({type(error).__name__}): it is not a file that run.save(path) "
            "wrote, or it is damaged."
        ) from error


def expect_same_plan(plan: Plan, recorded: Plan, what: str) -> None:
    """Refuse a plan other than the one the run began with."""
    if plan.hash != recorded.hash:
        mine, theirs = plan.to_dict(), recorded.to_dict()
        changed = [name for name in mine if mine[name] != theirs[name]]
        raise TrainingError(
            f"the {what} was made under another plan: {', '.join(changed)} differ. A run goes on under the plan it "
            "began with; another plan is another run, with its own journal, and costs extra."
        )


class Place:
    """The place in the journal at which a checkpoint was saved: a run cannot be resumed on a journal that lacks it."""

    def __init__(self, length: int, head: str) -> None:
        self._length, self._head = length, head
        self._passed = length == 0

    @classmethod
    def of(cls, values: dict[str, Any] | None) -> Place:
        """The place of a checkpoint; the beginning of the journal if there is none."""
        return cls(0, "") if values is None else cls(values["journal"]["length"], values["journal"]["head"])

    def pass_by(self, entry: Entry) -> None:
        """Take note of one line of the journal."""
        self._passed |= entry.sequence + 1 == self._length and entry.hash == self._head

    def expect_passed(self, journal: Journal) -> None:
        """Refuse a journal that does not contain everything the checkpoint was saved after."""
        if not self._passed:
            raise TrainingError(
                f"the journal {journal.path} does not contain what this checkpoint was saved under: it has {len(journal)} "
                f"lines, the checkpoint knows {self._length}, or its lines are of another run. Releases would go uncharged. "
                "Give the run's own journal, complete."
            )
