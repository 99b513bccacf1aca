"""The names that the author of a mechanism or sampling imports: a stable surface, wherever its parts live.

A mechanism states the law of its privacy loss per relation, by a dominating pair, a Renyi curve, or both; a sampling maps laws
to laws. CONTRIBUTING.md has a complete mechanism, docs/adding-a-sampling.md a complete sampling. Names that are here stay.
"""

from __future__ import annotations

from renyi import check
from renyi.errors import InvalidInput, UnsupportedError
from renyi.events.mechanism import Mechanism
from renyi.events.sampling import Laws, Sampling
from renyi.events.trend import Trend
from renyi.laws.curves.curve import RenyiCurve
from renyi.laws.pair import Array, DominatingPair, FiniteLossPair
from renyi.laws.ratio_law import RatioLaw
from renyi.laws.relation import Adjacency, Relation
from renyi.numerics.rounding import TINY, raised

__all__ = [
    "TINY",
    "Adjacency",
    "Array",
    "DominatingPair",
    "FiniteLossPair",
    "InvalidInput",
    "Laws",
    "Mechanism",
    "RatioLaw",
    "Relation",
    "RenyiCurve",
    "Sampling",
    "Trend",
    "UnsupportedError",
    "check",
    "raised",
]
