"""The old path of what ``renyi.authoring`` has now."""

import warnings

from renyi.laws.relation import Adjacency, Relation

__all__ = ["Adjacency", "Relation"]

warnings.warn("renyi.privacy.relation is now part of renyi.authoring", DeprecationWarning, stacklevel=2)
