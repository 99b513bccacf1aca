"""The laws of a whole event: one walk over the tree, per relation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, reduce

from renyi.errors import UnsupportedError
from renyi.events.event import Event
from renyi.events.mechanism import Mechanism
from renyi.events.nodes import Composed, Repeated, Sampled
from renyi.privacy.curve import RenyiCurve
from renyi.privacy.pair import DominatingPair
from renyi.privacy.relation import Relation


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
    return None


def _product(first: DominatingPair | None, second: DominatingPair | None) -> DominatingPair | None:
    return None if first is None or second is None else first.composed(second)
