"""The pair of a search: what releasing the best of K runs reveals, from the profile of one run."""

from __future__ import annotations

import math
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from renyi.composing.search.payoff import Ramps, payoff
from renyi.composing.search.profile_table import tabled
from renyi.events.trials import Trials
from renyi.laws.pair import DominatingPair, FiniteLossPair
from renyi.numerics.logspace import log_sum_exp
from renyi.numerics.rounding import ULP
from renyi.numerics.work import spend

Array = NDArray[np.float64]

_ROUNDING = 1e-13
"""Relative error of a sum of ramps, beside that of the run's profile: some hundred terms, all positive."""

_OFF = 8.0 * ULP
"""Relative error of a level: it is a difference of two rounded numbers."""

_LEVELS_AT_ONCE = 2_000
"""Levels times ramps in one array: three megabytes."""


def search_pair(run: DominatingPair, opposite: DominatingPair, trials: Trials) -> FiniteLossPair:
    """A pair above the best of K runs, for the relation of ``run``; ``opposite`` dominates one run the other way round.

    Theorem (ours; the proof is in docs/groups-and-tuning.md). Let f be the generating function of K, P and Q the laws of one
    run, V(u) the largest probability under Q of an event of probability u under P. Then for every eps >= 0

        delta_best(eps) <= E_P[g(e^eps q/p)],    g(t) = sup over u of (f'(1 - u) - t f'(1 - V(u)))_+.

    Since g is convex, it is at most a sum of ramps w (1 - t e^-s)_+, and each ramp contributes w delta(eps - s), delta being
    the profile of one run (``payoff``). Two corollaries follow by taking one line in place of V, and are never better:
    truncated negative binomial K, whenever (1 - gamma) delta(eps1) <= gamma (e^eps1 - 1) for the opposite relation:
    delta_best(eps) <= E[K] delta(eps - (1 + eta) eps1); Poisson K: delta_best(eps) <= E[K] delta(eps - E[K] delta(0)).

    At eps = 0 the runs may be coupled, so that each differs with probability delta(0): delta_best(0) <= 1 - f(1 - delta(0)).
    """
    try:
        return _search_pair(run, opposite, trials)
    except TypeError:  # a pair that cannot be remembered
        return _search_pair.__wrapped__(run, opposite, trials)


@lru_cache(maxsize=16)  # several accountants, relations and questions ask for the same search
def _search_pair(run: DominatingPair, opposite: DominatingPair, trials: Trials) -> FiniteLossPair:
    one = tabled(partial(_log_upper, run), partial(_log_upper, opposite), (_end(run, 0.0), _end(opposite, 0.0)))
    unlike = float(np.exp(_log_upper(one, np.zeros(1))[0]))
    if unlike == 0.0:
        return one  # the best of runs that reveal nothing reveals nothing
    log_apart = math.log(trials.any_unlike(unlike))
    there, back = payoff(one, trials), payoff(one.reversed(), trials)
    return tabled(
        partial(_log_best, one, there, trials.mean, log_apart),
        partial(_log_best, one.reversed(), back, trials.mean, log_apart),
        (_end(one, float(there.shift[-1])), _end(one.reversed(), float(back.shift[-1]))),
    )


def _log_upper(pair: DominatingPair, level: Array, terms: Array | float = 0.0) -> Array:
    """log of a profile, its errors included, at a level that is a sum of ``terms`` of that size."""
    off = pair.loss_error + _OFF * (np.abs(level) + terms)
    return np.minimum(pair.log_profile(level - off) + pair.profile_error(0.0), 0.0)


def _end(pair: DominatingPair, shift: float) -> float:
    """A level from which on ``_log_upper`` is -inf, at levels that are lowered by ``shift``; infinite where there is none."""
    return (pair.max_loss + 2.0 * pair.loss_error + shift) * (1.0 + 8.0 * _OFF)


def _log_best(run: FiniteLossPair, ramps: Ramps, mean: float, log_apart: float, level: Array) -> Array:
    """log of the theorem's bound at each level >= 0."""
    result = np.empty(level.shape)
    for start in range(0, level.size, _LEVELS_AT_ONCE):
        part = slice(start, start + _LEVELS_AT_ONCE)
        shifted = level[part, None] - ramps.shift
        spend(10.0 * shifted.size, calls=20)
        terms = np.abs(level[part, None]) + np.abs(ramps.shift)
        log_delta = _log_upper(run, shifted.ravel(), terms.ravel()).reshape(shifted.shape)
        result[part] = log_sum_exp(ramps.log_weight + log_delta)
    return np.minimum(result + (np.log(mean) + _ROUNDING), log_apart)
