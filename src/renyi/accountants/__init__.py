"""From an event to an answer."""

from renyi.accountants.accountant import Accountant
from renyi.accountants.classical.classical import Classical
from renyi.accountants.exact import Exact
from renyi.accountants.guarantee import Guarantee
from renyi.accountants.loss_grid import LossGrid
from renyi.accountants.per_record import per_record
from renyi.accountants.questions import delta, divergence, epsilon, guarantee
from renyi.accountants.rdp import Rdp
from renyi.accountants.risk import Risk, risk, trade_off

__all__ = [
    "Accountant",
    "Classical",
    "Exact",
    "Guarantee",
    "LossGrid",
    "Rdp",
    "Risk",
    "delta",
    "divergence",
    "epsilon",
    "guarantee",
    "per_record",
    "risk",
    "trade_off",
]
