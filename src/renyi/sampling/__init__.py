"""Samplings: how the records of a release are drawn, and what that does to the law of its privacy loss.

Every module in this folder is imported, so adding a file adds a sampling (docs/adding-a-sampling.md). Read
``without_replacement`` first, which is one file; then ``poisson``, with the sampled Gaussian mechanism inside. What several of
them need for replace-one neighbours is in ``replacing``.
"""

from importlib import import_module
from pkgutil import iter_modules

from renyi.sampling.poisson.poisson import Poisson
from renyi.sampling.random_allocation.random_allocation import RandomAllocation
from renyi.sampling.random_allocation.random_picks import RandomPicks
from renyi.sampling.shuffled import Shuffled
from renyi.sampling.truncated_poisson.truncated_poisson import TruncatedPoisson
from renyi.sampling.without_replacement import WithoutReplacement

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = ["Poisson", "RandomAllocation", "RandomPicks", "Shuffled", "TruncatedPoisson", "WithoutReplacement"]
