"""The parameter that meets a target, always on the safe side: what is returned meets it by its own upper bound."""

from __future__ import annotations

import math
from collections.abc import Callable

from renyi import check
from renyi.accountants.accountant import Accountant, expect
from renyi.accountants.questions import choose
from renyi.calibration.target import Target
from renyi.errors import CalibrationError, InvalidInput
from renyi.events.difference import dearer
from renyi.events.event import Event
from renyi.laws.relation import Adjacency
from renyi.signatures import taught

_SCANNED_POINTS, _SCANNED_RATIO = 64, 8.0
"""Points at which a cost is asked that is not known to be monotone, and the ratio of the last of them to the value found."""

_LARGEST_VALUE = 1e300
"""Value at which a search without ``high`` ends: near the largest float, with some room for what an event computes from it."""

_LARGEST_WHOLE = 1e15
"""Whole number at which a search without ``high`` ends: up to 2^53, nine times as many, floats hold every whole number."""

_FIRST_WHOLE_STRIDE = 64.0
"""Ratio of the first two whole numbers that are tried, from 1 on: a few steps are harder to compose than many."""

_CLOSE_BY = 1e-6
"""Share of the way to the costlier value at which a trend is looked for that holds of values however close."""

_PREDICTED_STRIDES = 3
"""Strides towards the limit that go where it is predicted; if they do not cross it, the next ones grow blindly."""

_BEYOND = 1.05
"""How far beyond the prediction they go, as a ratio."""

_BROADER = 16.0
"""By how much a hair beyond the prediction grows where it was too thin."""

RELATIVE_TOLERANCE = 1e-9
"""Relative distance from the best value at which a search stops: as many digits as the answers have."""


@taught
def calibrate(
    make: Callable[[float], Event],
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    mu: float | None = None,
    advantage: float | None = None,
    tpr: float | None = None,
    fpr: float | None = None,
    success: float | None = None,
    prior: float | None = None,
    low: float | None = None,
    high: float | None = None,
    integer: bool = False,
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE,
    accountant: Accountant | None = None,
) -> float:
    """The value x at which the event ``make(x)`` just meets a target.

    The target is a privacy loss (``epsilon`` at ``delta``), a Gaussian one (``mu`` wherever delta is at least ``delta``; see
    ``gdp``), or what an attacker may achieve at most (see ``risk``; Kulynych et
    al. 2024, arXiv:2407.02191): an ``advantage``, a true-positive rate ``tpr`` at a false-positive rate ``fpr``, or a
    probability of ``success`` at a ``prior``.

    >>> import renyi
    >>> round(renyi.calibrate(renyi.Gaussian, advantage=0.1), 6)  # 2 Phi(1/(2 x)) - 1 = 0.1
    3.978948

    It is the smallest such x if a larger x costs less (noise), the largest if a larger x costs more (steps, rate); which of
    the two is found out. ``integer=True`` searches whole numbers, for steps. ``low`` and ``high`` bound the search and are
    needed only where the parameter's domain does not: without ``high`` nothing beyond 1e300 is tried, and no whole number
    beyond 10**15; if even that one meets the target, there may be no largest, and ``CalibrationError`` says so. Where the
    cost is not known to be monotone around the value found, the range beyond it is scanned, and the answer is on the safe
    side of every point of the scan.
    """
    target = Target.of(
        epsilon=epsilon, delta=delta, mu=mu, advantage=advantage, tpr=tpr, fpr=fpr, success=success, prior=prior
    )
    axis = _Axis(make, low, high, integer)
    cost = _Cost(axis, target, adjacency, choose(accountant))
    inside, outside = _bracket(axis, cost, target)
    if outside is None:
        if high is None and inside == axis.high:
            raise CalibrationError(
                f"every value that was tried meets {target.words}, up to {inside:g}, where it is {cost(inside):.6g}; there "
                "may be no largest one. Give high, which is then the answer if it meets the target."
            )
        return inside
    narrow = _narrow_integers if integer else _narrow
    found = narrow(cost, target.limit, inside, outside)
    if (
        not _is_monotone(axis, found, outside)
        and (beyond := _scan(axis, cost, target.limit, found, outside)) is not None
    ):
        return narrow(cost, target.limit, *beyond)
    return found


