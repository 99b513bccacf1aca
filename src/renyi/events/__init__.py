"""What was done to the data: mechanisms, and the closed ways of combining them."""

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
