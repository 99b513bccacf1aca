"""Samplings: how the records of a release are drawn, and what that does to the law of its privacy loss.

Adding a file adds a sampling (docs/adding-a-sampling.md); it is loaded when it is needed. Read
``without_replacement`` first, which is one file; then ``poisson``, with the sampled Gaussian mechanism inside. What several of
them need for replace-one neighbours is in ``replacing``.
"""

from typing import TYPE_CHECKING

from renyi.events.registry import Room
from renyi.events.sampling import SAMPLINGS

if TYPE_CHECKING:
    from renyi.sampling.poisson.poisson import Poisson
    from renyi.sampling.random_allocation.random_allocation import RandomAllocation
    from renyi.sampling.random_allocation.random_picks import RandomPicks
    from renyi.sampling.shuffled import Shuffled
    from renyi.sampling.truncated_poisson.truncated_poisson import TruncatedPoisson
    from renyi.sampling.without_replacement import WithoutReplacement

__all__ = ["Poisson", "RandomAllocation", "RandomPicks", "Shuffled", "TruncatedPoisson", "WithoutReplacement"]

_ROOM = Room(
    __name__,
    __path__,
    {
        "Poisson": "poisson.poisson",
        "RandomAllocation": "random_allocation.random_allocation",
        "RandomPicks": "random_allocation.random_picks",
        "Shuffled": "shuffled",
        "TruncatedPoisson": "truncated_poisson.truncated_poisson",
        "WithoutReplacement": "without_replacement",
    },
)
SAMPLINGS.open(_ROOM)
__getattr__ = _ROOM.attribute
