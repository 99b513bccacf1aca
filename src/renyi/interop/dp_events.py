"""The event trees of dp-accounting (``DpEvent``), read and written.

Where the two libraries parametrise a mechanism differently, the parameter is rounded to the costly side, so that a converted
event never costs less than the original; the difference is in the last digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

from renyi import check
from renyi.accountants.rho import rho
from renyi.errors import InvalidInput, PrivacyError, UnsupportedError
from renyi.events.event import Event
from renyi.events.nodes import Composed, Repeated, Sampled, Tuned
from renyi.interop.one_release import one_release
from renyi.interop.peer import peer
from renyi.laws.relation import Adjacency
from renyi.mechanisms.discrete_laplace import DiscreteLaplace
from renyi.mechanisms.gaussian import Gaussian
from renyi.mechanisms.gaussian_mixture import GaussianMixture
from renyi.mechanisms.laplace import Laplace
from renyi.mechanisms.randomized_response import RandomizedResponse
from renyi.mechanisms.zcdp import ZCDP
from renyi.numerics.rounding import float_above
from renyi.sampling.poisson.poisson import Poisson
from renyi.sampling.truncated_poisson.truncated_poisson import TruncatedPoisson
from renyi.sampling.without_replacement import WithoutReplacement
from renyi.signatures import taught

MOST_LEVELS = 100
"""Events of dp-accounting nested inside each other. Each level takes a few Python frames, of which there are 1,000; a tree
that people write has fewer than ten levels."""


@taught
def from_dp_event(event: object, *, adjacency: Adjacency = Adjacency.ADD_OR_REMOVE) -> Event:
    """The event that an event of dp-accounting describes.

    ``adjacency`` says for which neighbours a claim was proved that does not say so itself (``ZCDpEvent``). A
    ``NonPrivateDpEvent`` becomes noise of size 0, which costs infinity; tree aggregation becomes the Gaussian release of
    which it is post-processing, for zero-out neighbours. Raises ``UnsupportedError`` for an event that we lack.

    >>> from dp_accounting import dp_event as dp
    >>> from_dp_event(dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(1.1)), 1000))
    Repeated(event=Sampled(event=Gaussian(noise_multiplier=1.1), sampling=Poisson(rate=0.01)), count=1000)
    """
    return _Reader(_vocabulary(), Adjacency.of(adjacency=adjacency)).read(event)


@taught
def to_dp_event(event: Event, *, adjacency: Adjacency = Adjacency.ADD_OR_REMOVE) -> Any:
    """The event of dp-accounting that describes an event.

    Theirs do not say for which neighbours a claim such as ``ZCDP`` holds: ``adjacency`` is the one that their accountant
    will be asked for, and claims for others are refused. Raises ``UnsupportedError`` for what dp-accounting lacks.

    >>> from renyi import Gaussian, Poisson
    >>> to_dp_event(Gaussian(1.1).on(Poisson(0.01)))
    PoissonSampledDpEvent(sampling_probability=0.01, event=GaussianDpEvent(noise_multiplier=1.1))
    """
    if not isinstance(event, Event):
        raise InvalidInput(f"an event of renyi is wanted, such as Gaussian(1.1); got {event!r:.80}.")
    return _written(event, _vocabulary(), Adjacency.of(adjacency=adjacency))


def _vocabulary() -> Any:
    """The module with dp-accounting's events."""
    dp = peer("dp_accounting.dp_event", "dp-accounting")
    if not hasattr(dp, "TruncatedSubsampledGaussianDpEvent"):
        raise PrivacyError(
            "renyi reads and writes the events of dp-accounting 0.6 or newer: pip install -U dp-accounting."
        )
    return dp


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads one tree. An event that stands in many places of it is read once."""

    dp: Any
    adjacency: Adjacency
    known: dict[int, Event] = field(default_factory=dict)
    """What was read, by identity: a tree that holds its parts twice, level by level, has more places than can be visited."""

    def read(self, event: object, level: int = 1) -> Event:
        if level > MOST_LEVELS:
            raise InvalidInput(
                f"events of dp-accounting are read up to {MOST_LEVELS} levels deep; this tree is deeper."
            )
        if id(event) not in self.known:
            self.known[id(event)] = self._converted(event, level)
        return self.known[id(event)]

    def _converted(self, event: Any, level: int) -> Event:
        dp, read = self.dp, partial(self.read, level=level + 1)
        match event:
            case dp.NoOpDpEvent():
                return Composed(())
            case dp.NonPrivateDpEvent():
                return Gaussian(0.0)
            case dp.GaussianDpEvent(noise_multiplier=noise):
                return Gaussian(noise)
            case dp.LaplaceDpEvent(noise_multiplier=noise):
                return Laplace(noise)
            case dp.DiscreteLaplaceDpEvent(noise_parameter=rate, sensitivity=sensitivity):
                return DiscreteLaplace(_inverse_below(noise_parameter=rate), sensitivity)
            case dp.RandomizedResponseDpEvent(noise_parameter=noise, num_buckets=buckets):
                return _randomized_response(noise, buckets)
            case dp.MixtureOfGaussiansDpEvent(standard_deviation=noise, sensitivities=shifts, sampling_probs=weights):
                return GaussianMixture(noise, shifts, weights)
            case dp.ZCDpEvent(rho=rho, xi=xi):
                return ZCDP(rho, xi, self.adjacency)
            case dp.SingleEpochTreeAggregationDpEvent(noise_multiplier=noise, step_counts=steps):
                return _tree_aggregation(noise, steps)
            case dp.SelfComposedDpEvent(event=inner, count=count):
                return Repeated(read(inner), count)
            case dp.ComposedDpEvent(events=parts):
                return Composed(tuple(read(part) for part in _listed("the events of a ComposedDpEvent", parts)))
            case dp.PoissonSampledDpEvent(sampling_probability=rate, event=inner):
                return Sampled(read(inner), Poisson(rate))
            case dp.SampledWithoutReplacementDpEvent(source_dataset_size=dataset, sample_size=batch, event=inner):
                return Sampled(read(inner), WithoutReplacement(batch, dataset))
            case dp.TruncatedSubsampledGaussianDpEvent():
                sampling = TruncatedPoisson(event.sampling_probability, event.truncated_batch_size, event.dataset_size)
                return Sampled(Gaussian(event.noise_multiplier), sampling)
            case dp.RepeatAndSelectDpEvent(event=inner, mean=mean, shape=shape):
                return Tuned(read(inner), mean, shape)
            case dp.DpEvent():
                name = type(event).__name__
                raise UnsupportedError(f"renyi has no event for {name}.{_WITHOUT_OURS.get(name, '')}")
        raise InvalidInput(f"an event of dp-accounting is wanted, such as GaussianDpEvent(1.1); got {event!r:.80}.")


_WITHOUT_OURS = {
    "SampledWithReplacementDpEvent": " If a record is drawn at most once per sample, use SampledWithoutReplacementDpEvent.",
    "UnsupportedDpEvent": " It stands for an operation that nobody has described: describe what was run.",
}
"""What to do about events of dp-accounting that we lack."""


def _written(event: Event, dp: Any, adjacency: Adjacency) -> Any:
    written: Callable[[Event], Any] = partial(_written, dp=dp, adjacency=adjacency)
    match event:
        case Gaussian(noise):
            return dp.GaussianDpEvent(noise)
        case Laplace(noise):
            return dp.LaplaceDpEvent(noise)
        case DiscreteLaplace(scale, sensitivity):
            rate = float_above(1 / Fraction(scale)) if scale > 0.0 else math.inf
            return dp.DiscreteLaplaceDpEvent(rate, sensitivity) if rate < math.inf else dp.NonPrivateDpEvent()
        case RandomizedResponse(truth, outcomes) if truth >= 1 / Fraction(outcomes):
            # With probability p theirs answers uniformly at random, which may be the truth: truth = 1 - p + p/k.
            return dp.RandomizedResponseDpEvent(_below((1 - Fraction(truth)) * outcomes / (outcomes - 1)), outcomes)
        case GaussianMixture(noise, shifts, weights):
            return dp.MixtureOfGaussiansDpEvent(noise, shifts, weights)
        case ZCDP(rho, xi, proved_for) if proved_for is adjacency:
            return dp.ZCDpEvent(rho, xi)
        case ZCDP():
            raise UnsupportedError(
                f"{event!r} is a claim about {event.adjacency.value} neighbours, and a ZCDpEvent does not say so. "
                f"Pass adjacency={event.adjacency!r} and give the event to an accountant for these neighbours alone."
            )
        case Composed(()) | Repeated(_, 0):
            return dp.NoOpDpEvent()
        case Repeated(inner, count):
            return dp.SelfComposedDpEvent(written(inner), count)
        case Composed(parts):
            return dp.ComposedDpEvent([written(part) for part in parts])
        case Sampled(inner, Poisson(rate)):
            return dp.PoissonSampledDpEvent(rate, written(inner))
        case Sampled(inner, WithoutReplacement(batch, dataset)):
            return dp.SampledWithoutReplacementDpEvent(dataset, batch, written(inner))
        case Sampled(Gaussian(noise), TruncatedPoisson(rate, batch, dataset)):
            return dp.TruncatedSubsampledGaussianDpEvent(dataset, rate, batch, noise)
        case Sampled(_, sampling):
            of = " of anything but Gaussian noise" if isinstance(sampling, TruncatedPoisson) else ""
            raise UnsupportedError(
                f"dp-accounting has no event for {sampling!r}{of}. Its PoissonSampledDpEvent is another sampler, whose "
                "number would not hold for this one."
            )
        case Tuned(inner, mean, shape) if shape >= 0.0 and mean >= 1.0:
            return dp.RepeatAndSelectDpEvent(written(inner), mean, shape)
    raise UnsupportedError(f"dp-accounting has no event for {event!r:.200}.{_looser(event, adjacency)}")


def _looser(event: Event, adjacency: Adjacency) -> str:
    """A hint at the zCDP statement that an event implies, if there is one."""
    try:
        least = rho(event, adjacency=adjacency)
    except PrivacyError:
        return ""
    return f" ZCDP({least!r}), which it implies, has one: it is a looser claim." if math.isfinite(least) else ""


def _randomized_response(noise: object, buckets: object) -> Event:
    """Truthful with probability 1 - p, else uniform over all k buckets, the true one included."""
    p, k = check.probability(noise_parameter=noise), check.whole(1, num_buckets=buckets)
    return Composed(()) if k == 1 else RandomizedResponse(min(float_above(1 - Fraction(p) * (k - 1) / k), 1.0), k)


def _tree_aggregation(noise: object, step_counts: object) -> Event:
    """A record is in one leaf of one tree, and so in as many nodes as a path to the root has: d releases of Gaussian noise.

    Kairouz et al. (2021), arXiv:2103.00039, appendix D. A tree over n steps has d = floor(log2 n) + 1 levels. Together the d
    releases are one with mu = sqrt(d)/noise.
    """
    multiplier = check.nonnegative(noise_multiplier=noise)
    counts = step_counts if isinstance(step_counts, list | tuple) else [step_counts]
    steps = [check.count(step_counts=count) for count in _listed("step_counts", counts)]
    levels = max(steps, default=0).bit_length()
    if levels == 0:
        raise InvalidInput(f"step_counts must hold at least one number of steps above 0; got {step_counts!r:.80}.")
    return one_release(multiplier, Fraction(math.isqrt(levels * _SCALE**2) + 1, _SCALE))


_SCALE = 10**17
"""Denominator of a square root that is rounded up as a fraction: finer than a float."""


def _inverse_below(**named: object) -> float:
    """One over a positive number, rounded down."""
    ((name, value),) = named.items()
    rate = check.nonnegative(**named)
    if rate == 0.0:
        raise InvalidInput(f"{name} must be above 0, for noise of scale 1/{name}; got {value!r}.")
    return _below(1 / Fraction(rate))


def _below(exact: Fraction) -> float:
    """The largest float that is not above an exact value."""
    return -float_above(-exact)


def _listed(what: str, value: object) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise InvalidInput(f"{what} must be a list; got {value!r:.80}.")
    return list(value)
