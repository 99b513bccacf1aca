"""Exact composition of pairs with finitely many losses: every outcome of the whole run, with its probability."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from renyi.composing.common.accuracy import FULLY_COUNTED
from renyi.composing.contour.tilt import question_tilt, tilted_range
from renyi.composing.method import Found, Method
from renyi.composing.question import EpsilonAt, Question
from renyi.composing.steps import Steps
from renyi.errors import ConvergenceError
from renyi.laws.interval import Interval
from renyi.laws.pair import FiniteLossPair
from renyi.numerics.binomial import log_binomial_weight
from renyi.numerics.roots.falling_root import falling_root
from renyi.numerics.rounding import ULP
from renyi.numerics.work import spend

Array = NDArray[np.float64]

MOST_OUTCOMES = 300_000
"""Outcomes of a whole run that are listed: a few megabytes, and some milliseconds."""


class Sums(Method):
    """Every outcome of the whole run, with its probability: exact, where all laws are finite and the outcomes are few."""

    words = "sum over all outcomes"

    def covers(self, steps: Steps, question: Question, known: Found) -> bool:
        """See ``Method``."""
        return not known.answered and all(pair.finite is not None for pair, _ in steps.counted)

    def answer(self, steps: Steps, question: Question, known: Found) -> Found:
        """See ``Method``."""
        laws = [(pair.finite, count) for pair, count in steps.counted if pair.finite is not None]
        long = len(laws) == 1 and laws[0][1] >= MOST_OUTCOMES
        window = (
            tilted_range(steps.transform, question_tilt(steps.transform, question))
            if long and steps.transform
            else None
        )
        run = enumerated(laws, window)
        if run is None:
            raise ConvergenceError("the run has too many outcomes to be listed.")
        return Found(run.answer(question), self.words)


@dataclass(frozen=True, slots=True)
class FiniteRun:
    """The finite losses of a run with their logarithmic probabilities under P, and the probability of an infinite loss.

    ``error`` bounds the relative error of the probabilities, ``escape_error`` that of ``escaped``. A loss is off by at most
    ``rounding`` times itself, plus ``shift``. Of a very long run only a window of losses is held: ``above`` bounds the
    probability of what lies beyond it, and nothing is known about losses below ``known``.
    """

    loss: Array
    log_p: Array
    escaped: float
    escape_error: float
    error: float
    rounding: float
    shift: float
    above: float = 0.0
    known: float = -math.inf

    def answer(self, question: Question) -> Interval:
        """Both ends of the answer."""
        return self.epsilon(question.delta) if isinstance(question, EpsilonAt) else self.delta(question.epsilon)

    def delta(self, epsilon: float) -> Interval:
        """A sum of positive terms; the error of the losses moves epsilon."""
        off = self._off(epsilon)
        lower = self._sum(epsilon + off) * (1.0 - self.error) + self.escaped * (1.0 - self.escape_error)
        upper = self._sum(epsilon - off) * (1.0 + self.error) + self.escaped * (1.0 + self.escape_error) + self.above
        if epsilon - off < self.known:
            upper = 1.0
        lower, upper = (
            max(lower * (1.0 - 1e-15), 0.0),
            min(upper * (1.0 + (1e-15 if upper > self.escaped else 0.0)), 1.0),
        )
        return Interval(min(lower, upper), max(upper, 5e-324 if np.any(self.loss > epsilon - off) else 0.0))

    def _off(self, epsilon: float) -> float:
        """By how much the losses that matter may be off: those beyond by FULLY_COUNTED count fully wherever they are."""
        top = max(float(np.max(self.loss, initial=0.0)), 0.0)
        return self.shift + self.rounding * min(top, epsilon + FULLY_COUNTED)

    def _sum(self, epsilon: float) -> float:
        spend(2.0 * self.loss.size)
        beyond = self.loss > epsilon
        with np.errstate(under="ignore"):
            return float(np.sum(np.exp(self.log_p[beyond]) * -np.expm1(epsilon - self.loss[beyond])))

    def epsilon(self, delta: float) -> Interval:
        """The two roots for a delta that is off by the error."""
        if delta < self.escaped * (1.0 - self.escape_error):
            return Interval(math.inf, math.inf)
        if self.escape_error > 0.0 and delta <= self.escaped * (1.0 + self.escape_error):
            return Interval(0.0, math.inf)
        spent = delta - self.escaped
        top = max(float(np.max(self.loss, initial=0.0)), 0.0)
        if spent == 0.0:
            off = self.shift + self.rounding * top
            return Interval(max(top - off, 0.0), top + off)
        error = self.error + (4e-16 + self.escape_error) * (self.escaped / spent)
        if self.above >= spent:
            return Interval(0.0, math.inf)
        tail = _Tail.of(self.loss, self.log_p, math.log(spent))
        left = math.log1p(-self.above / spent)  # of delta for what is held
        upper = max(falling_root(lambda x: tail.log_excess(x) + error - left, 0.0, top)[1], self.known)
        lower = falling_root(lambda x: tail.log_excess(x) - error, 0.0, upper)[0] if upper > 0.0 else 0.0
        off = self._off(upper)
        return Interval(max(lower - off, 0.0), upper + off if upper > 0.0 else 0.0)


@dataclass(frozen=True, slots=True)
class _Tail:
    """delta(epsilon) of sorted losses in units of the delta that is wanted; far beyond epsilon only the probability counts."""

    loss: Array
    share: Array
    beyond: NDArray[np.longdouble]

    @classmethod
    def of(cls, loss: Array, log_p: Array, log_delta: float) -> _Tail:
        order = np.argsort(loss)
        share = np.exp(np.minimum(log_p[order] - log_delta, 650.0))
        beyond = np.concatenate([np.cumsum(share[::-1], dtype=np.longdouble)[::-1], [np.longdouble(0.0)]])
        return cls(loss[order], share, beyond)

    def log_excess(self, epsilon: float) -> float:
        """log(delta(epsilon)/delta)."""
        first = int(np.searchsorted(self.loss, epsilon, side="right"))
        last = int(np.searchsorted(self.loss, epsilon + FULLY_COUNTED, side="right"))
        spend(2.0 * (last - first))
        near = np.sum(self.share[first:last] * -np.expm1(epsilon - self.loss[first:last]))
        total = float(near + self.beyond[last])
        return math.log(total) if total > 0.0 else -1e3


def enumerated(
    parts: Sequence[tuple[FiniteLossPair, int]], window: tuple[float, float] | None = None
) -> FiniteRun | None:
    """Every outcome of the composition, or None where they are too many.

    ``window`` is a range of losses outside of which a single two-valued part may be cut off: what is there adds nothing
    to the digits of the answer.
    """
    loss, log_p = np.zeros(1), np.zeros(1)
    survives, error, total = 0.0, 1e-14, 0
    above, known, rounding, shift = 0.0, -math.inf, 0.0, 0.0
    most = sum(count * max(pair.largest_finite_loss, 0.0) for pair, count in parts)
    for pair, count in parts:
        values, logs = _atoms(pair)
        mass = pair.infinite_mass
        if mass >= 1.0:
            return FiniteRun(np.zeros(0), np.zeros(0), 1.0, pair.mass_error, 0.0, 0.0, 0.0)
        survives += count * math.log1p(-mass)
        if values.size == 2 and count >= MOST_OUTCOMES:
            held = _windowed(values, logs, count, window) if len(parts) == 1 and window is not None else None
            if held is None:
                return None
            *part, above, known = held
        else:
            whole = _repeated(values, logs, count)
            if whole is None or (len(parts) > 1 and whole[0].size * loss.size > MOST_OUTCOMES):
                return None
            part = list(whole)
        if len(parts) == 1 and _mirrored(values):
            rounding = pair.rounding + (ULP if count > 1 else 0.0)
        else:
            unit = pair.rounding + (0.0 if len(parts) == 1 == count else (values.size + len(parts)) * ULP)
            # The sizes of the losses of an outcome add up to its loss and twice what it takes back. Outcomes that matter lose
            # more than epsilon >= 0 in all, so that no part takes back more than all can give.
            rounding = max(rounding, unit)
            shift += 2.0 * unit * min(count * float(np.max(-values, initial=0.0)), most)
        loss = np.add.outer(loss, part[0]).ravel()
        log_p = np.add.outer(log_p, part[1]).ravel()
        spend(10.0 * loss.size)
        total += count
    error += 8e-16 * total + 4e-16 * float(np.max(np.abs(log_p[log_p > -800.0]), initial=0.0))
    escaped, escape_error = _escaped(parts, survives)
    return FiniteRun(loss, log_p, escaped, escape_error, error, rounding, shift, above, known)


def _escaped(parts: Sequence[tuple[FiniteLossPair, int]], survives: float) -> tuple[float, float]:
    """The probability of an infinite loss and its relative error; none where one step has one that is known."""
    pair, count = parts[0]
    if len(parts) == 1 == count:
        return pair.infinite_mass, pair.mass_error
    return -math.expm1(survives), 2e-15 + max(pair.mass_error for pair, _ in parts) if survives < 0.0 else 0.0


def _mirrored(values: Array) -> bool:
    """Whether the losses are plus and minus one number, so that their errors are too."""
    return values.size == 2 and values[0] == -values[1]


def _atoms(pair: FiniteLossPair) -> tuple[Array, Array]:
    """The finite losses, equal ones merged, with their logarithmic probabilities."""
    loss, log_p = pair.support
    if not loss.size:
        return loss, log_p
    first = np.flatnonzero(np.concatenate([[True], loss[1:] > loss[:-1]]))
    return loss[first], np.logaddexp.reduceat(log_p, first)


def _binomial(values: Array, logs: Array, count: int, k: Array) -> tuple[Array, Array]:
    """Losses and logarithmic probabilities of ``count`` repetitions of two values, the larger of them ``k`` times."""
    low, high = (0, 1) if values[0] < values[1] else (1, 0)
    whole = float(np.logaddexp(logs[0], logs[1]))
    share = math.exp(logs[high] - whole)
    weight = (
        log_binomial_weight(count, k, share)
        if share < 0.5
        else log_binomial_weight(count, count - k, math.exp(logs[low] - whole))
    )
    loss = (2.0 * k - count) * values[high] if _mirrored(values) else k * values[high] + (count - k) * values[low]
    return loss, weight + count * whole


def _windowed(
    values: Array, logs: Array, count: int, window: tuple[float, float]
) -> tuple[Array, Array, float, float] | None:
    """The same within a window of losses, a bound on the probability above it, and the loss from which on all is held.

    Probabilities of successive outcomes fall by a factor that itself falls, so a geometric series bounds those beyond the last.
    """
    if not math.isfinite(window[0] + window[1]):
        return None  # no tilt brings the losses to epsilon
    low, high = (0, 1) if values[0] < values[1] else (1, 0)
    step = values[high] - values[low]
    first = max(0, math.floor((window[0] - count * values[low]) / step) - 2)
    last = min(count, math.ceil((window[1] - count * values[low]) / step) + 2)
    if last - first > 4 * MOST_OUTCOMES or last < first:
        return None
    loss, log_p = _binomial(values, logs, count, np.arange(first, last + 1, dtype=np.float64))
    above = 0.0
    if last < count:
        factor = (count - last) / (last + 1.0) * math.exp(logs[high] - logs[low])
        above = math.exp(log_p[-1]) * factor / (1.0 - factor) * 1.01 if factor < 1.0 else 1.0
    return loss, log_p, above, float(loss[0]) if first > 0 else -math.inf


def _repeated(values: Array, logs: Array, count: int) -> tuple[Array, Array] | None:
    """Losses and logarithmic probabilities of ``count`` repetitions."""
    if values.size <= 1 or count == 1:
        return values * count, logs * count
    if values.size == 2:
        return _binomial(values, logs, count, np.arange(count + 1, dtype=np.float64))
    if count > MOST_OUTCOMES or math.lgamma(count + values.size) - math.lgamma(count + 1) - math.lgamma(
        values.size
    ) > math.log(MOST_OUTCOMES):
        return None
    spend(0.0, calls=10 * values.size)
    left = np.array([float(count)])
    loss, log_p = np.zeros(1), np.full(1, math.lgamma(count + 1.0))
    for value, log in zip(values[:-1], logs[:-1], strict=True):
        widths = left.astype(np.int64) + 1
        taken = np.arange(int(widths.sum())) - np.repeat(np.cumsum(widths) - widths, widths)
        left = np.repeat(left, widths) - taken
        loss = np.repeat(loss, widths) + taken * value
        log_p = np.repeat(log_p, widths) + taken * log - gammaln(taken + 1.0)
    return loss + left * values[-1], log_p + left * logs[-1] - gammaln(left + 1.0)
