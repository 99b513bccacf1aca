"""The one place where noise is drawn, an event is recorded and the optimizer steps.

Nothing else in the package calls ``rounded`` or ``round_in_place``, appends a release to the journal, or calls
``optimizer.step``, so they cannot disagree about the bound, the noise, the normaliser or the count. The line is on disk before
noise exists: a crash at any statement leaves the journal with at least as many releases as there were.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Mapping
from typing import Any

import torch

from renyi.errors import InvalidInput
from renyi.ledger import Entry
from renyi.ledger.signals import undisturbed
from renyi.training.checks.guard import OptimizerGuard
from renyi.training.errors import TrainingError
from renyi.training.parallel.team import Team
from renyi.training.parallel.weights import Weights
from renyi.training.planning.clip import AdaptiveClip
from renyi.training.planning.plan import Plan
from renyi.training.randomness.entropy import Keys
from renyi.training.randomness.noise import grid_of, round_in_place, rounded
from renyi.training.recording import record as lines
from renyi.training.recording.opening import Opening


class Releaser:
    """Owns the journal, the keys, the optimizer guard and the clip bound of the next step."""

    def __init__(
        self,
        plan: Plan,
        weights: Weights,
        optimizer: torch.optim.Optimizer,
        *,
        opening: Opening,
        keys: Keys,
        team: Team,
    ) -> None:
        self._plan = plan
        self._plan_hash = plan.hash
        self._weights = weights
        self._optimizer = optimizer
        self._guard = OptimizerGuard(optimizer, weights.trainable())
        self._rates: list[Any] = [group.get("lr") for group in optimizer.param_groups]
        if plan.learning_rate_schedule is not None and None in self._rates:
            raise InvalidInput(
                f"the plan has a learning_rate_schedule, but {type(optimizer).__name__} has parameters without a learning rate "
                '("lr"). Take the schedule out of the plan, or use an optimizer that has one.'
            )
        self._scheduled: list[float] | None = None
        self._told_of_schedule = False
        self._keys = keys
        self._team = team
        self._turn = threading.Lock()
        self.journal = opening.journal
        self.record = opening.record
        self.bound = opening.bound(plan)

    def note(self, line: dict[str, Any]) -> None:
        """Append a line that is not a release."""
        with undisturbed():
            self._write(line)

    def release(self, sums: Mapping[str, torch.Tensor], halves: float, **facts: object) -> None:
        """Record one step, add its noise to the clipped sums, and let the optimizer take it.

        ``halves`` is the sum of +1/2 for each unit inside the bound and -1/2 for each outside; only adaptive clipping uses it.
        ``facts`` are what all processes must have in common at this step.
        Interrupts wait until the step is complete: journal, record, bound and weights then agree, and the run can continue.
        """
        with undisturbed():
            if not self._turn.acquire(blocking=False):
                raise TrainingError("this run is releasing a step in another thread. A run belongs to one thread.")
            try:
                self._release(sums, halves, facts)
            finally:
                self._turn.release()

    def _release(self, sums: Mapping[str, torch.Tensor], halves: float, facts: Mapping[str, object]) -> None:
        plan, step, bound = self._plan, self.record.steps, self.bound
        with self._team.reporting():
            self.expect_open()
            self._guard.expect_ready()
            self._tell_second_schedule()
            line = lines.released(plan, self._plan_hash, step, bound=bound)
        # Record first: from here on the step is charged, whatever happens to it.
        self._write(line, **facts)
        deviation, grid = line["noise_deviation"], line["grid"]
        # From here on this process has to do with the part of each sum that it steps; noise belongs to the place in the whole.
        parts = self._weights.added_up({name: value.contiguous() for name, value in sums.items()})
        values, firsts = [part.sums for part in parts.values()], [part.first for part in parts.values()]
        keys = [self._keys.key("noise", step, name) for name in parts]
        round_in_place(values, deviation=deviation, grid=grid, keys=keys, firsts=firsts)
        torch._foreach_div_(values, plan.expected_batch)
        if isinstance(plan.clip, AdaptiveClip):
            count = torch.tensor([halves], dtype=torch.float64)
            self._team.add_up([count])
            spread = 0.5 * plan.clip.count_noise_multiplier
            noisy = rounded(count, deviation=spread, grid=grid_of(spread, 0.5), key=self._keys.key("count", step))
            self.bound = plan.clip.followed(bound, float(noisy), plan.expected_batch)
        if plan.learning_rate_schedule is not None:
            for group, rate in zip(self._optimizer.param_groups, self._rates, strict=True):
                group["lr"] = rate * plan.learning_rate_schedule.at(step)
            self._scheduled = [group["lr"] for group in self._optimizer.param_groups]
        with self._guard.stepping({name: self._weights.gradient(name, part.sums) for name, part in parts.items()}):
            self._optimizer.step()

    def _write(self, line: dict[str, Any], **facts: object) -> None:
        """Append a line that every process has, once all are ready; it is on disk before any of them goes on."""
        with self._team.meeting(line=line, **facts):
            pass
        written: list[Entry] = []

        def lead() -> bytes:
            written.append(self.journal.append(line))
            return b""

        self._team.led(lead)
        self.record.add(written[0] if written else self.journal.append(line))

    def _tell_second_schedule(self) -> None:
        """Warn, once, if somebody else sets the learning rates that the plan's schedule sets."""
        if self._scheduled is None or self._told_of_schedule:
            return
        if self._scheduled != [group["lr"] for group in self._optimizer.param_groups]:
            self._told_of_schedule = True
            warnings.warn(
                "the learning rate was changed after a step, by a torch scheduler perhaps, but the plan has a "
                "learning_rate_schedule, which overrules it at every step. Take one of the two out.",
                stacklevel=2,
            )

    def expect_open(self) -> None:
        """Refuse to go beyond the plan, or to continue after a stop."""
        if self.record.stopped:
            raise TrainingError(
                "this run was stopped; its record is closed. A further run needs its own plan and journal, and costs "
                "extra."
            )
        if self.record.steps >= self._plan.steps:
            raise TrainingError(
                f"all {self._plan.steps} planned steps have been released. A further run needs its own plan and "
                "journal, and costs extra."
            )
        if torch.compiler.is_compiling():
            raise TrainingError(
                "run.step must not be compiled: the noise would be frozen into the graph. Compile the model instead."
            )

    def expect_ready(self) -> None:
        """Check that the optimizer still holds what is clipped, nothing was frozen, and nobody else wrote a gradient."""
        self._guard.expect_ready()

    def close(self) -> None:
        """Release the optimizer, which may then be used directly again."""
        self._guard.close()
