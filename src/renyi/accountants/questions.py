"""The questions in one call each: a float, or an array where an array was given, safe to publish."""

from __future__ import annotations

from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from renyi import check
from renyi.accountants.accountant import Accountant, expect
from renyi.accountants.guarantee import Guarantee
from renyi.accountants.laws import renyi_curve
from renyi.accountants.rdp import Rdp
from renyi.errors import InvalidInput
from renyi.events.event import Event
from renyi.privacy.relation import Adjacency

Array = NDArray[np.float64]


@overload
def epsilon(
    event: Event, *, delta: float, adjacency: Adjacency = ..., accountant: Accountant | None = ...
) -> float: ...
@overload
def epsilon(
    event: Event, *, delta: ArrayLike, adjacency: Adjacency = ..., accountant: Accountant | None = ...
) -> Array | float: ...
def epsilon(
    event: Event,
    *,
    delta: ArrayLike,
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE,
    accountant: Accountant | None = None,
) -> Array | float:
    """The privacy loss of an event at ``delta``: an upper bound, numerical error included.

    >>> import renyi
    >>> run = renyi.Gaussian(1.1).on(renyi.Poisson(rate=256 / 60_000)) * 14_063
    >>> round(renyi.epsilon(run, delta=1e-5), 4)
    2.5966
    """
    event, adjacency = expect(event, adjacency)
    chosen = choose(accountant)
    given = check.array("a number in [0, 1)", delta=delta)
    values = [
        chosen.answer_epsilon(event, check.delta(delta=float(d)), adjacency.relations).interval.upper
        for d in given.flat
    ]
    return _shaped(values, given)


@overload
def delta(
    event: Event, *, epsilon: float, adjacency: Adjacency = ..., accountant: Accountant | None = ...
) -> float: ...
@overload
def delta(
    event: Event, *, epsilon: ArrayLike, adjacency: Adjacency = ..., accountant: Accountant | None = ...
) -> Array | float: ...
def delta(
    event: Event,
    *,
    epsilon: ArrayLike,
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE,
    accountant: Accountant | None = None,
) -> Array | float:
    """The probability of failure of an event at ``epsilon``: an upper bound, numerical error included."""
    event, adjacency = expect(event, adjacency)
    chosen = choose(accountant)
    given = check.array("a number >= 0", epsilon=epsilon)
    values = [
        chosen.answer_delta(event, check.epsilon(epsilon=float(e)), adjacency.relations).interval.upper
        for e in given.flat
    ]
    return _shaped(values, given)


def guarantee(
    event: Event,
    *,
    delta: float | None = None,
    epsilon: float | None = None,
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE,
    accountant: Accountant | None = None,
) -> Guarantee:
    """The full answer at ``delta`` (or at ``epsilon``): interval, method, relation, order, assumptions, references."""
    return choose(accountant).guarantee(event, delta=delta, epsilon=epsilon, adjacency=adjacency)


@overload
def divergence(event: Event, *, order: float, adjacency: Adjacency = ...) -> float: ...
@overload
def divergence(event: Event, *, order: ArrayLike, adjacency: Adjacency = ...) -> Array | float: ...
def divergence(event: Event, *, order: ArrayLike, adjacency: Adjacency = Adjacency.ADD_OR_REMOVE) -> Array | float:
    """The Renyi curve of an event at real orders in [1, inf]: the worst relation, an upper bound."""
    event, adjacency = expect(event, adjacency)
    given = check.orders(order=order)
    flat = given.ravel()
    worst = np.zeros(flat.shape)
    covered = set()
    for relation in adjacency.relations:
        if relation in covered:
            continue
        curve = renyi_curve(event, relation)
        if curve.covers_opposite:
            covered.add(relation.opposite)
        worst = np.maximum(worst, curve(flat))
    return _shaped(list(worst), given)


def choose(accountant: Accountant | None) -> Accountant:
    """The accountant that was asked for, or the best there is."""
    if accountant is None:
        return Rdp()
    if not isinstance(accountant, Accountant):
        raise InvalidInput(f"accountant must be an accountant such as renyi.Rdp(); got {accountant!r}.")
    return accountant


def _shaped(values: list[float], like: Array) -> Array | float:
    return float(values[0]) if like.ndim == 0 else np.array(values, dtype=np.float64).reshape(like.shape)
