"""Reference values: 30 digits, computed at 60 to 100 digits by two routes (README.md beside this file)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Case:
    id: str
    formula: str
    params: dict[str, Any]
    value: Fraction

    def __repr__(self) -> str:
        return self.id

    @property
    def tolerance(self) -> float:
        """1e-12, or 1e-10 where the order exceeds 1000 or the value is a delta below 1e-100."""
        small_delta = min(self.params.get("delta", 1.0), float(self.value) if "delta" in self.formula else 1.0) < 1e-100
        return 1e-10 if self.params.get("alpha", 0) > 1000 or small_delta else 1e-12

    def close(self, computed: float) -> bool:
        """Whether a raw number agrees to the tolerance."""
        if self.value == 0:
            return computed == 0
        return abs(Fraction(computed) / self.value - 1) <= Fraction(self.tolerance)

    def published(self, computed: float) -> bool:
        """Whether a published number is not below the truth, and at most three tolerances above it."""
        return self.value <= Fraction(computed) <= self.value * (1 + 3 * Fraction(self.tolerance))


@cache
def _all() -> tuple[Case, ...]:
    cases = []
    for path in sorted(FOLDER.glob("*.json")):
        for case in json.loads(path.read_text())["cases"]:
            cases.append(Case(case["id"], case["formula"], case["params"], Fraction(case["value"])))
    return tuple(cases)


def golden(*formulas: str) -> list[Case]:
    """Every case of these formulas; at least one each."""
    found = [case for case in _all() if case.formula in formulas]
    missing = set(formulas) - {case.formula for case in found}
    if missing:
        raise LookupError(f"no golden values for {missing}")
    return found
