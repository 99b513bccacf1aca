"""Budgets of zero-concentrated differential privacy: (rho, delta) as an event, and an event as (rho, delta)."""

from __future__ import annotations

from typing import NamedTuple

from renyi import check
from renyi.accountants.rho import rho as rho_of
from renyi.events.event import Event
from renyi.laws.relation import Adjacency
from renyi.mechanisms.approximate_dp import ApproximateDP
from renyi.mechanisms.zcdp import ZCDP
from renyi.signatures import taught


class ZcdpBudget(NamedTuple):
    """``delta``-approximate ``rho``-zCDP; with a delta of 0, rho-zCDP. Budgets add up: rho to rho and delta to delta."""

    rho: float
    delta: float = 0.0


@taught
def from_zcdp(rho: float, delta: float = 0.0, *, adjacency: Adjacency = Adjacency.ADD_OR_REMOVE) -> Event:
    """A release that spends all of a budget: what any ``delta``-approximate ``rho``-zCDP mechanism costs at most.

    Its outputs on two neighbours agree with those of a rho-zCDP mechanism except for a part of weight ``delta``, about which
    nothing is known (Bun & Steinke 2016, arXiv:1605.02065v1, Definition 8.1). Whoever sees a rho-zCDP release and, with
    probability delta, the data themselves can imitate it: so it is one of these and one (0, delta)-DP release.

    >>> import renyi
    >>> round(renyi.epsilon(from_zcdp(0.1), delta=1e-10), 4)
    2.8818
    """
    claim = ZCDP(rho, adjacency=adjacency)
    return claim if check.delta(delta=delta) == 0.0 else claim + ApproximateDP(0.0, delta, adjacency)


@taught
def to_zcdp(event: Event, *, delta: float = 0.0, adjacency: Adjacency = Adjacency.ADD_OR_REMOVE) -> ZcdpBudget:
    """What an event takes from a zCDP budget: the rho of ``renyi.rho``, an upper bound, with the delta it holds outside of.

    >>> import renyi
    >>> to_zcdp(renyi.Gaussian(2.0) * 4)
    ZcdpBudget(rho=0.5000000000000006, delta=0.0)
    """
    return ZcdpBudget(rho_of(event, delta=delta, adjacency=adjacency), check.delta(delta=delta))
