"""What an audit says, in words and as JSON, with what it does and does not show."""

from __future__ import annotations

import datetime
import hashlib
import json
import os
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import renyi
from renyi.events.document import as_json
from renyi.numerics.printing import rounded_down, rounded_up
from renyi.training.recording.record import replay

if TYPE_CHECKING:
    from renyi.training.auditing.audit import Audit, Finding
    from renyi.training.auditing.one_run import OneRunAudit

FORMAT, VERSION = "renyi-audit", 1

NOT_SHOWN = (
    "An audit that refutes nothing proves nothing: a fault that this attack does not look for, or that shows only on other "
    "data or in other steps, stays unseen."
)


@dataclass(frozen=True, slots=True)
class Stamp:
    """Which code was attacked, and when: the version, the date, and a digest of the sources of training."""

    version: str
    date: str
    code: str

    @classmethod
    def now(cls) -> Stamp:
        """Of this code, today."""
        return cls(renyi.__version__, datetime.datetime.now(datetime.UTC).date().isoformat(), _digest())


@cache
def _digest() -> str:
    """SHA-256 over the paths and the contents of every source file of the room of training."""
    room = Path(__file__).parents[1]
    found = hashlib.sha256()
    for path in sorted(room.rglob("*.py")):
        found.update(f"{path.relative_to(room).as_posix()} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return found.hexdigest()


def head(journal: str | os.PathLike[str] | None) -> str | None:
    """The hash of the last line of a journal."""
    return None if journal is None else replay(journal).head


def written(document: dict[str, Any]) -> str:
    """A JSON text that people can read, too."""
    return json.dumps(document, indent=1, allow_nan=False)


def of_trials(audit: Audit) -> str:
    """An audit by trials, in words."""
    data = (
        "data that were made up"
        if audit.booked is None
        else f"real data, booked in the journal that ends {audit.booked}"
    )
    verdict = "THE CLAIM IS REFUTED" if audit.refuted else "the claim is not refuted"
    found = "; ".join(_of_finding(one) for one in audit.findings())
    return (
        f"Attacked: the release step, trial by trial, on {data}. With {_percent(audit.confidence)} confidence in all of it, "
        f"{verdict}: {found}. Within the claimed family of noise these rates correspond to epsilon at least "
        f"{rounded_down(audit.epsilon_within_family())} for the whole plan, of the claimed {rounded_up(audit.claimed())} at "
        f"delta {rounded_up(audit.plan.delta)}. {NOT_SHOWN} {_made(audit.stamp)}"
    )


def _of_finding(found: Finding) -> str:
    one = found.rates
    said = "which that excludes" if found.refuted else "which that allows"
    return (
        f"{one.statistic}: the canary was seen in {one.false_alarms:,} of {one.absent:,} trials without it and missed in "
        f"{one.missed:,} of {one.present:,} with it, so the rates are at most {rounded_up(found.fpr)} and "
        f"{rounded_up(found.fnr)}; the claim has the second at {rounded_down(found.claimed_fnr)} or more, {said}"
    )


def trials_to_dict(audit: Audit) -> dict[str, Any]:
    """An audit by trials, as JSON values."""
    findings = [
        {
            **asdict(one.rates),
            "fpr_upper": one.fpr,
            "fnr_upper": one.fnr,
            "claimed_fnr": one.claimed_fnr,
            "refuted": one.refuted,
            "epsilon_lower": one.epsilon_lower,
        }
        for one in audit.findings()
    ]
    return {
        "format": FORMAT,
        "version": VERSION,
        "kind": "trials",
        "plan": audit.plan.to_dict(),
        "confidence": audit.confidence,
        "refuted": audit.refuted,
        "findings": findings,
        "noise_factor_upper": as_json(audit.factor()),
        "epsilon_within_family": audit.epsilon_within_family(),
        "epsilon_claimed": as_json(audit.claimed()),
        "booked": audit.booked,
        "words": audit.words(),
        "made": asdict(audit.stamp),
    }


def of_one_run(audit: OneRunAudit) -> str:
    """An audit in one run, in words."""
    data = (
        "data that were made up"
        if audit.booked is None
        else f"real data, booked in the journal that ends {audit.booked}"
    )
    verdict = "THE CLAIM IS REFUTED" if audit.refuted else "the claim is not refuted"
    guesses = ", ".join(f"{one.right:,} of {one.guesses:,}" for one in audit.guesses)
    return (
        f"Attacked: one run of the whole plan on {data}, with {audit.canaries:,} inserted examples, each in or out by a fair "
        f"coin thrown before. Of the coins that were guessed, right were: {guesses}. With {_percent(audit.confidence)} "
        f"confidence in all of it, {verdict} (f-DP: Mahloujifar, Melis & Chaudhuri 2025), and no epsilon below "
        f"{rounded_down(audit.epsilon_lower())} holds at delta {rounded_up(audit.plan.delta)} (Steinke, Nasr & Jagielski "
        f"2023). Within the claimed family of noise that corresponds to epsilon at least "
        f"{rounded_down(audit.epsilon_within_family())}, of the claimed {rounded_up(audit.claimed())}. {NOT_SHOWN} "
        f"{_made(audit.stamp)}"
    )


def one_run_to_dict(audit: OneRunAudit) -> dict[str, Any]:
    """An audit in one run, as JSON values."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "kind": "one-run",
        "plan": audit.plan.to_dict(),
        "confidence": audit.confidence,
        "canaries": audit.canaries,
        "guesses": [asdict(one) for one in audit.guesses],
        "refuted": audit.refuted,
        "epsilon_lower": audit.epsilon_lower(),
        "noise_factor_upper": as_json(audit.factor()),
        "epsilon_within_family": audit.epsilon_within_family(),
        "epsilon_claimed": as_json(audit.claimed()),
        "booked": audit.booked,
        "words": audit.words(),
        "made": asdict(audit.stamp),
    }


def _made(stamp: Stamp) -> str:
    return f"By renyi {stamp.version} on {stamp.date}; the sources of training have SHA-256 {stamp.code}."


def _percent(confidence: float) -> str:
    return f"{100.0 * confidence:.6g} %"
