"""An event as a list of independent parts, each with its pair and its count: what exact accountants compose."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from renyi.composing.event_laws import dominating_pair, renyi_curve
from renyi.composing.one_draw.one_draw_law import grid_pair
from renyi.errors import ConvergenceError
from renyi.events.event import Event
from renyi.events.nodes import Sampled, atoms
from renyi.laws.counted import Part
from renyi.laws.curves.curve import RenyiCurve
from renyi.laws.pair import DominatingPair
from renyi.laws.pairs.curve_pair import CurvePair
from renyi.laws.relation import Relation

__all__ = ["Part", "event_parts"]


@lru_cache(maxsize=16)
def event_parts(event: Event, relation: Relation) -> tuple[Part, ...]:
    """The parts of a canonical event; what is known by curves only becomes one part, their sum's."""
    found: list[Part] = []
    curves: list[tuple[RenyiCurve, RenyiCurve]] = []
    for atom, count in atoms(event, 1):
        upper = _pair(atom, relation, upper=True)
        if upper is None:
            curves.append((renyi_curve(atom, relation) * count, renyi_curve(atom, relation.opposite) * count))
            continue
        lower = upper if _exact(atom, relation) else _pair(atom, relation, upper=False)
        _add(found, Part(upper, None if lower is None else lower.below(), count))
    if curves:
        forward, backward = zip(*curves, strict=True)
        found.append(Part(CurvePair(RenyiCurve.sum(forward), RenyiCurve.sum(backward)), None, 1))
    return tuple(found)


def _add(found: list[Part], part: Part) -> None:
    """Append a part, or multiply it into one whose product with it is again a pair of a known kind."""
    product = part.upper.repeated(part.count) if part.upper is part.lower else None
    if product is not None:
        part = Part(product, product, 1)
        for index, other in enumerate(found):
            if type(other.upper) is not type(product) or other.count != 1 or other.upper is not other.lower:
                continue
            both = other.upper.composed(product)
            if both is None:
                break  # one of a kind shows what all of them do
            found[index] = Part(both, both, 1)
            return
    found.append(part)


def _exact(atom: Event, relation: Relation) -> bool:
    return dominating_pair(atom, relation) is not None


def _pair(atom: Event, relation: Relation, *, upper: bool) -> DominatingPair | None:
    pair = dominating_pair(atom, relation)
    if pair is None and isinstance(atom, Sampled):
        return atom.sampling.pair(_OneDraw(atom.event, upper), relation)
    return pair


@dataclass(frozen=True, slots=True)
class _OneDraw:
    """The laws of several releases on one draw: their product is put on a grid, so that it can be sampled as one pair."""

    event: Event
    upper: bool

    def renyi(self, relation: Relation) -> RenyiCurve:
        return renyi_curve(self.event, relation)

    def pair(self, relation: Relation) -> DominatingPair | None:
        parts = event_parts(self.event, relation)
        if any(isinstance(part.upper, CurvePair) for part in parts):
            return None
        if not self.upper and any(part.lower is None for part in parts):
            return None
        with np.errstate(all="ignore"):
            try:
                return grid_pair(parts, self.upper)
            except (ConvergenceError, ArithmeticError, ValueError, IndexError):
                return None  # too much work, or losses beyond what floats hold: then only the curve is left
