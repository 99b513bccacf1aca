"""A training in shuffled epochs, of which the last may be cut short."""

from __future__ import annotations

from fractions import Fraction

from renyi.events.event import Event
from renyi.laws.relation import Adjacency
from renyi.mechanisms.gaussian import Gaussian
from renyi.mechanisms.gaussian_dp import GaussianDP
from renyi.numerics.rounding import float_above
from renyi.sampling.shuffled import Shuffled


def shuffled_epochs(noise_multiplier: float, *, steps: int, whole: int, cut: int) -> Event:
    """Gaussian noise in ``whole`` epochs of ``steps`` shuffled batches, and in ``cut`` epochs not all of whose batches ran.

    A record is in at most one batch of a cut epoch too, which therefore costs no more than one release of the noise. How
    much less is not known, and a lower end for whole epochs need not hold: such an epoch is given by its mu alone.
    """
    if noise_multiplier == 0.0:
        return Gaussian(0.0)
    return Gaussian(noise_multiplier).on(Shuffled(steps)) * whole + one_release(noise_multiplier) * cut


def one_release(noise_multiplier: float, group: int = 1) -> Event:
    """What a batch costs the records that it holds, at most ``group`` of them of one user, blanked out."""
    return GaussianDP(float_above(group / Fraction(noise_multiplier)), Adjacency.ZERO_OUT)
