"""The names that the author of a mechanism or sampling imports: a stable surface, wherever its parts live.

A mechanism states the law of its privacy loss per relation, by a dominating pair, a Renyi curve, or both; a sampling maps laws
to laws. CONTRIBUTING.md has a complete example of each.
"""

from __future__ import annotations

from renyi import check
from renyi.errors import InvalidInput, UnsupportedError
from renyi.events.mechanism import Mechanism
from renyi.events.sampling import Laws, Sampling
from renyi.events.trend import Trend
from renyi.laws.curves.curve import RenyiCurve
from renyi.laws.pair import DominatingPair
from renyi.laws.pairs.finite import FiniteLossPair
from renyi.laws.relation import Adjacency, Relation

__all__ = [
    "Adjacency",
    "DominatingPair",
    "FiniteLossPair",
    "InvalidInput",
    "Laws",
    "Mechanism",
    "Relation",
    "RenyiCurve",
    "Sampling",
    "Trend",
    "UnsupportedError",
    "check",
]
