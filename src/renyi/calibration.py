"""The parameter that meets a target, always on the safe side: what is returned meets it by its own upper bound."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields

from renyi import check
from renyi.accountants.accountant import Accountant, expect
from renyi.accountants.questions import choose
from renyi.errors import CalibrationError, InvalidInput
from renyi.events.event import Event
from renyi.events.mechanism import Mechanism, Trend
from renyi.events.nodes import Composed, Repeated, Sampled
from renyi.events.sampling import Sampling
from renyi.mechanisms.gaussian import Gaussian
from renyi.privacy.relation import Adjacency
from renyi.sampling.poisson import Poisson

_LARGEST_COUNT = 10**15
_SCAN = 65


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
    chosen = choose(accountant)
    cost = _Cost(make, delta, adjacency, chosen)
    domain = _domain(low, high, integer)
    inside, outside = _bracket(cost, epsilon, domain, integer)
    if outside is None:
        return inside
    if not (_declared_monotone(cost.event(inside), cost.event(outside)) or (integer and abs(inside - outside) <= 1)):
        inside, outside = _scan(cost, epsilon, inside, outside, domain, integer)
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
    4.125
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


class _Cost:
    """epsilon.upper of make(x), each x computed once."""

    def __init__(
        self, make: Callable[[float], Event], delta: float, adjacency: Adjacency, accountant: Accountant
    ) -> None:
        self._make = make
        self._delta = delta
        self._adjacency = adjacency
        self._accountant = accountant
        self._known: dict[float, float] = {}

    def event(self, x: float) -> Event:
        return expect(self._make(x), self._adjacency)[0]

    def __call__(self, x: float) -> float:
        if x not in self._known:
            answer = self._accountant.answer_epsilon(self.event(x), self._delta, self._adjacency.relations)
            self._known[x] = answer.interval.upper
        return self._known[x]

    def valid(self, x: float) -> bool:
        try:
            self._make(x)
        except InvalidInput:
            return False
        return True


def _domain(low: float | None, high: float | None, integer: bool) -> tuple[float, float]:
    bottom = 0.0 if low is None else check.nonnegative(low=low)
    top = (float(_LARGEST_COUNT) if integer else 1e300) if high is None else check.nonnegative(high=high)
    if not bottom < top:
        raise InvalidInput(f"low must be below high; got low={low!r} and high={high!r}.")
    return bottom, top


def _bracket(cost: _Cost, epsilon: float, domain: tuple[float, float], integer: bool) -> tuple[float, float | None]:
    """A value that meets the target and a neighbour in the costlier direction that does not (None: the domain ends)."""
    low, high = domain
    start: float = min(max(1.0, low), high)
    if not integer and low > 0.0 and high < 1e300:
        start = math.sqrt(low * high)
    start = _whole(start) if integer else start
    if not cost.valid(start):
        start = _into_domain(cost, start, low)
    here = cost(start)
    other = _step(cost, start, 2.0, domain, integer) or _step(cost, start, 0.5, domain, integer)
    if other is None:
        raise CalibrationError("the parameter has a single possible value; nothing is left to calibrate.")
    rising = (cost(other) > here) == (other > start) and cost(other) != here
    if cost(other) == here and math.isinf(here):
        rising = False  # infinitely costly: more of it can only help
    meets = here <= epsilon
    # Walk towards more cost while the target is met, towards less while it is not.
    factor = 2.0 if meets == rising else 0.5
    last = start
    for _ in range(1100):
        following = _step(cost, last, factor, domain, integer)
        if following is None:
            break
        if (cost(following) <= epsilon) != meets:
            return (last, following) if meets else (following, last)
        last, factor = following, factor * factor if 1e-30 < factor < 1e30 else factor
    if meets:
        return last, None
    raise CalibrationError(
        f"no value meets epsilon <= {epsilon:g} at this delta: at {last!r} the cost is still {cost(last):.6g}. "
        "Allow a larger epsilon or delta, or vary another parameter."
    )


def _step(cost: _Cost, x: float, factor: float, domain: tuple[float, float], integer: bool) -> float | None:
    """The next value in a direction, kept inside the domain; None at its end."""
    low, high = domain
    following = min(max(x * factor, low), high)
    if integer:
        following = _whole(math.ceil(following) if factor > 1.0 else math.floor(following))
    if not integer and following < 1e-300:
        following = low
    if following == x:
        return None
    if not cost.valid(following):
        following = _edge(cost, x, following, integer)
    return None if following == x else following


def _edge(cost: _Cost, valid: float, invalid: float, integer: bool) -> float:
    """The last value, towards ``invalid``, of which an event can be made."""
    for _ in range(200):
        middle = 0.5 * (valid + invalid)
        middle = _whole(middle) if integer else middle
        if middle in (valid, invalid):
            break
        valid, invalid = (middle, invalid) if cost.valid(middle) else (valid, middle)
    return valid


def _into_domain(cost: _Cost, x: float, low: float) -> float:
    for exponent in range(1, 60):
        for candidate in (x * 0.5**exponent, x * 2.0**exponent):
            if candidate >= low and cost.valid(candidate):
                return candidate
    cost.event(x)  # raises what the user's function says is wrong
    return x


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


def _scan(
    cost: _Cost, epsilon: float, inside: float, outside: float, domain: tuple[float, float], integer: bool
) -> tuple[float, float]:
    """The last crossing on a scan that reaches beyond the first one found, so that no scanned point inside fails."""
    reach = min(max(inside * (inside / outside) ** 3 if outside > 0.0 else inside * 64.0, domain[0]), domain[1])
    points = [outside + (reach - outside) * i / (_SCAN - 1) for i in range(_SCAN)]
    if min(reach, outside) > 0.0:
        points = [outside * (reach / outside) ** (i / (_SCAN - 1)) for i in range(_SCAN)]
    if integer:
        points = sorted({_whole(point) for point in points}, reverse=reach < outside)
    points = [point for point in points if cost.valid(point)]
    failing = [index for index, point in enumerate(points) if cost(point) > epsilon]
    last = failing[-1] if failing else 0
    if last + 1 >= len(points):
        raise CalibrationError(
            "the cost is not monotone in this parameter and exceeds the target at the end of the range that was scanned; "
            "give low and high around the value you want."
        )
    return points[last + 1], points[last]


def _whole(x: float) -> int:
    return round(x)


def _declared_monotone(first: Event, second: Event) -> bool:
    """Whether the events differ only in parameters in which their cost is declared monotone."""
    match first, second:
        case (Mechanism(), Mechanism()) if type(first) is type(second):
            return _parameters_monotone(first, second)
        case (Sampled(a, s), Sampled(b, t)) if type(s) is type(t):
            return _declared_monotone(a, b) and _parameters_monotone(s, t)
        case (Repeated(a, _), Repeated(b, _)):
            return _declared_monotone(a, b)
        case (Repeated(a, _), (Mechanism() | Sampled())):
            return _declared_monotone(a, second)
        case ((Mechanism() | Sampled()), Repeated(b, _)):
            return _declared_monotone(first, b)
        case (Composed(a), Composed(b)) if len(a) == len(b):
            return all(_declared_monotone(x, y) for x, y in zip(a, b, strict=True))
    return first == second


def _parameters_monotone(first: Mechanism | Sampling, second: Mechanism | Sampling) -> bool:
    for field in fields(first):  # type: ignore[arg-type]
        a, b = getattr(first, field.name), getattr(second, field.name)
        trend: Trend | None = first.monotone.get(field.name)
        if a != b and (trend is None or not (trend.low <= min(a, b) and max(a, b) <= trend.high)):
            return False
    return True