class _Axis:
    """The values that the parameter may take, and the events they make."""

    def __init__(self, make: Callable[[float], Event], low: float | None, high: float | None, integer: bool) -> None:
        self._make = make
        self.integer = integer
        self.low = 0.0 if low is None else check.nonnegative(low=low)
        self.high = (_LARGEST_WHOLE if integer else _LARGEST_VALUE) if high is None else check.nonnegative(high=high)
        if integer:
            self.low, self.high = math.ceil(self.low), math.floor(self.high)
        if not callable(make):
            raise InvalidInput(
                f"the first argument must be a function from a value to an event, such as Gaussian; got {make!r}."
            )
        if not self.low < self.high:
            raise InvalidInput(f"low must be below high; got low={low!r} and high={high!r}.")

    def event(self, x: float) -> Event:
        return expect(self._make(x), Adjacency.ADD_OR_REMOVE)[0]

    def valid(self, x: float) -> bool:
        try:
            self._make(x)
        except InvalidInput:
            return False
        return True

    def start(self) -> float:
        """A value to begin with: 1 if that is possible, else one between the bounds."""
        bounded = self.low > 0.0 and self.high < 1e300
        first = self._rounded(math.sqrt(self.low * self.high) if bounded else min(max(1.0, self.low), self.high))
        for exponent in range(60):
            for candidate in (first * 0.5**exponent, first * 2.0**exponent):
                x = self._rounded(candidate)
                if self.low <= x <= self.high and self.valid(x):
                    return x
        self.event(first)  # raises what the user's function says is wrong
        return first

    def step(self, x: float, factor: float) -> float | None:
        """The next value in a direction, pulled back to the last one of which an event can be made; None at the end."""
        following = min(max(x * factor, self.low), self.high)
        if self.integer:
            following = math.ceil(following) if factor > 1.0 else math.floor(following)
        elif following < 1e-300:
            following = self.low
        good, bad = x, following
        while following != x and not self.valid(following):
            bad, following = following, self._rounded(0.5 * (good + following))
            if following in (good, bad):
                return None if good == x else good
            if self.valid(following):
                good, following = following, self._rounded(0.5 * (following + bad))
                if following in (good, bad):
                    return good
        return None if following == x else following

    def _rounded(self, x: float) -> float:
        return round(x) if self.integer else x


class _Cost:
    """The upper bound on the cost of the event at x, each x computed once."""

    def __init__(self, axis: _Axis, target: Target, adjacency: Adjacency, accountant: Accountant) -> None:
        self._axis = axis
        self._target = target
        self._adjacency = adjacency
        self._accountant = accountant
        self._known: dict[float, float] = {}

    def __call__(self, x: float) -> float:
        if x not in self._known:
            event, adjacency = expect(self._axis.event(x), self._adjacency)
            self._known[x] = self._target.measure(event, adjacency, self._accountant)
        return self._known[x]

    def first_stride(self, x: float) -> float:
        """The ratio of the first two values: up to the limit, if the cost is inverse to the parameter, or 2 if it is far."""
        here, limit = self._target.scale(self(x)), self._target.scale(self._target.limit)
        if not 0.0 < min(here, limit) <= max(here, limit) < math.inf:
            return 2.0
        return min(_BEYOND * max(here / limit, limit / here), 2.0)

    def predicted(self) -> tuple[float, float] | None:
        """Where the cost reaches the limit, by inverse interpolation of logarithms, and about how far off that is, relatively.

        On the target's scale the cost is nearly a power of the parameter. Neville's scheme through the up to four values that
        are nearest to the limit.
        """
        limit = self._target.scale(self._target.limit)
        if not 0.0 < limit < math.inf:
            return None
        scaled = ((x, self._target.scale(y)) for x, y in self._known.items())
        known = {math.log(y) - math.log(limit): math.log(x) for x, y in scaled if x > 0.0 and 0.0 < y < math.inf}
        nearest = sorted(known.items(), key=lambda point: abs(point[0]))[:4]
        if len(nearest) < 2:
            return None
        estimates, last = [x for _, x in nearest], math.inf
        for order in range(1, len(nearest)):
            last = estimates[0]
            for i in range(len(nearest) - order):
                u, v = nearest[i][0], nearest[i + order][0]
                estimates[i] = (u * estimates[i + 1] - v * estimates[i]) / (u - v)
        return math.exp(min(estimates[0], 700.0)), abs(estimates[0] - last)


def _bracket(axis: _Axis, cost: _Cost, target: Target) -> tuple[float, float | None]:
    """A value that meets the target and one on the costlier side of it that does not (None: the axis ends before)."""
    last = axis.start()
    meets = cost(last) <= target.limit
    # Towards more cost while the target is met, towards less while it is not, in growing strides.
    first = _FIRST_WHOLE_STRIDE if axis.integer else cost.first_stride(last)
    factor = first if meets == _rising(axis, cost, last) else 1.0 / first
    strides = 0
    while (following := axis.step(last, factor)) is not None:
        if (cost(following) <= target.limit) != meets:
            return (last, following) if meets else (following, last)
        last, strides = following, strides + 1
        if last == 0.0:
            break
        prediction = cost.predicted() if strides <= _PREDICTED_STRIDES else None
        if prediction is not None and (prediction[0] > last) == (factor > 1.0):
            beyond = prediction[0] / last * (_BEYOND if factor > 1.0 else 1.0 / _BEYOND)
            factor = min(max(beyond, 1e-3), 1e3)
        elif 1e-30 < factor < 1e30:
            factor *= factor
    if meets:
        return last, None
    raise CalibrationError(
        f"no value meets {target.words}: at {last!r} it is still {cost(last):.6g}. "
        "Allow more, or vary another parameter."
    )


