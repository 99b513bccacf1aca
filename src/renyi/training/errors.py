"""Errors of training runs.

TrainingError            a step that would make the guarantee wrong
├── LeakError            one unit's data reaches the gradient of another, or leaves without noise
│   └── Coupled          a look found that units reach each other; steps since the last look may have leaked
└── ClippingError        the clipped sum cannot be computed
    ├── Misclipped       it disagrees with a loop over the units
    └── Unrepeatable     the losses carry something over from one call to the next
"""

from __future__ import annotations

from renyi.errors import PrivacyError


class TrainingError(PrivacyError):
    """An action that would make the guarantee wrong."""


class LeakError(TrainingError):
    """Data of one unit reaches what is released without passing its clip and the noise."""


class Coupled(LeakError):
    """A look found that a unit's loss or gradient depends on the others in its batch."""


class ClippingError(TrainingError):
    """A gradient that cannot be clipped unit by unit."""


class Misclipped(ClippingError):
    """Per-unit gradients that disagree with a plain loop over the units."""


class Unrepeatable(ClippingError):
    """Losses that differ between two runs on the same data from the same random state."""
