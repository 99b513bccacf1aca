"""A training in shuffled epochs, some of which may be cut short."""

from __future__ import annotations

from renyi.events.event import Event
from renyi.interop.one_release import one_release
from renyi.mechanisms.gaussian import Gaussian
from renyi.sampling.shuffled import Shuffled


def shuffled_epochs(noise_multiplier: float, *, steps: int, whole: int, cut: int) -> Event:
    """Gaussian noise in ``whole`` epochs of ``steps`` shuffled batches, and in ``cut`` epochs not all of whose batches ran.

    A record is in at most one batch of a cut epoch too, which therefore costs no more than one release of the noise. How
    much less is not known, and a lower end for whole epochs need not hold: such an epoch is given by its mu alone.
    """
    return Gaussian(noise_multiplier).on(Shuffled(steps)) * whole + one_release(noise_multiplier) * cut
