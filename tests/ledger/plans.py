"""Seven plans, with the delta at which each is judged: what a filter that was not told of them must still spend well on.

The year of queries is also what the tutorial spends.
"""

from __future__ import annotations

from typing import NamedTuple

from renyi import (
    ZCDP,
    Adjacency,
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    ExponentialMechanism,
    Filter,
    Gaussian,
    Laplace,
    Poisson,
    Rdp,
)


class Plan(NamedTuple):
    """Releases that are fixed here, as a test can have them, and a delta."""

    event: Event
    delta: float


README_RUN = Gaussian(1.1).on(Poisson(256 / 60_000)) * 14_063
"""The run of the README: 60 epochs over 60,000 images in batches of 256, noise multiplier 1.1."""

YEAR_OF_QUERIES: tuple[tuple[Event, int], ...] = (
    (Laplace(20.0), 10),  # monthly counts, the large ones
    (Laplace(50.0), 4),  # quarterly counts, in more detail
    (Gaussian(8.0), 8),  # sums of clipped incomes
    (Gaussian(15.0), 2),  # histograms by district
    (ExponentialMechanism(0.1), 6),  # medians
    (ExponentialMechanism(0.25), 2),  # the most frequent complaint
    (DiscreteGaussian(10.0), 6),  # tables of whole numbers
    (DiscreteLaplace(30.0), 2),  # counts that are published as they are
)
"""The 40 queries that an agency makes in a year."""

QUERIES = sum(query * count for query, count in YEAR_OF_QUERIES)

PLANS = {
    "the run of the README": Plan(README_RUN, 1e-5),
    "rate 0.01, noise 1, 1,000 steps": Plan(Gaussian(1.0).on(Poisson(0.01)) * 1_000, 1e-5),
    "rate 4096/50000, noise 3, 2,500 steps": Plan(Gaussian(3.0).on(Poisson(4096 / 50_000)) * 2_500, 1e-5),
    "40 queries of a year": Plan(QUERIES, 1e-6),
    "200 Laplace counts of scale 20": Plan(Laplace(20.0) * 200, 1e-6),
    "zCDP 2.63 in 50 parts": Plan(ZCDP(2.63 / 50) * 50, 1e-6),
    "the run of the README and 20 counts": Plan(README_RUN + Laplace(20.0) * 20, 1e-5),
}


def needed_epsilon(
    plan: Plan, *, expected: Event | None = None, adjacency: Adjacency = Adjacency.ADD_OR_REMOVE
) -> float:
    """The least epsilon of a filter that admits a whole plan, by bisection over epsilon."""

    def admits(epsilon: float) -> bool:
        budget = Filter(epsilon, plan.delta, expected=expected, adjacency=adjacency)
        return budget.admits(budget.nothing, budget.price(plan.event))

    low = high = Rdp().epsilon(plan.event, delta=plan.delta, adjacency=adjacency).upper
    while not admits(high):
        low, high = high, 1.1 * high
    while high > low * 1.0005:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if admits(middle) else (middle, high)
    return high


def above_renyi(plan: Plan, *, expected: Event | None = None) -> float:
    """By how much the filter's epsilon lies above the Renyi answer for a plan that is fixed beforehand, relatively."""
    return needed_epsilon(plan, expected=expected) / Rdp().epsilon(plan.event, delta=plan.delta).upper - 1.0