def _rising(axis: _Axis, cost: _Cost, x: float) -> bool:
    """Whether more of the parameter costs more: by what is declared, else by comparing costs, further and further out."""
    for factor in (2.0, 0.5, 64.0, 1 / 64.0, 1e6, 1e-6):
        other = axis.step(x, factor)
        if other is None:
            continue
        known = dearer(axis.event(x), axis.event(other))
        if known is not None:
            return known == (other > x)
        if cost(other) != cost(x):
            return (cost(other) > cost(x)) == (other > x)
    raise CalibrationError(
        f"the cost does not depend on the parameter: it is {cost(x):.6g} at {x!r} and around it. Does the function use it?"
    )


def _narrow(cost: _Cost, limit: float, inside: float, outside: float) -> float:
    """Close in on the boundary to a relative 1e-9, keeping the end that meets the target.

    Each point is the predicted one, moved a hair towards the end that meets the target: if it costs what was predicted, the
    search is over. If it does not meet the target, the prediction is less exact than it seemed: from the second time on the
    next hair is broader. Where three steps do not halve the bracket, bisect.
    """
    widths = [math.inf] * 3
    missed = 0
    for _ in range(200):
        small, large = sorted((inside, outside))
        if large - small <= RELATIVE_TOLERANCE * large:
            break
        middle = math.sqrt(small) * math.sqrt(large) if small > 0.0 else 0.5 * large
        prediction = cost.predicted() if large - small <= 0.5 * widths[-3] else None
        if prediction is not None and small < prediction[0] < large:
            found, error = prediction
            hair = found * min(max(2e-3 * error, 4e-10) * _BROADER ** max(missed - 1, 0), 0.1)
            moved = found + (hair if inside == large else -hair)
            middle = min(max(moved, small * (1.0 + 4e-10)), large * (1.0 - 4e-10))
        widths.append(large - small)
        if cost(middle) <= limit:
            inside, missed = middle, 0
            if prediction is not None and _is_as_predicted(cost, prediction, inside, outside):
                break
        else:
            outside, missed = middle, missed + 1
    return inside


def _is_as_predicted(cost: _Cost, before: tuple[float, float], inside: float, outside: float) -> bool:
    """Whether the cost of the value that meets the target is what was predicted, and the limit so close that none is better.

    The limit is then predicted twice at the same place, with the help of this cost and without it.
    """
    after = cost.predicted()
    if after is None or not min(inside, outside) < after[0] < max(inside, outside):
        return False
    near = RELATIVE_TOLERANCE * inside
    return abs(after[0] - inside) <= 0.5 * near and abs(after[0] - before[0]) <= 0.1 * abs(before[0] - inside)


def _narrow_integers(cost: _Cost, limit: float, inside: float, outside: float) -> int:
    """The last whole number that meets the target: those beside the predicted one, halving where that does not help."""
    good, bad = int(inside), int(outside)
    widths = [math.inf] * 3
    while (width := abs(good - bad)) > 1:
        small, large = sorted((good, bad))
        middle = (good + bad) // 2
        prediction = cost.predicted() if width <= 0.5 * widths[-3] else None
        if prediction is not None and small < prediction[0] < large:
            found, error = prediction
            hair = round(found * min(2e-3 * error, 0.1))
            moved = math.floor(found) + (1 + hair if large - found > found - small else -hair)
            middle = min(max(moved, small + 1), large - 1)
        widths.append(width)
        if cost(middle) <= limit:
            good = middle
        else:
            bad = middle
    return good


def _is_monotone(axis: _Axis, inside: float, outside: float) -> bool:
    """Whether the cost is declared to move one way between these values, however close two of them are."""
    first, last = axis.event(inside), axis.event(outside)
    if dearer(first, last) is None:
        return False
    step = int(math.copysign(1, outside - inside)) if axis.integer else _CLOSE_BY * (outside - inside)
    beside = inside + step
    return beside in (inside, outside) or dearer(first, axis.event(beside)) is not None


def _scan(axis: _Axis, cost: _Cost, limit: float, inside: float, outside: float) -> tuple[float, float] | None:
    """The last crossing beyond the one that was found, on a scan away from what failed; None if no scanned point fails."""
    far = min(max(inside * (_SCANNED_RATIO if inside > outside else 1.0 / _SCANNED_RATIO), axis.low), axis.high)
    if min(inside, far) <= 0.0:
        return None
    points: list[float] = [inside * (far / inside) ** (i / _SCANNED_POINTS) for i in range(_SCANNED_POINTS + 1)]
    if axis.integer:
        points = sorted({round(point) for point in points}, reverse=far < inside)
    points = [point for point in points if axis.valid(point)]
    cheap = axis.event(inside)

    def fails(point: float) -> bool:
        """By what is declared of values that are far apart, where that says it; else by asking."""
        return dearer(cheap, axis.event(point)) is not False and cost(point) > limit

    failing = [index for index, point in enumerate(points) if fails(point)]
    if not failing:
        return None
    last = failing[-1]
    while last + 1 < len(points) and cost(points[last + 1]) > limit:
        last += 1
    if last + 1 >= len(points):
        raise CalibrationError(
            "the cost is not known to be monotone in this parameter, and exceeds the target at the end of the range that was "
            "scanned; give low and high around the value you want."
        )
    return points[last + 1], points[last]
