"""The mechanisms, one file each. Every module in this folder is imported, so adding a file adds a mechanism.

Read ``gaussian``, the shortest, then ``laplace``, which brings a pair of its own. ``pure_dp``, ``approximate_dp``, ``zcdp``
and ``tcdp`` stand for all mechanisms of a level; ``finite``, ``from_densities`` and ``from_renyi`` take a user's own laws.
"""

from importlib import import_module
from pkgutil import iter_modules

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

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

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
