"""The audit of one run: many canaries, each among the data or not by a fair coin, and as many coins guessed from the result.

The coins are thrown once, before the run. Poisson draws inside the run are something else: they are a part of the mechanism
whose claim is audited, and would be thrown anew at every step.
"""

from __future__ import annotations

import math
import os
import secrets
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.utils.data import ConcatDataset, Subset, default_collate

from renyi import check
from renyi.errors import InvalidInput, UnsupportedError
from renyi.laws.relation import Adjacency
from renyi.ledger import Ledger, Payer
from renyi.numerics.printing import rounded_down, rounded_up
from renyi.signatures import taught
from renyi.training.auditing.attack import Attack
from renyi.training.auditing.document import NOT_SHOWN, Stamp
from renyi.training.auditing.guessing import Lines, epsilon_lower
from renyi.training.auditing.rates import LARGEST_FACTOR, confidence_of
from renyi.training.auditing.trials import scaled
from renyi.training.clipping.contract import one_per_unit
from renyi.training.planning.plan import Plan
from renyi.training.run import Run

Array = NDArray[np.float64]

SHARES = (1.0, 0.5, 0.2, 0.05)
"""Shares of the canaries whose coins are guessed, those with the most extreme scores: fixed beforehand, and all looked at."""

LEAST_CANARIES = 20
"""Canaries below which not even every guess being right says much."""

_CLOSE = 2.0**-6
"""How closely the factor of the noise is found, relatively, on the safe side: each one that is tried takes dozens of deltas."""


@dataclass(frozen=True, slots=True)
class Guessed:
    """So many coins were guessed, and so many of them rightly."""

    guesses: int
    right: int


@dataclass(frozen=True, slots=True)
class OneRunAudit(Attack):
    """What guessing the coins of one run has shown; ``renyi.training.audit_run`` makes one.

    Everything that is said holds with probability ``confidence``: each number of guesses is a look of its own, and so is each
    of the two theorems.
    """

    plan: Plan
    canaries: int
    guesses: tuple[Guessed, ...]
    confidence: float
    booked: str | None = None
    """The hash of the last line of the journal, if there are real people in the data."""
    stamp: Stamp = field(default_factory=Stamp.now)

    @property
    def refuted(self) -> bool:
        """Whether so many right guesses are impossible under the claimed curve (Mahloujifar, Melis & Chaudhuri 2025)."""
        return _refutes(self.plan, self.guesses, self.canaries, self._doubt)

    def epsilon_lower(self) -> float:
        """No epsilon below this one holds at the plan's delta, whatever the noise (Steinke, Nasr & Jagielski 2023)."""
        return max(
            epsilon_lower(one.guesses, one.right, self.canaries, delta=self.plan.delta, doubt=self._doubt)
            for one in self.guesses
        )

    def factor(self) -> float:
        """Within the claimed family of noise: the noise is at most this many times the claimed one."""
        return _factor(self.plan, self.guesses, self.canaries, self._doubt)

    def words(self) -> str:
        """What was tried, what was found, and what that does not show."""
        guesses = ", ".join(f"{one.right:,} of {one.guesses:,}" for one in self.guesses)
        return (
            f"Attacked: one run of the whole plan on {self._data()}, with {self.canaries:,} inserted examples, each in or out "
            f"by a fair coin thrown before. Of the coins that were guessed, right were: {guesses}. {self._verdict()} (f-DP: "
            f"Mahloujifar, Melis & Chaudhuri 2025), and no epsilon below {rounded_down(self.epsilon_lower())} holds at delta "
            f"{rounded_up(self.plan.delta)} (Steinke, Nasr & Jagielski 2023). Within the claimed family of noise that "
            f"corresponds to epsilon at least {rounded_down(self.epsilon_within_family())}, of the claimed "
            f"{rounded_up(self.claimed())}. {NOT_SHOWN} {self.stamp}"
        )

    def to_dict(self) -> dict[str, Any]:
        """The same for machines."""
        guesses = [asdict(one) for one in self.guesses]
        return self._document(
            "one-run", {"canaries": self.canaries, "guesses": guesses, "epsilon_lower": self.epsilon_lower()}
        )

    @property
    def _doubt(self) -> float:
        """What each look may be wrong with (Bonferroni): every number of guesses, by two theorems."""
        return (1.0 - self.confidence) / (2 * len(self.guesses))


