"""Each record's own guarantee, from its own sampling rate."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from renyi import check
from renyi.accountants.accountant import expect
from renyi.accountants.rdp import Rdp
from renyi.composing.event_laws import renyi_curve
from renyi.composing.question import EpsilonAt
from renyi.errors import InvalidInput
from renyi.events.event import Event
from renyi.events.nodes import Sampled
from renyi.laws.conversion import best_offset, corner_epsilons, offset_epsilons
from renyi.laws.curves.curve import RenyiCurve
from renyi.laws.relation import Adjacency, Relation
from renyi.numerics.rounding import ULP
from renyi.sampling.poisson.poisson import Poisson
from renyi.signatures import taught

Array = NDArray[np.float64]

_FEW = 400  # distinct rates that are simply asked one by one
_CELLS_PER_NAT = 220  # of the logarithm of the rate, at least
_ORDERS_PER_NAT = 8
_TOLERANCE = 2e-5  # relative, of epsilon, from each of: the chord over a cell, the order of a cell


@taught
def per_record(
    event: Event,
    *,
    rates: ArrayLike,
    delta: float,
    steps: int = 1,
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE,
) -> Array:
    """epsilon at ``delta`` of each record that enters each of ``steps`` draws with its own, public, rate.

    ``event`` is what one draw is used for, itself free of sampling; the answer has the shape of ``rates``, and is never below
    that of asking ``Rdp`` for one record: at a fixed order the moment of a sampled pair is convex in the rate, so between two
    rates at which it was computed it lies below its chord, and every order is valid. A rate must not depend on the data.
    """
    event, adjacency = expect(event, adjacency)
    delta = check.delta(delta=delta)
    steps = check.count(steps=steps)
    given = check.array("rates in [0, 1]", rates=rates)
    if ((given < 0.0) | (given > 1.0)).any():
        raise InvalidInput(f"rates must be in [0, 1]; got {float(given.min())!r} to {float(given.max())!r}.")
    distinct, where = np.unique(given, return_inverse=True)
    values = np.zeros(distinct.shape)
    positive = distinct > 0.0
    if steps and positive.any():
        values[positive] = _of_distinct(event, distinct[positive], steps, delta, adjacency)
    return values[where].reshape(given.shape)


def _of_distinct(event: Event, rates: Array, steps: int, delta: float, adjacency: Adjacency) -> Array:
    cells = math.ceil(_CELLS_PER_NAT * math.log(rates[-1] / rates[0])) + 1
    smooth = not any(_curve(event, float(rates[0]), relation).kinked for relation in adjacency.relations)
    if rates.size <= max(_FEW, cells // 4) or delta == 0.0 or not smooth:
        return np.array([_one(event, float(rate), steps, delta, adjacency)[0] for rate in rates])
    log_rates, best = _best_orders(event, float(rates[0]), float(rates[-1]), steps, delta, adjacency)
    edges = _edges(log_rates, best, float(rates[0]), float(rates[-1]))
    cells = edges.size - 1
    orders = _between(0.5 * np.log(edges[:-1] * edges[1:]), log_rates, best)  # every order is valid
    cell = np.clip(np.searchsorted(edges, rates, side="right") - 1, 0, cells - 1)
    worst = np.zeros(rates.shape)
    covered: set[Relation] = set()
    for relation in adjacency.relations:
        if relation in covered:
            continue
        left, right, limit = np.empty(cells), np.empty(cells), np.empty(cells)
        before = _curve(event, float(edges[0]), relation)
        if before.covers_opposite:
            covered.add(relation.opposite)
        for index in range(cells):
            after = _curve(event, float(edges[index + 1]), relation)
            left[index], right[index] = before.at(float(orders[index])), after.at(float(orders[index]))
            limit[index] = after.limit
            before = after
        worst = np.maximum(worst, _converted(rates, edges, cell, orders, left, right, limit, steps, delta))
    return worst


def _converted(
    rates: Array,
    edges: Array,
    cell: NDArray[np.intp],
    orders: Array,
    left: Array,
    right: Array,
    limit: Array,
    steps: int,
    delta: float,
) -> Array:
    """epsilon of each rate from the chord of the moment over its cell."""
    order = orders[cell]
    s = order - 1.0
    share = (rates - edges[cell]) / (edges[cell + 1] - edges[cell])
    with np.errstate(over="ignore", invalid="ignore"):
        low, high = np.expm1(s * left[cell]), np.expm1(s * right[cell])
        chord = np.log1p(low + share * (high - low)) / s
        # Where the moment overflows, the right end of the cell: the divergence rises with the rate.
        divergence = np.where(np.isfinite(high), chord, right[cell]) * (1.0 + 8 * ULP) * steps
        log_delta = math.log(delta)
        # Every offset is valid too: the best one at the middle of each cell serves the whole cell.
        middle = steps * 0.5 * (left + right)
        offsets = np.array([best_offset(float(a), float(d), log_delta) for a, d in zip(orders, middle, strict=True)])
        value = np.minimum(
            corner_epsilons(order, divergence, log_delta), offset_epsilons(order, divergence, log_delta, offsets[cell])
        )
        slack = 16 * ULP * (np.abs(value) + divergence + (abs(log_delta) + np.log(order)) / s + np.log1p(1.0 / s))
        pure = limit[cell] * steps * (1.0 + 4 * ULP) + math.log1p(-delta)
    return np.maximum(np.minimum(np.nan_to_num(value + slack, nan=np.inf), pure), 0.0)


def _best_orders(
    event: Event, low: float, high: float, steps: int, delta: float, adjacency: Adjacency
) -> tuple[Array, Array]:
    """Logarithms of rates, and the best order at each, close enough together for interpolation.

    For noise of scale sigma the best order follows a wall, about 2 sigma^2 log(1/rate), until it is reached no more: there is
    a bend. On the wall a relative error e of the order costs about order log(1/rate) e^2/2 of epsilon.
    """

    def found(log_rates: Array) -> Array:
        rates = np.clip(np.exp(log_rates), low, high)
        orders = [_one(event, float(rate), steps, delta, adjacency)[1] for rate in rates]
        return np.array([order if math.isfinite(order) else 1e6 for order in orders])

    log_rates = np.linspace(math.log(low), math.log(high), max(3, math.ceil(_ORDERS_PER_NAT * math.log(high / low))))
    best = found(log_rates)
    while True:
        width = np.diff(log_rates)
        bends = np.abs(np.diff(np.diff(np.log(best - 1.0)) / width))
        error = np.maximum(np.append(bends, bends[-1]), np.insert(bends, 0, bends[0])) * width / 8.0
        allowed = np.sqrt(2.0 * _TOLERANCE / _height(log_rates, best))[1:]
        wrong = np.flatnonzero((error > allowed) & (width > 1.0 / _CELLS_PER_NAT))
        if not wrong.size:
            return log_rates, best
        middle = 0.5 * (log_rates[wrong] + log_rates[wrong + 1])
        log_rates, best = np.insert(log_rates, wrong + 1, middle), np.insert(best, wrong + 1, found(middle))


def _between(log_rate: Array, log_rates: Array, best: Array) -> Array:
    return 1.0 + np.exp(np.interp(log_rate, log_rates, np.log(best - 1.0)))


def _height(log_rates: Array, best: Array) -> Array:
    """Order log(1/rate): on the wall, what grows like rate^order is about one part in so many of the divergence."""
    return best * np.maximum(-log_rates, 1.0)


def _edges(log_rates: Array, best: Array, low: float, high: float) -> Array:
    """Cells of the rate, so fine that the chord over one costs little.

    Over a width h the chord of rate^order is (h order)^2/8 too high, relatively, and that is a share of 1/height of the whole.
    """
    dense = np.linspace(log_rates[0], log_rates[-1], 16 * log_rates.size)
    order = _between(dense, log_rates, best)
    density = np.maximum(_CELLS_PER_NAT, order / np.sqrt(8.0 * _TOLERANCE * _height(dense, order)))
    reached = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]) * np.diff(dense))])
    cells = math.ceil(reached[-1]) + 1
    edges = np.exp(np.interp(np.linspace(0.0, reached[-1], cells + 1), reached, dense))
    edges[0], edges[-1] = low, high
    return np.maximum.accumulate(edges)


def _one(event: Event, rate: float, steps: int, delta: float, adjacency: Adjacency) -> tuple[float, float]:
    """epsilon and the order that gave it, for one rate."""
    answer = Rdp().answer((Sampled(event, Poisson(rate)) * steps).canonical(), EpsilonAt(delta), adjacency.relations)
    return answer.interval.upper, math.inf if answer.order is None else answer.order


def _curve(event: Event, rate: float, relation: Relation) -> RenyiCurve:
    return renyi_curve(Sampled(event, Poisson(rate)), relation)
