"""The parameter that meets a target, always on the safe side: what is returned meets it by its own upper bound."""

from __future__ import annotations

import math
from collections.abc import Callable

from renyi import check
from renyi.accountants.accountant import Accountant, expect
from renyi.accountants.questions import choose
from renyi.errors import CalibrationError, InvalidInput
from renyi.events.difference import dearer
from renyi.events.event import Event
from renyi.mechanisms.gaussian import Gaussian
from renyi.privacy.relation import Adjacency
from renyi.sampling.poisson import Poisson

_SCAN = 65  # points of a scan


def calibrate(
    make: Callable[[float], Event],
    *,
    epsilon: float,
    delta: float,
    low: float | None = None,
    high: float | None = None,
    integer: bool = False,
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE,
    accountant: Accountant | None = None,
) -> float:
    """The value x at which the event ``make(x)`` just costs no more than ``epsilon`` at ``delta``.

    The smallest such x if a larger x costs less (noise), the largest if a larger x costs more (steps, rate); which of
    the two is found out. ``integer=True`` searches whole numbers, for steps. ``low`` and ``high`` bound the search and are
    needed only where the parameter's domain does not. Where the cost is not known to be monotone in the parameter
    that ``make`` varies, the range is scanned, and the answer is on the safe side of every point of the scan.
    """
    epsilon = check.epsilon(epsilon=epsilon)
    delta = check.delta(delta=delta)
    axis = _Axis(make, low, high, integer)
    cost = _Cost(axis, delta, adjacency, choose(accountant))
    inside, outside = _bracket(axis, cost, epsilon)
    if outside is None:
        return inside
    if dearer(axis.event(inside), axis.event(outside)) is None:
        inside, outside = _scan(axis, cost, epsilon, inside, outside)
    return _bisect_integers(cost, epsilon, inside, outside) if integer else _narrow(cost, epsilon, inside, outside)


def noise_multiplier(
    *,
    epsilon: float,
    delta: float,
    rate: float = 1.0,
    steps: int = 1,
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE,
    accountant: Accountant | None = None,
) -> float:
    """The smallest noise multiplier with which ``steps`` Gaussian releases on Poisson samples meet the target.

    >>> import renyi
    >>> round(renyi.noise_multiplier(epsilon=1.0, delta=1e-5, rate=0.01, steps=10_000), 3)
    3.813
    """
    sampling, count = Poisson(rate), check.count(steps=steps)
    return calibrate(
        lambda noise: Gaussian(noise).on(sampling) * count,
        epsilon=epsilon,
        delta=delta,
        low=0.0,
        adjacency=adjacency,
        accountant=accountant,
    )


class _Axis:
    """The values that the parameter may take, and the events they make."""

    def __init__(self, make: Callable[[float], Event], low: float | None, high: float | None, integer: bool) -> None:
        self._make = make
        self.integer = integer
        self.low = 0.0 if low is None else check.nonnegative(low=low)
        self.high = (1e15 if integer else 1e300) if high is None else check.nonnegative(high=high)
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
    """epsilon.upper of the event at x, each x computed once."""

    def __init__(self, axis: _Axis, delta: float, adjacency: Adjacency, accountant: Accountant) -> None:
        self._axis = axis
        self._delta = delta
        self._adjacency = adjacency
        self._accountant = accountant
        self._known: dict[float, float] = {}

    def __call__(self, x: float) -> float:
        if x not in self._known:
            event, adjacency = expect(self._axis.event(x), self._adjacency)
            self._known[x] = self._accountant.answer_epsilon(event, self._delta, adjacency.relations).interval.upper
        return self._known[x]


def _bracket(axis: _Axis, cost: _Cost, epsilon: float) -> tuple[float, float | None]:
    """A value that meets the target and one on the costlier side of it that does not (None: the axis ends before)."""
    last = axis.start()
    meets = cost(last) <= epsilon
    # Towards more cost while the target is met, towards less while it is not, in growing strides.
    factor = 2.0 if meets == _rising(axis, cost, last) else 0.5
    strides = 0
    while (following := axis.step(last, factor)) is not None:
        if (cost(following) <= epsilon) != meets:
            return (last, following) if meets else (following, last)
        last, strides = following, strides + 1
        if strides > 2 and 1e-30 < factor < 1e30:
            factor *= factor
    if meets:
        return last, None
    raise CalibrationError(
        f"no value meets epsilon <= {epsilon:g} at this delta: at {last!r} the cost is still {cost(last):.6g}. "
        "Allow a larger epsilon or delta, or vary another parameter."
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


def _narrow(cost: _Cost, epsilon: float, inside: float, outside: float) -> float:
    """Close in on the boundary to a relative 1e-9, keeping the end that meets the target.

    The cost is nearly a power of the parameter, so the secant in logarithms lands close. It is kept a hair away from
    both ends: once it has converged, the next point falls on the other side of the boundary and closes the bracket.
    """
    for step in range(200):
        small, large = sorted((inside, outside))
        if large - small <= 1e-9 * large:
            break
        middle = math.sqrt(small) * math.sqrt(large) if small > 0.0 else 0.5 * large
        a, b = cost(inside), cost(outside)
        if step % 3 != 2 and small > 0.0 and 0.0 < a < epsilon < b < math.inf:
            secant = inside * (outside / inside) ** (math.log(epsilon / a) / math.log(b / a))
            middle = min(max(secant, small * (1.0 + 4e-10)), large * (1.0 - 4e-10))
        if cost(middle) <= epsilon:
            inside = middle
        else:
            outside = middle
    return inside


def _bisect_integers(cost: _Cost, epsilon: float, inside: float, outside: float) -> int:
    good, bad = int(inside), int(outside)
    while abs(good - bad) > 1:
        middle = (good + bad) // 2
        if cost(middle) <= epsilon:
            good = middle
        else:
            bad = middle
    return good


def _scan(axis: _Axis, cost: _Cost, epsilon: float, inside: float, outside: float) -> tuple[float, float]:
    """The last crossing on a scan that reaches beyond the first one found, so that no scanned point inside fails."""
    far = inside * (inside / outside) ** 3 if outside > 0.0 else inside * 64.0
    far = min(max(far, axis.low), axis.high)
    shares = [i / (_SCAN - 1) for i in range(_SCAN)]
    if min(far, outside) > 0.0:
        points: list[float] = [outside * (far / outside) ** share for share in shares]
    else:
        points = [outside + (far - outside) * share for share in shares]
    if axis.integer:
        points = sorted({round(point) for point in points}, reverse=far < outside)
    points = [point for point in points if axis.valid(point)]
    failing = [index for index, point in enumerate(points) if cost(point) > epsilon]
    last = failing[-1] if failing else 0
    if last + 1 >= len(points):
        raise CalibrationError(
            "the cost is not known to be monotone in this parameter, and exceeds the target at the end of the range that was "
            "scanned; give low and high around the value you want."
        )
    return points[last + 1], points[last]
