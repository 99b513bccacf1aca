"""The questions in one call each: a float, or an array where an array was given, safe to publish."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from renyi import check
from renyi.accountants.accountant import Accountant, expect
from renyi.accountants.best import Best
from renyi.accountants.guarantee import Guarantee
from renyi.composing.event_laws import renyi_curve
from renyi.composing.question import DeltaAt, EpsilonAt, Question
from renyi.errors import InvalidInput
from renyi.events.event import Event
from renyi.laws.relation import Adjacency
from renyi.signatures import taught

Array = NDArray[np.float64]


@overload
def epsilon(
    event: Event, *, delta: float, adjacency: Adjacency = ..., accountant: Accountant | None = ...
) -> float: ...
@overload
def epsilon(
    event: Event | Sequence[Event], *, delta: ArrayLike, adjacency: Adjacency = ..., accountant: Accountant | None = ...
) -> Array | float: ...
@taught
def epsilon(
    event: Event | Sequence[Event],
    *,
    delta: ArrayLike,
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE,
    accountant: Accountant | None = None,
) -> Array | float:
    """The privacy loss of an event at ``delta``: an upper bound, numerical error included.

    Curves and densities that the user gave (``FromRenyi``, ``FromDensities``) are trusted.

    >>> import renyi
    >>> run = renyi.Gaussian(1.1).on(renyi.Poisson(rate=256 / 60_000)) * 14_063
    >>> round(renyi.epsilon(run, delta=1e-5), 5)
    2.38169

    ``delta`` may be an array, and the event a sequence of events: the answers then have the shape of the sequence followed
    by that of delta, and share the work.

    >>> step = renyi.Gaussian(1.1).on(renyi.Poisson(rate=256 / 60_000))
    >>> renyi.epsilon([step * 1_000, step * 10_000], delta=1e-5).round(3)
    array([0.599, 1.978])
    """
    given = check.array("a number in [0, 1)", delta=delta)
    return _asked(
        event, adjacency, given, [EpsilonAt(check.asked_delta(delta=float(d))) for d in given.flat], accountant
    )


@overload
def delta(
    event: Event, *, epsilon: float, adjacency: Adjacency = ..., accountant: Accountant | None = ...
) -> float: ...
@overload
def delta(
    event: Event | Sequence[Event],
    *,
    epsilon: ArrayLike,
    adjacency: Adjacency = ...,
    accountant: Accountant | None = ...,
) -> Array | float: ...
@taught
def delta(
    event: Event | Sequence[Event],
    *,
    epsilon: ArrayLike,
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE,
    accountant: Accountant | None = None,
) -> Array | float:
    """The probability of failure of an event at ``epsilon``: an upper bound, numerical error included.

    Arrays and sequences of events as in ``epsilon``.
    """
    given = check.array("a number >= 0", epsilon=epsilon)
    return _asked(
        event, adjacency, given, [DeltaAt(check.asked_epsilon(epsilon=float(e))) for e in given.flat], accountant
    )


@taught
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
@taught
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
        return Best()
    if not isinstance(accountant, Accountant):
        raise InvalidInput(f"accountant must be an accountant such as renyi.Rdp(); got {accountant!r}.")
    return accountant


def _asked(
    event: Event | Sequence[Event],
    adjacency: Adjacency,
    given: Array,
    questions: Sequence[Question],
    accountant: Accountant | None,
) -> Array | float:
    """The upper ends for one event, or for each of a sequence."""
    chosen = choose(accountant)

    def upper_ends(one: object) -> list[float]:
        canonical, neighbours = expect(one, adjacency)
        return [chosen.answer(canonical, question, neighbours.relations).interval.upper for question in questions]

    if isinstance(event, (list, tuple)):
        rows = [upper_ends(one) for one in event]
        return np.array(rows, dtype=np.float64).reshape((len(event), *given.shape))
    return _shaped(upper_ends(event), given)


def _shaped(values: list[float], like: Array) -> Array | float:
    return float(values[0]) if like.ndim == 0 else np.array(values, dtype=np.float64).reshape(like.shape)
