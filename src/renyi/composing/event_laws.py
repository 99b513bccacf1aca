"""The laws of a whole event: one walk over the tree, per relation."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache, reduce

from renyi.errors import UnsupportedError
from renyi.events.event import Event
from renyi.events.mechanism import Mechanism
from renyi.events.nodes import Composed, Grouped, Repeated, Sampled, Tuned
from renyi.events.trials import gamma_below
from renyi.laws.curves.curve import RenyiCurve
from renyi.laws.curves.group import group_curve, least_curve
from renyi.laws.curves.tuned import tuned_curve
from renyi.laws.pair import DominatingPair
from renyi.laws.relation import Relation
from renyi.mechanisms.pure_dp import binary_pair


@dataclass(frozen=True, slots=True)
class EventLaws:
    """What is known of an event, in the form that a sampling asks for."""

    event: Event

    def renyi(self, relation: Relation) -> RenyiCurve:
        """See ``renyi_curve``."""
        return renyi_curve(self.event, relation)

    def pair(self, relation: Relation) -> DominatingPair | None:
        """See ``dominating_pair``."""
        return dominating_pair(self.event, relation)


@lru_cache(maxsize=64)
def renyi_curve(event: Event, relation: Relation) -> RenyiCurve:
    """The Renyi curve of an event: curves add under composition, whatever was seen in between.

    A curve remembers what was dear to find out, so the latest ones are kept.
    """
    match event:
        case Mechanism():
            return event.renyi(relation)
        case Sampled(inner, sampling):
            return sampling.renyi(EventLaws(inner), relation)
        case Repeated(inner, count):
            return renyi_curve(inner, relation) * count
        case Composed(parts):
            return RenyiCurve.sum(renyi_curve(part, relation) for part in parts)
        case Grouped(Mechanism() as inner, size) if (larger := inner.for_group(size)) is not None:
            return larger.renyi(relation)
        case Grouped(inner, size):
            pair, general = _grouped_pair(inner, size, relation), group_curve(renyi_curve(inner, relation), size)
            return general if pair is None else least_curve(pair.renyi(), general)
        case Tuned(inner, mean, shape):
            gamma = gamma_below(mean, shape)
            return tuned_curve(renyi_curve(inner, relation), renyi_curve(inner, relation.opposite), mean, shape, gamma)
    raise UnsupportedError(f"{type(event).__name__} is not a kind of event that has a Renyi curve here.")


def dominating_pair(event: Event, relation: Relation) -> DominatingPair | None:
    """The dominating pair of an event where it is a pair of a known kind, else None."""
    match event:
        case Mechanism():
            try:
                return event.pair(relation)
            except UnsupportedError:
                return None
        case Sampled(inner, sampling):
            return sampling.pair(EventLaws(inner), relation)
        case Repeated(inner, count) if count > 0:
            pair = dominating_pair(inner, relation)
            return None if pair is None else pair.repeated(count)
        case Composed(parts) if parts:
            return reduce(_product, [dominating_pair(part, relation) for part in parts])
        case Grouped(inner, size):
            return _grouped_pair(inner, size, relation)
    return None


def _grouped_pair(event: Event, size: int, relation: Relation) -> DominatingPair | None:
    """The pair of a group: of a sampled event as its sampling says, of noise by distance, else by the largest loss."""
    if isinstance(event, Mechanism) and (larger := event.for_group(size)) is not None:
        return dominating_pair(larger, relation)
    if isinstance(event, Sampled):
        return event.sampling.grouped_pair(EventLaws(event.event), relation, size)
    pair = dominating_pair(event, relation)
    if pair is None:
        return None
    grouped = pair.grouped(size)
    if grouped is None and pair.max_loss < math.inf and pair.reversed().max_loss < math.inf:
        # Losses add along a chain of neighbours; what is pure is dominated by randomized response.
        return replace(binary_pair(size * max(pair.max_loss, pair.reversed().max_loss) * (1.0 + 1e-15)), attained=False)
    return grouped


def _product(first: DominatingPair | None, second: DominatingPair | None) -> DominatingPair | None:
    return None if first is None or second is None else first.composed(second)
