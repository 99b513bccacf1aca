"""Errors of training runs.

TrainingError            a step that would make the guarantee wrong
├── LeakError            one unit's data reaches the gradient of another, or leaves without noise
└── ClippingError        the clipped sum cannot be computed, or disagrees with a loop over the units
"""

from __future__ import annotations

from renyi.errors import PrivacyError


class TrainingError(PrivacyError):
    """An action that would make the guarantee wrong."""


class LeakError(TrainingError):
    """Data of one unit reaches what is released without passing its clip and the noise."""


class ClippingError(TrainingError):
    """A gradient that cannot be clipped unit by unit."""
