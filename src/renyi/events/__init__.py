"""What was done to the data: mechanisms, and the closed ways of combining them."""

from renyi.events.builder import Builder
from renyi.events.event import Event
from renyi.events.mechanism import Mechanism, Trend
from renyi.events.nodes import Composed, Repeated, Sampled
from renyi.events.sampling import Sampling
from renyi.events.serial import from_json, to_json

__all__ = [
    "Builder",
    "Composed",
    "Event",
    "Mechanism",
    "Repeated",
    "Sampled",
    "Sampling",
    "Trend",
    "from_json",
    "to_json",
]
