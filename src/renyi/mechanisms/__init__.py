"""The mechanisms, one file each. Every module in this folder is loaded, so a new file is a new mechanism."""

from importlib import import_module
from pkgutil import iter_modules

from renyi.mechanisms.gaussian import Gaussian
from renyi.mechanisms.laplace import Laplace
from renyi.mechanisms.randomized_response import RandomizedResponse

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = ["Gaussian", "Laplace", "RandomizedResponse"]
