"""The mechanisms, one file each. Adding a file adds a mechanism; it is loaded when it is needed.

Read ``gaussian``, the shortest, then ``laplace``, which brings a pair of its own. ``pure_dp``, ``approximate_dp``, ``zcdp``
and ``tcdp`` stand for all mechanisms of a level; ``finite``, ``from_densities`` and ``from_renyi`` take a user's own laws.
"""

from typing import TYPE_CHECKING

from renyi.events.mechanism import MECHANISMS
from renyi.events.registry import Room

if TYPE_CHECKING:
    from renyi.mechanisms.approximate_dp import ApproximateDP
    from renyi.mechanisms.discrete_gaussian import DiscreteGaussian
    from renyi.mechanisms.discrete_laplace import DiscreteLaplace
    from renyi.mechanisms.exponential_mechanism import ExponentialMechanism
    from renyi.mechanisms.finite import FinitePair
    from renyi.mechanisms.from_densities import FromDensities
    from renyi.mechanisms.from_renyi import FromRenyi
    from renyi.mechanisms.gaussian import Gaussian
    from renyi.mechanisms.gaussian_dp import GaussianDP
    from renyi.mechanisms.gaussian_mixture import GaussianMixture
    from renyi.mechanisms.laplace import Laplace
    from renyi.mechanisms.pure_dp import PureDP
    from renyi.mechanisms.randomized_response import RandomizedResponse
    from renyi.mechanisms.tcdp import TCDP
    from renyi.mechanisms.zcdp import ZCDP

__all__ = [
    "TCDP",
    "ZCDP",
    "ApproximateDP",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "ExponentialMechanism",
    "FinitePair",
    "FromDensities",
    "FromRenyi",
    "Gaussian",
    "GaussianDP",
    "GaussianMixture",
    "Laplace",
    "PureDP",
    "RandomizedResponse",
]

_ROOM = Room(
    __name__,
    __path__,
    {
        "ApproximateDP": "approximate_dp",
        "DiscreteGaussian": "discrete_gaussian",
        "DiscreteLaplace": "discrete_laplace",
        "ExponentialMechanism": "exponential_mechanism",
        "FinitePair": "finite",
        "FromDensities": "from_densities",
        "FromRenyi": "from_renyi",
        "Gaussian": "gaussian",
        "GaussianDP": "gaussian_dp",
        "GaussianMixture": "gaussian_mixture",
        "Laplace": "laplace",
        "PureDP": "pure_dp",
        "RandomizedResponse": "randomized_response",
        "TCDP": "tcdp",
        "ZCDP": "zcdp",
    },
)
MECHANISMS.open(_ROOM)
__getattr__ = _ROOM.attribute
