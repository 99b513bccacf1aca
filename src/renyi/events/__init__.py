"""Events: what was computed from the data. Mechanisms are open to extension, the ways of combining them are fixed.

Read ``event`` (the operators), ``mechanism`` and ``sampling`` (the classes to derive from), then ``nodes``: on a sample,
repeated, one after another, for a group, in a search; and the canonical form that makes equal runs equal. ``serial`` is JSON
both ways, with names from ``registry``; what comes in is bounded by ``document``, ``limits`` and ``extent``.
"""

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
