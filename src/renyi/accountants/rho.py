"""Zero-concentrated differential privacy: the rho of a whole run, at every order or outside of a small probability."""

from __future__ import annotations

import math

import numpy as np

from renyi import check
from renyi.accountants.accountant import Accountant, expect
from renyi.accountants.gdp import gdp
from renyi.composing.compose import WORK
from renyi.composing.event_laws import dominating_pair
from renyi.errors import UnsupportedError
from renyi.events.event import Event
from renyi.events.nodes import Sampled, atoms
from renyi.laws.pairs.gaussian import GaussianPair
from renyi.laws.relation import Adjacency, Relation
from renyi.mechanisms.discrete_gaussian import DiscreteGaussianPair
from renyi.mechanisms.exponential_mechanism import BoundedRangePair
from renyi.mechanisms.zcdp import ZCDP
from renyi.numerics.rounding import sum_above
from renyi.numerics.work import allowance
from renyi.sampling.poisson.poisson import Poisson


def rho(
    event: Event,
    *,
    delta: float = 0.0,
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE,
    accountant: Accountant | None = None,
) -> float:
    """The rho for which an event is ``delta``-approximately rho-zCDP (see ``Gdp.rho``), an upper bound.

    Without a delta, rho bounds the Renyi divergence of every order divided by the order. For a Poisson sample that is as
    large as without sampling: at high orders only the worst outcomes count, and there the record was drawn. Give delta, such
    as 1e-12.

    >>> import renyi
    >>> run = renyi.Gaussian(1.1).on(renyi.Poisson(rate=256 / 60_000)) * 14_063
    >>> round(renyi.rho(run)), round(renyi.rho(run, delta=1e-12), 3)
    (5811, 0.179)
    """
    event, adjacency = expect(event, adjacency)
    floor = check.asked_delta(delta=delta)
    with allowance(WORK), np.errstate(all="ignore"):
        known = max(_whole_rho(event, relation) for relation in adjacency.relations)
    if floor == 0.0 and math.isinf(known):
        raise UnsupportedError(
            "rho is known at every order for Gaussian noise, continuous or discrete, zCDP, bounded losses and samples "
            f"of these; got {event!r}. Give delta, such as 1e-12, for a rho that holds outside of that probability."
        )
    if floor == 0.0:
        return known
    return min(known, gdp(event, delta=floor, adjacency=adjacency, accountant=accountant).rho)


def _whole_rho(event: Event, relation: Relation) -> float:
    """Rho at every order, which adds up over the parts of a run; infinite where some part has none that is known."""
    parts = [(_atom_rho(atom, relation), count) for atom, count in atoms(event, 1)]
    return sum_above(parts) if all(math.isfinite(value) for value, _ in parts) else math.inf


def _atom_rho(atom: Event, relation: Relation) -> float:
    """Rho of one release; of a sample no more than of the whole, by joint convexity of the moments."""
    match atom:
        case ZCDP(value, 0.0):
            atom.adjacency.expect(relation, atom)
            return value
        case Sampled(inner, Poisson()):
            return _whole_rho(inner, relation)
    pair = dominating_pair(atom, relation)
    if isinstance(pair, GaussianPair):
        return max(0.5 / pair.noise / pair.noise * (1.0 + 1e-15), 5e-324) if pair.noise > 0.0 else math.inf
    if isinstance(pair, DiscreteGaussianPair):
        # Canonne, Kamath & Steinke (2020), arXiv:2004.00010v5, Theorem 4: no more than continuous noise of the same scale.
        distance = pair.shift / pair.scale if pair.scale > 0.0 else math.inf
        return max(0.5 * distance * distance * (1.0 + 1e-15), 5e-324)
    if isinstance(pair, BoundedRangePair):
        # Rogers & Steinke (2021), "A Better Privacy Analysis of the Exponential Mechanism".
        return 0.125 * pair.epsilon**2 * (1.0 + 4e-16)
    if pair is None:
        return math.inf
    # Pure DP: Bun & Steinke (2016), arXiv:1605.02065v1, Proposition 3.3.
    largest = max(pair.max_loss + pair.loss_error, pair.reversed().max_loss + pair.reversed().loss_error)
    return 0.5 * largest * largest * (1.0 + 4e-16)