@taught
def audit_run(
    plan: Plan,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    losses: Callable[[nn.Module, Any], torch.Tensor],
    data: Any,
    canaries: Any,
    *,
    made_up: bool,
    confidence: float = 0.99,
    journal: str | os.PathLike[str] | None = None,
    ledger: Ledger | Payer | None = None,
    physical_batch: int = 64,
    collate: Callable[[list[Any]], Any] | None = None,
) -> OneRunAudit:
    """Train once, with some of the ``canaries`` (a dataset of examples) among the data, and guess which from the result.

    Each canary is in by a fair coin of its own. What is guessed from is how much its loss fell from the first weights to the
    last: of the canaries whose loss fell most it is said that they were in, of the others that they were out. ``made_up`` says
    whether nobody is in ``data``. If there are real people, the run is a release like any other: ``journal`` is required, and
    what it costs is ``renyi.training.replay(journal).guarantee()``. What the audit says follows from the trained model and from
    the canaries, and costs nothing beside it. The canaries have shaped the model, too: it is there to be audited.
    """
    if plan.adjacency is not Adjacency.ADD_OR_REMOVE:
        raise UnsupportedError(
            "a coin decides whether a canary is there or not, which makes add-or-remove neighbours; the plan promises for "
            f"{plan.adjacency.value} ones. audit(plan) tries those."
        )
    _expect_booked(made_up, journal, ledger)
    confidence = confidence_of(confidence)
    count = check.whole(LEAST_CANARIES, canaries=len(canaries))
    together = collate or default_collate
    batch = together([canaries[place] for place in range(count)])
    coins = np.unpackbits(np.frombuffer(secrets.token_bytes(-(-count // 8)), dtype=np.uint8))[:count].astype(bool)
    everything: ConcatDataset[Any] = ConcatDataset([data, Subset(canaries, np.flatnonzero(coins).tolist())])
    before = _losses(model, losses, batch, count)
    with tempfile.TemporaryDirectory(prefix="renyi-audit-") as scratch:
        path = Path(scratch) / "run.jsonl" if journal is None else journal
        with Run(plan, model, optimizer, losses, journal=path, ledger=ledger) as run:
            rows = plan.unit != "example"
            for ticket in run.batches(everything, physical_batch=physical_batch, rows_are_units=rows, collate=collate):
                run.step(ticket)
            booked = None if made_up else run.record.head
    fallen = before - _losses(model, losses, batch, count)
    guesses = tuple(judged(fallen, coins, number) for number in numbers(count))
    return OneRunAudit(plan, count, guesses, confidence, booked)


def numbers(canaries: int) -> tuple[int, ...]:
    """How many coins are guessed, in each look."""
    return tuple(
        dict.fromkeys(max(2 * round(0.5 * share * canaries), 2) for share in SHARES if share * canaries >= 2.0)
    )


def judged(scores: Array, coins: NDArray[np.bool_], guesses: int) -> Guessed:
    """Guess that the highest scores are in and the lowest out, half and half; scores that are equal keep their order."""
    order = np.argsort(scores, kind="stable")
    half = guesses // 2
    right = int(np.sum(coins[order[len(order) - half :]])) + int(np.sum(~coins[order[:half]]))
    return Guessed(2 * half, right)


@lru_cache(maxsize=64)
def _refutes(plan: Plan, guesses: tuple[Guessed, ...], canaries: int, doubt: float) -> bool:
    """Whether these guesses are too good for a plan."""
    lines = Lines.of(plan.events(), plan.adjacency)
    return any(lines.refuted(one.guesses, one.right, canaries, doubt) for one in guesses)


def _factor(plan: Plan, guesses: tuple[Guessed, ...], canaries: int, doubt: float) -> float:
    """The factor of the noise from which on the guesses are too good."""
    low, high = 1.0, LARGEST_FACTOR
    if _refutes(plan, guesses, canaries, doubt):
        low, high = 1.0 / LARGEST_FACTOR, 1.0
        if _refutes(scaled(plan, low), guesses, canaries, doubt):  # the noise is below everything that is looked for
            return low
    elif not _refutes(scaled(plan, high), guesses, canaries, doubt):
        return math.inf
    while high > low * (1.0 + _CLOSE):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if _refutes(scaled(plan, middle), guesses, canaries, doubt) else (middle, high)
    return high


def _losses(model: nn.Module, losses: Callable[[nn.Module, Any], torch.Tensor], batch: Any, count: int) -> Array:
    """The loss of every canary at the weights as they are."""
    with torch.no_grad():
        found = one_per_unit(losses(model, batch), count).double().cpu().numpy()
    return np.nan_to_num(found, nan=np.inf)


def _expect_booked(made_up: object, journal: object, ledger: object) -> None:
    if not isinstance(made_up, bool):
        raise InvalidInput(f"made_up says whether nobody is in the data: True or False; got {made_up!r}.")
    if made_up and (journal is not None or ledger is not None):
        raise InvalidInput(
            "nobody is in data that were made up, so this run costs nothing: leave journal and ledger out."
        )
    if not made_up and journal is None:
        raise InvalidInput(
            "a run on real data is a release: give journal=..., and ledger=... if the dataset has a budget. On data that were "
            "made up an audit is free: made_up=True."
        )
