"""The runs of a search, one after another, of which only the best so far is kept."""

from __future__ import annotations

import inspect
import math
import random
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from renyi.errors import InvalidInput
from renyi.training.errors import TrainingError
from renyi.training.feeding.placing import Losses
from renyi.training.planning.plan import Plan
from renyi.training.randomness.chance import Chance
from renyi.training.run import Run

Build = Callable[[Any], tuple[nn.Module, torch.optim.Optimizer]]
Score = Callable[[nn.Module], float]

FEEDING = frozenset(inspect.signature(Run.batches).parameters) - {"self", "dataset", "steps"}
"""What ``Run.batches`` may be told; a run of a search always takes all steps of its plan."""


@dataclass(frozen=True, slots=True)
class Winner:
    """The best run so far: its candidate's number, its model and score, what its journal assumes, and its rank."""

    candidate: int
    model: nn.Module
    score: float
    assumed: tuple[str, ...]
    rank: tuple[float, int]


@dataclass(frozen=True, slots=True)
class Contest:
    """What all runs are made of. ``plans`` are those of the candidates, by number."""

    candidates: tuple[Any, ...]
    plans: tuple[Plan, ...]
    build: Build
    losses: Losses
    score: Score
    data: Any
    feeding: Mapping[str, Any]
    _trained: list[weakref.ref[nn.Parameter]] = field(default_factory=list, init=False, repr=False)
    """The parameters of earlier runs that somebody still holds."""

    def __post_init__(self) -> None:
        if not self.candidates:
            raise InvalidInput("a search needs at least one candidate.")
        for name in ("build", "losses", "score"):
            if not callable(value := getattr(self, name)):
                raise InvalidInput(f"{name} must be a function; got {value!r}.")
        if unknown := self.feeding.keys() - FEEDING:
            raise InvalidInput(
                f"the runs of a search take no {', '.join(sorted(unknown))}; what Run.batches knows is possible: "
                f"{', '.join(sorted(FEEDING))}."
            )

    def rehearse(self, *, scoring: bool) -> None:
        """Build and open a run of every candidate, and score a model that has learnt nothing, before anything is charged.

        Mistakes show themselves here, where they may be seen and cost nothing. ``scoring`` is left out where a score costs
        privacy.
        """
        for number in (*range(len(self.candidates)), 0):  # the first one twice: it must be made anew
            with self._opened(number, Chance()) as (model, run):
                run.batches(self.data, **self.feeding)
                run.close()
                if scoring and not number:
                    _number(self.score(model))

    def best(self, count: int, chance: Chance) -> Winner | None:
        """The best of so many runs; each trains a candidate that is drawn anew."""
        best: Winner | None = None
        for _ in range(count):
            run = self._run(chance.below(len(self.candidates)), chance)
            if best is None or run.rank > best.rank:
                best = run
            del run  # a loser's model is gone before the next one is made
        return best

    def _run(self, number: int, chance: Chance) -> Winner:
        with self._opened(number, chance) as (model, run):
            for batch in run.batches(self.data, **self.feeding):
                run.step(batch)
            if run.steps < run.plan.steps:
                raise TrainingError(f"a run of the search ended after {run.steps} of {run.plan.steps} steps.")
            run.close()
            score = _number(self.score(model))
            return Winner(number, model, score, run.record.assumed()[:-1], rank_of(score, chance))

    @contextmanager
    def _opened(self, number: int, chance: Chance) -> Iterator[tuple[nn.Module, Run]]:
        """A new run of a candidate, with random numbers of its own; its journal is gone afterwards."""
        with ExitStack() as stack:
            stack.enter_context(_other_numbers(chance))
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="renyi-"))
            model, optimizer = self._built(number)
            journal = Path(folder) / "run.jsonl"
            run = stack.enter_context(Run(self.plans[number], model, optimizer, self.losses, journal=journal))
            yield model, run

    def _built(self, number: int) -> tuple[nn.Module, torch.optim.Optimizer]:
        built = self.build(self.candidates[number])
        if not isinstance(built, tuple) or len(built) != 2 or not isinstance(built[0], nn.Module):
            raise InvalidInput(
                f"build(candidate) must return a new model and its optimizer, as a pair; got {type(built).__name__}."
            )
        trained = [parameter for parameter in built[0].parameters() if parameter.requires_grad]
        alive = {id(parameter) for reference in self._trained if (parameter := reference()) is not None}
        if any(id(parameter) in alive for parameter in trained):
            raise TrainingError(
                "build(candidate) returned parameters that an earlier run of the search has trained. A run that begins where "
                "another ended is not one of several alike, and would overwrite it: make a new model at every call."
            )
        self._trained[:] = [
            *(reference for reference in self._trained if reference() is not None),
            *map(weakref.ref, trained),
        ]
        return built


def rank_of(score: float, chance: Chance) -> tuple[float, int]:
    """What runs are compared by: NaN is the lowest score, and among equal scores each is as likely to win."""
    return (-math.inf if math.isnan(score) else score, chance.bits())


@contextmanager
def _other_numbers(chance: Chance) -> Iterator[None]:
    """Fresh seeds for the generators of torch, NumPy and Python, so that runs are alike; afterwards they are as they were.

    Where they stand after a search would tell how many runs there were.
    """
    python, numpy = random.getstate(), np.random.get_state()
    with torch.random.fork_rng():
        try:
            torch.manual_seed(chance.below(1 << 63))
            random.seed(chance.bits())
            np.random.seed(chance.below(1 << 32))
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)


def _number(score: object) -> float:
    """A score as a float; infinities and NaN, of a run that diverged, are scores too."""
    try:
        if isinstance(score, str):
            raise TypeError
        return float(score)  # type: ignore[arg-type]
    except (TypeError, ValueError, RuntimeError, OverflowError):
        raise InvalidInput(
            f"score(model) must return a number, the higher the better; got {type(score).__name__}."
        ) from None
