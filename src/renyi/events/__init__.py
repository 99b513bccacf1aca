"""Events: what was computed from the data. Mechanisms are open to extension, the ways of combining them are fixed."""

from renyi.events.builder import Builder
from renyi.events.event import Event
from renyi.events.mechanism import Mechanism, Trend
from renyi.events.nodes import Composed, Grouped, Repeated, Sampled, Tuned
from renyi.events.sampling import Sampling
from renyi.events.serial import from_json, to_json

__all__ = [
    "Builder",
    "Composed",
    "Event",
    "Grouped",
    "Mechanism",
    "Repeated",
    "Sampled",
    "Sampling",
    "Trend",
    "Tuned",
    "from_json",
    "to_json",
]
