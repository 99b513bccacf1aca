"""From an event and a question to an answer, with both ends.

Read ``questions`` (the public functions), ``accountant`` (what every accountant can be asked), then ``exact``: the list of
methods that are asked in turn. ``rdp``, ``loss_grid`` and ``classical`` are other strategies, ``best`` is the default that
compares them. ``guarantee`` is the answer in full; ``risk``, ``gdp``, ``rho`` and ``per_record`` ask for something
else than epsilon.
"""

from renyi.accountants.accountant import Accountant
from renyi.accountants.classical.classical import Classical
from renyi.accountants.exact import Exact
from renyi.accountants.gdp import Gdp, gdp
from renyi.accountants.guarantee import Guarantee
from renyi.accountants.loss_grid import LossGrid
from renyi.accountants.per_record import per_record
from renyi.accountants.questions import delta, divergence, epsilon, guarantee
from renyi.accountants.rdp import Rdp
from renyi.accountants.rho import rho
from renyi.accountants.risk import Risk, risk, trade_off

__all__ = [
    "Accountant",
    "Classical",
    "Exact",
    "Gdp",
    "Guarantee",
    "LossGrid",
    "Rdp",
    "Risk",
    "delta",
    "divergence",
    "epsilon",
    "gdp",
    "guarantee",
    "per_record",
    "rho",
    "risk",
    "trade_off",
]
