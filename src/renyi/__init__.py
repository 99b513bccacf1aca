"""How much privacy did that cost?

>>> import renyi
>>> run = renyi.Gaussian(1.1).on(renyi.Poisson(rate=256 / 60_000)) * 14_063
>>> print(renyi.guarantee(run, delta=1e-5))
14,063 steps of Gaussian noise (multiplier 1.1) on Poisson samples of rate 0.00426667 are
(2.38169, 1e-05)-differentially private for one record added or removed; both ends agree,
by exact composition (contour integration), renyi ...

The way of such a question through the rooms of this package is drawn in docs/architecture.md. Read ``events``, ``laws``,
``mechanisms`` and ``sampling``, then ``composing`` and ``accountants``; everything else stands on these.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from renyi.errors import (
    CalibrationError,
    ConvergenceError,
    InvalidInput,
    MalformedEvent,
    NotSerialisable,
    PrivacyError,
    UnsupportedError,
)
from renyi.events import (
    Builder,
    Composed,
    Event,
    Grouped,
    Mechanism,
    Repeated,
    Sampled,
    Sampling,
    Trend,
    Tuned,
    from_json,
)
from renyi.laws.interval import Interval
from renyi.laws.relation import Adjacency, Relation
from renyi.signatures import meant

if TYPE_CHECKING:
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
    from renyi.calibration import calibrate, noise_multiplier
    from renyi.certificates import certify
    from renyi.ledger.filter import Filter
    from renyi.ledger.ledger import Ledger
    from renyi.mechanisms import (
        TCDP,
        ZCDP,
        ApproximateDP,
        DiscreteGaussian,
        DiscreteLaplace,
        ExponentialMechanism,
        FinitePair,
        FromDensities,
        FromRenyi,
        Gaussian,
        GaussianDP,
        GaussianMixture,
        Laplace,
        PureDP,
        RandomizedResponse,
    )
    from renyi.report.statement import Statement
    from renyi.report.stating import statement
    from renyi.sampling import Poisson, RandomAllocation, RandomPicks, Shuffled, TruncatedPoisson, WithoutReplacement

__version__ = "0.2.0"

_LOADED_WHEN_ASKED_FOR = {
    "renyi.accountants": (
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
    ),
    "renyi.calibration": ("calibrate", "noise_multiplier"),
    "renyi.certificates": ("certify",),
    "renyi.ledger.filter": ("Filter",),
    "renyi.ledger.ledger": ("Ledger",),
    "renyi.mechanisms": (
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
    ),
    "renyi.report": ("Statement", "statement"),
    "renyi.sampling": (
        "Poisson",
        "RandomAllocation",
        "RandomPicks",
        "Shuffled",
        "TruncatedPoisson",
        "WithoutReplacement",
    ),
}
"""What not every program needs: one that describes events, or trains, does not wait for the rooms that answer questions."""

_ROOMS = ("accountants", "authoring", "calibration", "certificates", "interop", "ledger", "plots", "report", "training")
"""What is written with its room, ``renyi.interop.from_opacus``: imported, too, when it is asked for."""

__all__ = [
    "TCDP",
    "ZCDP",
    "Adjacency",
    "ApproximateDP",
    "Builder",
    "CalibrationError",
    "Classical",
    "Composed",
    "ConvergenceError",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Event",
    "Exact",
    "ExponentialMechanism",
    "Filter",
    "FinitePair",
    "FromDensities",
    "FromRenyi",
    "Gaussian",
    "GaussianDP",
    "GaussianMixture",
    "Gdp",
    "Grouped",
    "Guarantee",
    "Interval",
    "InvalidInput",
    "Laplace",
    "Ledger",
    "LossGrid",
    "MalformedEvent",
    "Mechanism",
    "NotSerialisable",
    "Poisson",
    "PrivacyError",
    "PureDP",
    "RandomAllocation",
    "RandomPicks",
    "RandomizedResponse",
    "Rdp",
    "Relation",
    "Repeated",
    "Risk",
    "Sampled",
    "Sampling",
    "Shuffled",
    "Statement",
    "Trend",
    "TruncatedPoisson",
    "Tuned",
    "UnsupportedError",
    "WithoutReplacement",
    "calibrate",
    "certify",
    "delta",
    "divergence",
    "epsilon",
    "from_json",
    "gdp",
    "guarantee",
    "noise_multiplier",
    "per_record",
    "rho",
    "risk",
    "statement",
    "trade_off",
]


for _room in ("renyi.mechanisms", "renyi.sampling"):
    import_module(_room)  # which registers where the names in JSON are found, and loads nothing yet


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"{__name__}.{name}")
    for room, names in _LOADED_WHEN_ASKED_FOR.items():
        if name in names:
            globals()[name] = value = getattr(import_module(room), name)
            return value
    near = meant(name, (*__all__, *_ROOMS))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}.{f' Did you mean {near}?' if near else ''}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})
