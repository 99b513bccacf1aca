"""Random events over the whole domain: every registered mechanism, sampled or not, repeated, composed of up to five parts."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from renyi import (
    TCDP,
    ZCDP,
    Adjacency,
    ApproximateDP,
    Composed,
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    ExponentialMechanism,
    FinitePair,
    FromDensities,
    FromRenyi,
    Gaussian,
    GaussianDP,
    GaussianMixture,
    Laplace,
    Mechanism,
    Poisson,
    PureDP,
    RandomAllocation,
    RandomizedResponse,
    Sampling,
    Shuffled,
    Tuned,
)
from renyi.events.mechanism import MECHANISMS

LARGEST_COUNT = 1e9
RATES = (1e-9, 1.0)
NOISES = (0.05, 1000.0)
DELTAS = (1e-300, 0.5)


def log_uniform(rng: Generator, low: float, high: float) -> float:
    return min(max(math.exp(rng.uniform(math.log(low), math.log(high))), low), high)


def whole(rng: Generator, high: float) -> int:
    return int(min(max(round(log_uniform(rng, 1.0, high)), 1), high))


def _of_rho_two(order: float) -> float:
    return 0.02 * order


def _of_pure(order: float) -> float:
    """What pure DP of level 1/4 implies."""
    return min(0.25, 0.03125 * order)


def _logistic(x: np.ndarray) -> np.ndarray:
    return -np.abs(x) - 2.0 * np.log1p(np.exp(-np.abs(x)))


def _logistic_shifted(x: np.ndarray) -> np.ndarray:
    return _logistic(x - 0.3)


def _flat(x: np.ndarray) -> np.ndarray:
    return np.zeros(x.shape)


def _tilted(x: np.ndarray) -> np.ndarray:
    return np.log1p(0.5 * (x - 0.5))


CURVES = (
    FromRenyi(_of_rho_two),
    FromRenyi(_of_pure),
    FromRenyi(((2.0, 0.1), (4.0, 0.25), (32.0, 3.0))),
    FromRenyi(((1.5, 0.2), (8.0, 0.4), (math.inf, 1.0))),
)
SYMMETRIC = (*FromDensities.examples(), FromDensities(_logistic_shifted, _logistic, -44.85, 45.15))
DENSITIES = (*SYMMETRIC, FromDensities(_tilted, _flat, 0.0, 1.0, bounded=True))


def _randomized_response(rng: Generator) -> RandomizedResponse:
    outcomes = int(rng.choice([2, 2, 2, 3, 10, 1000]))
    if rng.random() < 0.1:
        return RandomizedResponse(rng.uniform(0.0, 1.0), outcomes)
    share = log_uniform(rng, 1e-6, 0.5)
    truth = 1.0 / outcomes
    return RandomizedResponse(truth + (1.0 - truth) * (share if rng.random() < 0.6 else 1.0 - share), outcomes)


def _finite_pair(rng: Generator) -> FinitePair:
    size = int(rng.integers(2, 7))
    q = rng.uniform(0.01, 1.0, size)
    p = q * np.exp(rng.normal(0.0, log_uniform(rng, 1e-3, 3.0), size))
    if size > 2 and rng.random() < 0.2:
        p[0] = 0.0
    if size > 2 and rng.random() < 0.2:
        q[1] = 0.0
    return FinitePair(tuple(p / p.sum()), tuple(q / q.sum()))


def _gaussian_mixture(rng: Generator) -> GaussianMixture:
    size = int(rng.integers(2, 6))
    shifts = rng.uniform(0.0, 4.0, size) if rng.random() < 0.5 else np.arange(float(size))
    weights = rng.dirichlet(np.ones(size)) if rng.random() < 0.5 else rng.dirichlet([50.0, *np.full(size - 1, 0.1)])
    return GaussianMixture(log_uniform(rng, *NOISES), tuple(shifts), tuple(weights))


MAKERS: dict[type[Mechanism], Callable[[Generator], Mechanism]] = {
    Gaussian: lambda rng: Gaussian(log_uniform(rng, *NOISES)),
    Laplace: lambda rng: Laplace(log_uniform(rng, *NOISES)),
    RandomizedResponse: _randomized_response,
    PureDP: lambda rng: PureDP(log_uniform(rng, 1e-6, 30.0)),
    ApproximateDP: lambda rng: ApproximateDP(
        log_uniform(rng, 1e-6, 30.0), 0.0 if rng.random() < 0.1 else log_uniform(rng, *DELTAS)
    ),
    ZCDP: lambda rng: ZCDP(
        0.5 / log_uniform(rng, *NOISES) ** 2, 0.0 if rng.random() < 0.5 else log_uniform(rng, 1e-6, 3.0)
    ),
    TCDP: lambda rng: TCDP(0.5 / log_uniform(rng, *NOISES) ** 2, 1.0 + log_uniform(rng, 0.01, 1e6)),
    DiscreteGaussian: lambda rng: DiscreteGaussian(log_uniform(rng, *NOISES), sensitivity=int(rng.integers(1, 5))),
    DiscreteLaplace: lambda rng: DiscreteLaplace(log_uniform(rng, *NOISES), sensitivity=int(rng.integers(1, 5))),
    ExponentialMechanism: lambda rng: ExponentialMechanism(log_uniform(rng, 1e-6, 30.0)),
    GaussianDP: lambda rng: GaussianDP(1.0 / log_uniform(rng, *NOISES)),
    GaussianMixture: _gaussian_mixture,
    FinitePair: _finite_pair,
    FromRenyi: lambda rng: CURVES[rng.integers(len(CURVES))],
    FromDensities: lambda rng: DENSITIES[rng.integers(len(DENSITIES))],
}
"""How to draw each mechanism; one that is not listed is drawn from its own examples."""


def kinds() -> tuple[type[Mechanism], ...]:
    """Every mechanism of the library. The Gaussian, which most people use, is drawn three times as often."""
    found = (MECHANISMS.get(name) for name in MECHANISMS.names())
    ours = tuple(cls for cls in found if cls.__module__.startswith("renyi."))
    return (Gaussian, Gaussian, *ours)


@dataclass(frozen=True, slots=True)
class Term:
    """Releases with their counts on one draw of the records (``sampling`` None: on all of them), ``count`` times.

    With ``search``, a mean and a shape, only the best of a random number of such runs is released.
    """

    releases: tuple[tuple[Mechanism, int], ...]
    sampling: Sampling | None
    count: int
    search: tuple[float, float] | None = None

    def event(self) -> Event:
        inner = [mechanism if count == 1 else mechanism * count for mechanism, count in self.releases]
        one = inner[0] if len(inner) == 1 else Composed(tuple(inner))
        sampled = one if self.sampling is None else one.on(self.sampling)
        run = sampled if self.count == 1 else sampled * self.count
        return run if self.search is None else Tuned(run, *self.search)

    def neighbours(self, rng: Generator) -> Iterator[tuple[str, bool, Term]]:
        """Every parameter that is declared monotone, whether more of it costs more, and the term with more of it."""
        yield "count", True, dataclasses.replace(self, count=self.count + _more_whole(rng, self.count))
        if self.sampling is not None:
            for name, rising, moved in _moved(self.sampling, rng):
                yield name, rising, dataclasses.replace(self, sampling=moved)
        for index, (mechanism, count) in enumerate(self.releases):
            for name, rising, moved in _moved(mechanism, rng):
                releases = (*self.releases[:index], (moved, count), *self.releases[index + 1 :])
                yield name, rising, dataclasses.replace(self, releases=releases)


def _moved(value: Mechanism | Sampling, rng: Generator) -> Iterator[tuple[str, bool, Mechanism | Sampling]]:
    """A mechanism or a sampling with more of each parameter that is declared monotone."""
    for name, trend in value.trends().items():
        now = getattr(value, name)
        if isinstance(now, int):
            more = now + _more_whole(rng, now)
        else:
            most = {"delta": 0.999, "rate": 1.0}.get(name, math.inf)
            more = min(_more(rng, now), trend.high, most)
        if trend.low <= now < more:
            yield f"{type(value).__name__}.{name}", trend.rising, dataclasses.replace(value, **{name: more})


def _more(rng: Generator, value: float) -> float:
    """A larger value, from a few units in the last place to three times as large."""
    return max(value * (1.0 + log_uniform(rng, 1e-15, 2.0)), math.nextafter(value, math.inf))


def _more_whole(rng: Generator, value: int) -> int:
    return max(1, int(value * log_uniform(rng, 1e-9, 1.0)))


def term(rng: Generator, adjacency: Adjacency) -> Term:
    pool = kinds()
    several = rng.random() < 0.1
    releases = tuple(
        (_told_for(pool[rng.integers(len(pool))], rng, adjacency), whole(rng, 30.0) if several else 1)
        for _ in range(rng.integers(1, 4) if several else 1)
    )
    count = 1 if rng.random() < 0.1 else whole(rng, LARGEST_COUNT)
    search = None
    if rng.random() < 0.04:
        search = log_uniform(rng, 1.0, 1e3), float(rng.choice([1.0, 0.0, math.inf, log_uniform(rng, 0.1, 5.0)]))
    return Term(releases, _sampling(rng, adjacency, releases), count, search)


def _sampling(rng: Generator, adjacency: Adjacency, releases: tuple[tuple[Mechanism, int], ...]) -> Sampling | None:
    """A sampling that has a theorem for these neighbours and releases, or none."""
    drawn = rng.random()
    if adjacency is not Adjacency.ADD_OR_REMOVE and drawn < 0.1:
        return Shuffled(whole(rng, 1e6))
    if adjacency is Adjacency.REPLACE_ONE:
        return None
    if 0.1 <= drawn < 0.17 and len(releases) == 1 == releases[0][1] and _has_law(releases[0][0]):
        return RandomAllocation(whole(rng, 1e5))
    if len(releases) == 1 and drawn > 0.65:
        return None
    return Poisson(log_uniform(rng, *RATES) if rng.random() < 0.9 else 1.0 - log_uniform(rng, 1e-9, 0.5))


def _has_law(mechanism: Mechanism) -> bool:
    """Whether a mechanism has the law of its likelihood ratio, which random allocation needs, and cannot fail outright."""
    return isinstance(mechanism, (Gaussian, Laplace, DiscreteLaplace, RandomizedResponse, PureDP, GaussianDP))


def _told_for(cls: type[Mechanism], rng: Generator, adjacency: Adjacency) -> Mechanism:
    """A random mechanism, proved for this adjacency."""
    if cls is GaussianMixture and adjacency is Adjacency.REPLACE_ONE:
        cls = Gaussian  # replacing a user has no theorem
    drawn = MAKERS[cls](rng) if cls in MAKERS else cls.examples()[rng.integers(len(cls.examples()))]
    if adjacency is Adjacency.ADD_OR_REMOVE or not hasattr(drawn, "adjacency"):
        return drawn
    if isinstance(drawn, FinitePair) and adjacency is Adjacency.REPLACE_ONE:
        # Every (a, b) with a partner (b, a), in binary fractions, which sum to one without rounding.
        p, q = (np.rint(np.array(law) * 2.0**20) for law in (drawn.p, drawn.q))
        p[-1], q[-1] = 2.0**20 - p[:-1].sum(), 2.0**20 - q[:-1].sum()
        drawn = FinitePair(tuple(np.append(p, q) / 2.0**21), tuple(np.append(q, p) / 2.0**21))
    if isinstance(drawn, FromDensities) and adjacency is Adjacency.REPLACE_ONE:
        drawn = SYMMETRIC[rng.integers(len(SYMMETRIC))]  # which record replaces which is anybody's choice
    return dataclasses.replace(drawn, adjacency=adjacency)


def terms(rng: Generator, adjacency: Adjacency) -> tuple[Term, ...]:
    return tuple(term(rng, adjacency) for _ in range(rng.choice([1, 1, 1, 2, 2, 3, 4, 5])))


def event_of(parts: tuple[Term, ...]) -> Event:
    return parts[0].event() if len(parts) == 1 else Composed(tuple(part.event() for part in parts))


def gaussians(rng: Generator) -> tuple[tuple[float, int], ...]:
    """Noises and counts of a composition of up to five unlike Gaussians."""
    return tuple(
        (log_uniform(rng, *NOISES), whole(rng, LARGEST_COUNT)) for _ in range(rng.choice([1, 1, 1, 2, 3, 4, 5]))
    )
