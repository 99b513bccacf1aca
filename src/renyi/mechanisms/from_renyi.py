"""A mechanism known only by its Renyi curve."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from renyi.errors import InvalidInput
from renyi.events.mechanism import Mechanism
from renyi.laws.curves.called import CurveOfOrder, called_curve
from renyi.laws.curves.curve import RenyiCurve
from renyi.laws.relation import Adjacency, Relation
from renyi.numerics.rounding import ULP, raised

Array = NDArray[np.float64]
Table = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class FromRenyi(Mechanism):
    """Any mechanism whose Renyi divergence of each order is at most ``curve``, in both directions.

    ``curve`` is a table of (order, divergence), or a function of one order. Between the orders of a table the log-moment,
    (order - 1) times the divergence, is convex, so its chord is used. Below the first order the first divergence is used;
    beyond the last nothing is known. An order of infinity may end the table.

    A function is called with finite orders from 1 + 1e-6 to 1 + 1e12 and with infinity. It returns a number >= 0, ``math.inf``
    where nothing is known. Closer to 1 the value at 1 + 1e-6 is used, which is larger. A formula may lose digits near order 1:
    the loss is measured there and added.
    """

    words: ClassVar[str] = "a mechanism known by its Renyi curve"
    assumptions: ClassVar[tuple[str, ...]] = (
        "a Renyi curve given by the user: it bounds the divergence between all neighbours, in both directions",
        "a Renyi curve given as a function is right to the rounding that its values next to order 1 show, which is added; "
        "it is not asked closer to 1 than 1 + 1e-6",
    )
    references: ClassVar[tuple[str, ...]] = ("Zhu & Wang (2019), PMLR 97: any mechanism by its Renyi curve",)

    curve: Table | CurveOfOrder
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE

    def __post_init__(self) -> None:
        object.__setattr__(self, "adjacency", Adjacency.of(adjacency=self.adjacency))
        if not callable(self.curve):
            object.__setattr__(self, "curve", _checked(self.curve))
        elif not isinstance(self.curve, Hashable):
            raise InvalidInput(
                f"a curve must be hashable, so that equal events are recognised; got {self.curve!r:.80}. Wrap it: "
                "lambda order: curve(order)."
            )

    @classmethod
    def examples(cls) -> tuple[FromRenyi, ...]:
        return cls(((2.0, 0.1), (4.0, 0.25), (32.0, 3.0))), cls(((1.5, 0.2), (8.0, 0.4), (math.inf, 1.0)))

    def renyi(self, relation: Relation) -> RenyiCurve:
        self.adjacency.expect(relation, self)
        if callable(self.curve):
            return called_curve(self.curve)
        last = self.curve[-1]
        finite = tuple(row for row in self.curve if math.isfinite(row[0]))
        limit = raised(last[1], 0.0) if math.isinf(last[0]) else math.inf
        if not finite:
            return RenyiCurve(partial(_constant, limit), limit=limit, covers_opposite=True)
        beyond = math.inf if math.isinf(last[0]) else last[0]
        return RenyiCurve(
            partial(_interpolated, finite, limit), limit=limit, max_order=beyond, covers_opposite=True, kinked=True
        )


def _checked(table: object) -> Table:
    """A table as floats, or an error that says what a table looks like."""
    try:
        rows = tuple((float(order), float(value)) for order, value in table)  # type: ignore[attr-defined]
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(
            f"curve must be a function of the order or a table such as ((2, 0.1), (4, 0.25)); got {table!r}."
        ) from None
    orders, values = [row[0] for row in rows], [row[1] for row in rows]
    rising = all(a < b for a, b in itertools.pairwise(orders))
    if not rows or not rising or not orders[0] >= 1.0 or not all(0.0 <= value < math.inf for value in values):
        raise InvalidInput(
            f"a table lists rising orders from 1 on, with finite divergences >= 0; got {table!r}. Leave out infinite ones."
        )
    return rows


def _interpolated(table: Table, limit: float, order: Array) -> Array:
    """The least bound that the table gives at each order: the chord of the log-moment, or the next row's divergence."""
    orders = np.array([row[0] for row in table])
    values = np.array([row[1] for row in table])
    # A Renyi divergence never falls with its order, so a later row bounds the earlier ones too.
    values = np.minimum.accumulate(values[::-1])[::-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        chord = np.interp(order, orders, (orders - 1.0) * values) / (order - 1.0)
    result = np.where(order <= orders[0], values[0], chord)
    following = values[np.minimum(np.searchsorted(orders, order), len(values) - 1)]
    return raised(np.where(order > orders[-1], limit, np.minimum(result, following)), 8 * ULP)


def _constant(value: float, order: Array) -> Array:
    return np.full(order.shape, value)
