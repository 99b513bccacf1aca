"""The audit of a plan: many trials of its release step, with a canary and without, and what the attacker's errors refute."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from functools import lru_cache, partial
from typing import Any

import numpy as np
from scipy.special import logsumexp

from renyi import check
from renyi.accountants.risk import trade_off
from renyi.errors import InvalidInput
from renyi.ledger import Ledger, Payer
from renyi.numerics.printing import rounded_down, rounded_up
from renyi.signatures import taught
from renyi.training.auditing.attack import Attack
from renyi.training.auditing.document import NOT_SHOWN, Stamp, head
from renyi.training.auditing.rates import Array, Rates, confidence_of, largest_factor
from renyi.training.auditing.subject import Inserted, Probe, Subject, expect_supported
from renyi.training.auditing.trials import Releases, played, repeated, scaled
from renyi.training.planning.plan import Plan

STEP, DIFFERENCE, EPOCH = "step", "difference", "epoch"
"""The statistics: one release; two releases in a row, of a canary whose gradient changes its sign between them; an epoch."""

LEAST_TRIALS = 40
"""Trials of fewer are not even worth a threshold."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One statistic: what was counted, what the claim allows there, and the noise that was seen."""

    rates: Rates
    fpr: float
    """Upper end of the false-positive rate."""
    fnr: float
    """Upper end of the false-negative rate."""
    claimed_fnr: float
    """What no attacker falls below at that false-positive rate, if the claim is true."""
    epsilon_lower: float
    """Whatever the noise: no epsilon below this holds for one trial, at the plan's delta."""

    @property
    def refuted(self) -> bool:
        """Whether the claim is refuted, without assumptions on the noise."""
        return self.fnr < self.claimed_fnr

    def __str__(self) -> str:
        one, said = self.rates, "which that excludes" if self.refuted else "which that allows"
        return (
            f"{one.statistic}: the canary was seen in {one.false_alarms:,} of {one.absent:,} trials without it and missed in "
            f"{one.missed:,} of {one.present:,} with it, so the rates are at most {rounded_up(self.fpr)} and "
            f"{rounded_up(self.fnr)}; the claim has the second at {rounded_down(self.claimed_fnr)} or more, {said}"
        )

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            **asdict(self.rates),
            "fpr_upper": self.fpr,
            "fnr_upper": self.fnr,
            "claimed_fnr": self.claimed_fnr,
            "refuted": self.refuted,
            "epsilon_lower": self.epsilon_lower,
        }


@dataclass(frozen=True, slots=True)
class Audit(Attack):
    """What an attack on the release step of a plan has shown; ``renyi.training.audit`` makes one.

    Everything that is said holds with probability ``confidence``, for all statistics together.
    """

    plan: Plan
    rates: tuple[Rates, ...]
    confidence: float
    booked: str | None = None
    """If real data were released, the hash of the last line of the journal that charges it; None if nobody was in the data."""
    stamp: Stamp = field(default_factory=Stamp.now)

    @property
    def refuted(self) -> bool:
        """Whether any statistic refutes the claim."""
        return any(found.refuted for found in self.findings())

    def findings(self) -> tuple[Finding, ...]:
        """What each statistic says."""
        return tuple(map(self._finding, self.rates))

    def factor(self) -> float:
        """Within the claimed family of noise: the noise is at most this many times the claimed one."""
        return _factor(self.plan, self.rates, self._doubt)

    def words(self) -> str:
        """What was tried, what was found, and what that does not show."""
        found = "; ".join(map(str, self.findings()))
        return (
            f"Attacked: the release step, trial by trial, on {self._data()}. {self._verdict()}: {found}. Within the claimed "
            f"family of noise these rates correspond to epsilon at least {rounded_down(self.epsilon_within_family())} for the "
            f"whole plan, of the claimed {rounded_up(self.claimed())} at delta {rounded_up(self.plan.delta)}. {NOT_SHOWN} "
            f"{self.stamp}"
        )

    def to_dict(self) -> dict[str, Any]:
        """The same for machines."""
        return self._document("trials", {"findings": [one.to_dict() for one in self.findings()]})

    @property
    def _doubt(self) -> float:
        """What each statistic may be wrong with, so that all are right with the stated confidence (Bonferroni)."""
        return (1.0 - self.confidence) / len(self.rates)

    def _finding(self, one: Rates) -> Finding:
        fpr, fnr = one.ends(self._doubt)
        claimed = _missed(repeated(self.plan, one.steps), fpr)
        return Finding(one, fpr, fnr, claimed, one.epsilon_lower(self.plan.delta, self._doubt))


