"""How much privacy did that cost?

>>> import renyi
>>> run = renyi.Gaussian(1.1).on(renyi.Poisson(rate=256 / 60_000)) * 14_063
>>> print(renyi.guarantee(run, delta=1e-5))
(2.38169, 1e-05)-differentially private for add-or-remove neighbours, by exact composition (contour integration);
the relation that decides is remove.

The way of such a question through the rooms of this package is drawn in docs/architecture.md. Read ``events``, ``laws``,
``mechanisms`` and ``sampling``, then ``composing`` and ``accountants``; everything else stands on these.
"""

from renyi.accountants import (
    Classical,
    Exact,
    Guarantee,
    LossGrid,
    Rdp,
    Risk,
    delta,
    divergence,
    epsilon,
    guarantee,
    per_record,
    risk,
    trade_off,
)
from renyi.calibration import calibrate, noise_multiplier
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
    Laplace,
    PureDP,
    RandomizedResponse,
)
from renyi.sampling import Poisson, RandomAllocation, TruncatedPoisson, WithoutReplacement

__version__ = "0.1.0"

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
    "FinitePair",
    "FromDensities",
    "FromRenyi",
    "Gaussian",
    "Grouped",
    "Guarantee",
    "Interval",
    "InvalidInput",
    "Laplace",
    "LossGrid",
    "MalformedEvent",
    "Mechanism",
    "NotSerialisable",
    "Poisson",
    "PrivacyError",
    "PureDP",
    "RandomAllocation",
    "RandomizedResponse",
    "Rdp",
    "Relation",
    "Repeated",
    "Risk",
    "Sampled",
    "Sampling",
    "Trend",
    "TruncatedPoisson",
    "Tuned",
    "UnsupportedError",
    "WithoutReplacement",
    "calibrate",
    "delta",
    "divergence",
    "epsilon",
    "from_json",
    "guarantee",
    "noise_multiplier",
    "per_record",
    "risk",
    "trade_off",
]
