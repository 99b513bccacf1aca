"""The noise of DP-SGD: a few answers instead of a search, for long runs are nearly one Gaussian release."""

from __future__ import annotations

import math
from collections.abc import Callable

from renyi import check
from renyi.accountants.accountant import Accountant, expect
from renyi.accountants.questions import choose
from renyi.calibration.equivalent_gaussian import EquivalentGaussian, log_mean_at
from renyi.calibration.search import RELATIVE_TOLERANCE, calibrate
from renyi.composing.question import EpsilonAt
from renyi.errors import InvalidInput
from renyi.events.event import Event
from renyi.laws.relation import Adjacency
from renyi.mechanisms.gaussian import Gaussian
from renyi.sampling.poisson.poisson import Poisson
from renyi.signatures import taught

_MOST_ANSWERS = 8
"""Answers after which this search gives way to ``calibrate``; where a run is like one Gaussian release it needs three."""

_LARGEST_MISS = 0.5
"""How far the log mean of a run may be from the target's: further off, the run is not like one Gaussian release."""


@taught
def noise_multiplier(
    *,
    epsilon: float,
    delta: float,
    rate: float = 1.0,
    steps: int | None = None,
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE,
    accountant: Accountant | None = None,
) -> float:
    """The smallest noise multiplier with which ``steps`` Gaussian releases on Poisson samples meet the target.

    Without a rate all records are used, and ``steps`` is 1 unless given; on samples the number of steps must be said.

    >>> import renyi
    >>> round(renyi.noise_multiplier(epsilon=1.0, delta=1e-5, rate=0.01, steps=10_000), 3)
    3.813
    """
    sampling = Poisson(rate)
    if steps is None and sampling.rate < 1.0:
        raise InvalidInput(
            f"steps must be given beside rate={rate!r}: a rate describes one step, and every step costs. Pass "
            "steps=10_000 for ten thousand of them, or steps=1 for a single one."
        )
    count = check.count(steps=1 if steps is None else steps)

    def run(noise: float) -> Event:
        return Gaussian(noise).on(sampling) * count

    limit, spent = check.epsilon(epsilon=epsilon), check.delta(delta=delta)
    if count == 0 or sampling.rate == 0.0:
        return 0.0  # nothing is released
    if limit > 0.0 and spent > 0.0:
        like = EquivalentGaussian(sampling.rate, count)
        near = _near_gaussian(run, like, limit, spent, adjacency, choose(accountant))
        if near is not None:
            return near
    return calibrate(
        run,
        epsilon=epsilon,
        delta=delta,
        low=0.0,
        adjacency=adjacency,
        accountant=accountant,
    )


def _near_gaussian(
    run: Callable[[float], Event],
    like: EquivalentGaussian,
    epsilon: float,
    delta: float,
    adjacency: Adjacency,
    accountant: Accountant,
) -> float | None:
    """The smallest noise that meets the target, in a few steps; None if a run is not enough like one Gaussian release.

    A run has two log means of an equivalent Gaussian release: one by its noise, one by its cost. They differ by nearly the same
    number at every noise, so a line through the last two points leads to the noise that is wanted. One relation is asked until
    the target is met as closely as wanted, and then all of them.
    """
    at = wanted = log_mean_at(epsilon, delta)
    if math.isnan(wanted):
        return None
    known: list[tuple[float, float]] = []  # log means by noise, and by cost
    all_asked = False
    for _ in range(_MOST_ANSWERS):
        noise = like.noise(at)
        event, adjacency = expect(run(noise), adjacency)
        relations = adjacency.relations if all_asked else adjacency.relations[:1]
        cost = accountant.answer(event, EpsilonAt(delta), relations).interval.upper
        if not 0.0 < cost < math.inf:
            return None
        known.append((like.log_mean(noise), log_mean_at(cost, delta)))
        (u, v), slope = known[-1], 1.0
        if not abs(wanted - v) < _LARGEST_MISS:
            return None
        if cost <= epsilon and wanted - v <= RELATIVE_TOLERANCE:
            if all_asked or accountant.answer(event, EpsilonAt(delta), adjacency.relations).interval.upper <= epsilon:
                return noise
            all_asked = True
            known.clear()
            continue
        if len(known) > 1 and v != known[-2][1]:
            slope = (u - known[-2][0]) / (v - known[-2][1])
        if not 0.2 < slope < 5.0:
            return None
        at = u + slope * (wanted - v) - 0.4 * RELATIVE_TOLERANCE
    return None