@taught
def audit(
    plan: Plan,
    *,
    trials: int = 2_000,
    epochs: int = 0,
    confidence: float = 0.99,
    subject: Inserted | None = None,
    journal: str | os.PathLike[str] | None = None,
    ledger: Ledger | Payer | None = None,
) -> Audit:
    """Attack the release step of a plan: is its claim refuted, and which noise does the attack see?

    The steps are real: sampler, clipping, journal, noise and release are those of a ``Run``. By default they see data that were
    made up, a single canary four clip bounds long that is there in half of ``trials`` releases, and the audit costs nothing.
    ``epochs`` adds so many trials of 1/rate releases each, in which all other records point the other way: they tell shuffled
    batches from Poisson draws. ``subject`` is an example inserted into data of your own, in a model of your own. Unless
    these data are made up, every trial is a release: ``journal`` is required, the trials are charged to ``ledger``, and what
    they cost is ``renyi.training.replay(journal).guarantee()``.

    >>> from renyi import Poisson
    >>> from renyi.training import Plan, audit
    >>> plan = Plan(sampling=Poisson(0.5), steps=100, clip=1.0, expected_batch=8, noise_multiplier=2.0, delta=1e-5)
    >>> audit(plan, trials=200).refuted
    False
    """
    if not isinstance(plan, Plan):
        raise InvalidInput(f"an audit needs the Plan whose claim it tries; got {plan!r}.")
    if plan.noise_at(0) == 0.0:
        raise InvalidInput("this plan adds no noise and promises nothing that could be refuted.")
    count, confidence = check.whole(LEAST_TRIALS, trials=trials), confidence_of(confidence)
    turns = check.whole(0, epochs=epochs)
    length = round(1.0 / plan.sampling.rate)
    if turns and (turns < LEAST_TRIALS or length < 2 or subject is not None):
        raise InvalidInput(
            f"epochs are at least {LEAST_TRIALS} trials (or 0), of at least two releases each, so the rate is at most 1/2, and "
            "they need the probe's own data: leave subject out."
        )
    chosen = _chosen(plan, subject, journal, ledger)
    steps = 2 if chosen.alternates else 1
    found = played(plan, chosen, trials=count // (2 * steps), steps=steps, journal=journal, ledger=ledger)
    scores: list[tuple[str, int, Releases]] = [(STEP, 1, found)]
    if chosen.alternates:
        scores.append((DIFFERENCE, 2, found))
    if turns:
        others = Probe(plan, others=length - 1, alternates=False)
        scores.append((EPOCH, length, played(plan, others, trials=turns // 2, steps=length)))
    doubt = (1.0 - confidence) / len(scores)
    counted = tuple(
        Rates.counted(name, steps, _score(name, plan, made.inside), _score(name, plan, made.outside), doubt)
        for name, steps, made in scores
    )
    return Audit(plan, counted, confidence, None if chosen.made_up else head(journal))


def _score(statistic: str, plan: Plan, releases: Array) -> Array:
    """How much it looks as if the canary were there, for each trial."""
    if statistic == STEP:
        return releases.ravel()
    if statistic == DIFFERENCE:
        # Each release is multiplied by the canary's sign: this is the difference of the two. What is common to both is gone.
        return np.asarray(releases.sum(1))
    # Somewhere the canary raises one of the sums by 2 (it takes the place of another record) or by 1 (one is missing there).
    variance = plan.noise_at(0) ** 2
    return np.asarray(logsumexp(2.0 * releases / variance, 1) - logsumexp(releases / variance, 1))


@lru_cache(maxsize=16)
def _factor(plan: Plan, rates: tuple[Rates, ...], doubt: float) -> float:
    """The smallest of the factors at which the rates are still possible; kept, because it is asked for by words and by JSON."""

    def curve(steps: int, factor: float, fpr: float) -> float:
        return _missed(repeated(scaled(plan, factor), steps), fpr)

    return min(largest_factor(partial(curve, one.steps), one.ends(doubt)) for one in rates)


def _missed(plan: Plan, fpr: float) -> float:
    """The smallest false-negative rate that a plan leaves possible, from below."""
    return float(trade_off(plan.events(), fpr=fpr, adjacency=plan.adjacency))


def _chosen(plan: Plan, subject: Inserted | None, journal: object, ledger: object) -> Subject:
    """The subject of the trials; real data are booked, and what is made up is not."""
    if subject is not None and not isinstance(subject, Inserted):
        raise InvalidInput(f"subject is an Inserted(model, losses, data, canary, made_up=...); got {subject!r}.")
    if subject is None or subject.made_up:
        if journal is not None or ledger is not None:
            raise InvalidInput(
                "nobody is in data that were made up, so these trials cost nothing: leave journal and ledger out. If the data "
                "are real, say so: audit(plan, subject=Inserted(..., made_up=False), journal=...)."
            )
        if subject is None:
            return Probe(plan)
    expect_supported(plan, subject)
    if not subject.made_up and journal is None:
        raise InvalidInput(
            "trials on real data are releases: give journal=..., in which each of them is written down, and ledger=... if the "
            "dataset has a budget. On data that were made up, an audit is free: Inserted(..., made_up=True)."
        )
    return subject
