"""The reference values as events and numbers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from renyi import Composed, Event, Poisson
from renyi.events.mechanism import MECHANISMS

_NAMES = {
    "Gaussian": "gaussian",
    "Laplace": "laplace",
    "RandomizedResponse": "randomized_response",
    "PureDP": "pure_dp",
}


@dataclass(frozen=True)
class Case:
    """A run, a delta, and the truth."""

    name: str
    event: Event
    delta: float
    epsilon: Decimal
    delta0: Decimal | None
    fine: bool
    """Whether the run is long enough for the finer tolerance: T >= 100 and T q >= 1, sampled Gaussians."""
    simple: bool
    """Whether every draw feeds one release only."""


def cases() -> tuple[Case, ...]:
    data = json.loads((Path(__file__).parent / "composition.json").read_text(encoding="utf-8"))
    return tuple(_case(case) for case in data["cases"])


def _case(case: dict[str, Any]) -> Case:
    delta0 = case.get("delta0")
    return Case(
        name=case["id"],
        event=Composed(tuple(_part(part) for part in case["parts"])),
        delta=case["delta"],
        epsilon=Decimal(case["epsilon"]),
        delta0=max(Decimal(value) for value in delta0.values()) if delta0 else None,
        simple=all("draw" not in part for part in case["parts"]),
        fine=all(_is_fine(part) for part in case["parts"]),
    )


def _is_fine(part: dict[str, Any]) -> bool:
    rate = part.get("rate")
    draw = part.get("draw", [part])
    gaussian = all(each["mechanism"] == "Gaussian" for each in draw)
    return gaussian and rate is not None and part["count"] >= 100 and part["count"] * rate >= 1


def _part(part: dict[str, Any]) -> Event:
    draw = part.get("draw", [part])
    inner = Composed(tuple(_mechanism(each) * each.get("times", 1) for each in draw))
    sampled = inner if part.get("rate") is None else inner.on(Poisson(part["rate"]))
    return sampled * part["count"]


def _mechanism(each: dict[str, Any]) -> Event:
    return MECHANISMS.get(_NAMES[each["mechanism"]])(**each["params"])
