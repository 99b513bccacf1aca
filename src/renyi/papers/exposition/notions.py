"""The same event under several notions of privacy: how much is lost by describing it with each of them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from renyi import check
from renyi.accountants.accountant import expect
from renyi.accountants.best import Best
from renyi.accountants.classical.classical import Classical
from renyi.accountants.rdp import Rdp
from renyi.composing.event_laws import renyi_curve
from renyi.errors import InvalidInput
from renyi.events.event import Event
from renyi.laws.relation import Adjacency
from renyi.papers.exposition.concentrated import cdp_to_epsilon, tcdp_to_epsilon, zcdp_to_epsilon

_ORDERS = 1.0 + np.geomspace(1e-6, 1e5, 400)
"""Orders at which the parameters of the concentrated notions are fitted."""


class Notion(NamedTuple):
    """One way of describing an event, and the epsilon that follows from the description."""

    name: str
    parameters: str
    epsilon: float


def notions(event: Event, *, delta: float, adjacency: Adjacency = Adjacency.ADD_OR_REMOVE) -> tuple[Notion, ...]:
    """The event as pure DP, CDP, zCDP, tCDP, (epsilon, delta)-DP, RDP and exactly, with the epsilon that each gives.

    It is meant for comparison: the parameters of the concentrated notions are the smallest that fit the Renyi curve at 400
    orders from 1 to 1e5, so their rows are estimates, while the last three are upper bounds. A notion that does not apply costs
    infinity.
    """
    event, adjacency = expect(event, adjacency)
    delta = check.delta(delta=delta)
    if delta == 0.0:
        raise InvalidInput("the notions are compared at a delta > 0; got 0, at which only pure DP says anything.")
    curves = [renyi_curve(event, relation) for relation in adjacency.relations]
    with np.errstate(invalid="ignore"):
        divergence = np.max([curve(_ORDERS) for curve in curves], axis=0)
        mean = max(curve.at(1.0) for curve in curves)
        limit, mass = max(curve.limit for curve in curves), max(curve.mass for curve in curves)
        rho = float(np.max(divergence / _ORDERS))
        slope = float(np.max((divergence - mean) / (_ORDERS - 1.0)))
    if mass > 0.0:  # a loss that may be infinite has no moments
        limit = rho = slope = math.inf
    tau = math.sqrt(max(2.0 * slope, 0.0))
    return (
        Notion("pure DP", f"{limit:.6g}", limit),
        Notion("CDP", f"mu = {mean:.6g}, tau = {tau:.6g}", _of_cdp(mean, tau, delta)),
        Notion("zCDP", f"rho = {rho:.6g}", math.inf if math.isinf(rho) else zcdp_to_epsilon(rho=rho, delta=delta)),
        _best_tcdp(divergence, delta, usable=mass == 0.0),
        Notion(
            "(epsilon, delta)-DP", "of each release", Classical().epsilon(event, delta=delta, adjacency=adjacency).upper
        ),
        Notion("RDP", "the curve", Rdp().epsilon(event, delta=delta, adjacency=adjacency).upper),
        Notion("exact", "the loss itself", Best().epsilon(event, delta=delta, adjacency=adjacency).upper),
    )


def _of_cdp(mean: float, tau: float, delta: float) -> float:
    return math.inf if math.isinf(tau) else cdp_to_epsilon(mu=mean, tau=tau, delta=delta)


def _best_tcdp(divergence: np.ndarray, delta: float, *, usable: bool) -> Notion:
    """(rho, omega)-tCDP for the omega that gives the smallest epsilon."""
    found = Notion("tCDP", "none", math.inf)
    rhos = np.maximum.accumulate(divergence / _ORDERS)
    for rho, omega in zip(rhos.tolist(), _ORDERS.tolist(), strict=True):
        if usable and math.isfinite(rho) and omega > 1.0:
            epsilon = tcdp_to_epsilon(rho=rho, omega=omega, delta=delta)
            if epsilon < found.epsilon:
                found = Notion("tCDP", f"rho = {rho:.6g}, omega = {omega:.6g}", epsilon)
    return found
