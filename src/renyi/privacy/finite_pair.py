"""The old path of what ``renyi.authoring`` has now."""

import warnings

from renyi.laws.pair import FiniteLossPair

__all__ = ["FiniteLossPair"]

warnings.warn("renyi.privacy.finite_pair is now part of renyi.authoring", DeprecationWarning, stacklevel=2)
