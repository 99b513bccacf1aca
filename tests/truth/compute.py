"""Make composition.json: exact epsilons of compositions, each evaluated twice at high precision.

Run as ``python -m tests.truth.compute``; finished cases are kept, only missing ones are computed. Nothing here imports
the package under test. Every parameter is taken as the exact binary64 number it is written as.

P and Q are the laws with and without the record, y = log dP/dQ of one release, r = 1 - q + q e^y its ratio on a Poisson
sample. "remove" has the loss log r under P' = (1-q) Q + q P, "add" the loss -log r under Q.
"""

from __future__ import annotations

import cmath
import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from flint import acb, acb_mat, arb, arb_mat, arb_poly, arb_series, ctx, fmpz_poly

FILE = Path(__file__).with_name("composition.json")
RELATIONS = ("remove", "add")
LOG10 = math.log(10.0)
BLOCK = 64  # contour points per column block of the matrix product
MOST_POINTS = 1_200_000
FEWEST_DIGITS = 18  # two evaluations that share fewer are not kept
CHEAP = 6.0  # seconds: beyond it delta(0) is not computed as well


@dataclass(frozen=True)
class Effort:
    """How one of the two evaluations is made; the second differs in everything that could be wrong in the first."""

    bits: int
    digits: int
    tilt: float  # the contour's abscissa, relative to the saddle
    shift: float  # the path of y in the complex plane, in units of pi
    longer: float  # how far beyond the cut the contour is followed


FIRST = Effort(bits=256, digits=30, tilt=1.0, shift=0.45, longer=1.0)
SECOND = Effort(bits=288, digits=33, tilt=0.9, shift=0.4, longer=1.3)
ROUGH = Effort(bits=256, digits=18, tilt=1.0, shift=0.45, longer=1.0)


def pi() -> arb:
    return arb.pi()


def normal_tail(x: arb) -> arb:
    """P(N(0,1) > x)."""
    return (x / arb(2).sqrt()).erfc() / 2


def middle(x: arb) -> arb:
    """The number in the middle of a ball: these are evaluations, checked by a second one, not enclosures."""
    return x.mid()


# ---------------------------------------------------------------------------------------------------------------------
# Moments E exp(t L) on the points t = c + i j h of a vertical line.


class ClosedForm:
    """The line of a log-moment known in closed form."""

    def __init__(self, log_moment: Callable[[acb], acb], c: arb, h: arb):
        self.log_moment, self.c, self.h, self.j = log_moment, c, h, 0

    def take(self, size: int) -> list[acb]:
        """The next values."""
        points = range(self.j, self.j + size)
        self.j += size
        return [self.log_moment(acb(self.c, j * self.h)) for j in points]


class Weighted:
    """The line of log sum_k w_k exp(t l_k): powers of exp(i h l_k), by blocks in one matrix product."""

    def __init__(self, nodes: list[tuple[acb, acb]], c: arb, h: arb):
        self.state = [weight * (c * loss).exp() for loss, weight in nodes]
        self.turns = [(acb(0, h) * loss).exp() for loss, _ in nodes]
        self.jumps = [turn**BLOCK for turn in self.turns]
        self.columns: acb_mat | None = None

    def take(self, size: int) -> list[acb]:
        """The next values; `size` is 1 (once) or a multiple of BLOCK."""
        if size == 1:
            return [sum(self.state, acb(0)).log()]
        if self.columns is None:
            self.columns = acb_mat(len(self.turns), BLOCK, [x for turn in self.turns for x in _powers(turn)])
        rows: list[acb] = []
        for _ in range(size // BLOCK):
            rows.extend(self.state)
            self.state = [(s * jump).mid() for s, jump in zip(self.state, self.jumps, strict=True)]
        values = (acb_mat(size // BLOCK, len(self.turns), rows) * self.columns).entries()
        return [value.mid().log() for value in values]


def _powers(turn: acb) -> Iterator[acb]:
    power = acb(1)
    for _ in range(BLOCK):
        yield power
        power = (power * turn).mid()


@dataclass(frozen=True)
class SampledNoise:
    """A Poisson sample of Gaussian noise, with Laplace noise on the same draw if `scale` is given.

    y is normal (plus the Laplace log-ratio), so its density is entire. On the path Im y = theta the powers of r do not
    oscillate but decay, so the trapezoidal rule takes as many nodes for Im t = 1e5 as for Im t = 0.
    """

    sigmas: tuple[float, ...]
    rate: float
    scale: float | None = None

    def variance(self) -> arb:
        """Of y; several Gaussian releases on one draw are one with the sum of 1/sigma^2."""
        return sum((1 / arb(sigma) ** 2 for sigma in self.sigmas), arb(0))

    def shifts(self) -> tuple[tuple[arb, arb], ...]:
        return ((arb(0), arb(1)),) if self.scale is None else laplace_law(self.scale, 60)

    def line(self, relation: str, c: arb, h: arb, effort: Effort, count: int) -> Weighted:
        sigma, sign = float(self.variance()) ** -0.5, 1 if relation == "remove" else -1
        # Powers of 1/r must keep away from the zeros of r at Im y = pi.
        theta = min(math.pi * effort.shift * (1.0 if sign > 0 else 0.5), 4.0 / sigma)
        digits = effort.digits + math.log10(count) + 4
        step = 2 * math.pi * theta / (digits * LOG10 + 2 * (theta * sigma) ** 2 + 40)
        low, high = self.window(relation, float(c), sign * theta, digits * LOG10 + 20)
        size = math.ceil((high - low) / step)
        if size > 20_000:
            raise ArithmeticError(f"{size} nodes in y")
        return Weighted([self.node(arb(low) + k * arb(step), sign * theta, step) for k in range(size + 1)], c, h)

    def node(self, x: arb, theta: float, step: float) -> tuple[acb, acb]:
        """The loss and the weight of one node; the sign of theta says the relation."""
        y, variance, rate = acb(x, arb(theta)), self.variance(), arb(self.rate)
        density = acb(0)
        for shift, weight in self.shifts():
            density += weight * (-((y - shift + variance / 2) ** 2) / (2 * variance)).exp()
        log_r = (1 - rate + rate * y.exp()).log()
        weight = step * density / (2 * pi() * variance).sqrt()
        return (log_r, weight * log_r.exp()) if theta > 0 else (-log_r, weight)

    def window(self, relation: str, c: float, theta: float, depth: float) -> tuple[float, float]:
        """Where the integrand on the path exceeds exp(-depth) of its peak, in ordinary floats."""
        sigma, q = float(self.variance()) ** -0.5, self.rate
        mean, power = -0.5 / sigma**2, (c + 1 if relation == "remove" else -c)
        reach = 0.0 if self.scale is None else 1 / self.scale

        def height(x: float) -> float:
            log_r = x + math.log(q) if x > 300 else math.log(abs(1 - q + q * cmath.exp(complex(x, theta))))
            gap = max(abs(x - mean) - reach, 0.0)
            return -0.5 * (gap * sigma) ** 2 + power * log_r

        near = [mean + reach * s + k * 0.25 / sigma for k in range(-160, 161) for s in (-1, 0, 1)]
        far = [mean + s * 40 / sigma * 1.03**k for k in range(800) for s in (-1, 1)]
        edge = 40 / sigma + reach + abs(power) / sigma**2
        grid = sorted(
            {x for x in near + far + [math.log1p(-q) - math.log(q) if q < 1 else 0.0] if abs(x - mean) <= edge}
        )
        best = max(range(len(grid)), key=lambda k: height(grid[k]))
        a, b = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
        for _ in range(200):
            u, v = a + (b - a) / 3, b - (b - a) / 3
            a, b = (u, b) if height(u) < height(v) else (a, v)
        grid = sorted([*grid, a])
        floor = max(height(x) for x in grid) - depth
        inside = [k for k, x in enumerate(grid) if height(x) > floor]

        def crossing(outer: float, inner: float) -> float:
            for _ in range(60):
                mid = 0.5 * (outer + inner)
                outer, inner = (outer, mid) if height(mid) > floor else (mid, inner)
            return outer

        return (
            crossing(grid[max(inside[0] - 1, 0)], grid[inside[0]]),
            crossing(grid[min(inside[-1] + 1, len(grid) - 1)], grid[inside[-1]]),
        )


@cache
def _gauss_legendre(size: int, bits: int) -> tuple[tuple[arb, arb], ...]:
    return tuple(arb.legendre_p_root(size, k, weight=True) for k in range(size))


def gauss_legendre(size: int, low: arb, high: arb) -> list[tuple[arb, arb]]:
    half, centre = (high - low) / 2, (high + low) / 2
    return [(centre + half * x, half * w) for x, w in _gauss_legendre(size, ctx.prec)]


@cache
def _laplace_law(scale: float, size: int, bits: int) -> tuple[tuple[arb, arb], ...]:
    top = 1 / arb(scale)
    inner = [(y, w * (-(y + top) / 2).exp() / 4) for y, w in gauss_legendre(size, -top, top)]
    return ((top, (-top).exp() / 2), (-top, arb(1) / 2), *inner)


def laplace_law(scale: float, size: int) -> tuple[tuple[arb, arb], ...]:
    """The law under Q of the log-ratio of Laplace noise: atoms at +-1/b, and e^(-(y+1/b)/2)/4 between them."""
    return _laplace_law(scale, size, ctx.prec)


@dataclass(frozen=True)
class SampledLaplace:
    """A Poisson sample of Laplace noise: two atoms and an analytic density between them."""

    scale: float
    rate: float

    def line(self, relation: str, c: arb, h: arb, effort: Effort, count: int) -> Weighted:
        nodes = []
        for y, weight in laplace_law(self.scale, 80 + 2 * effort.digits):
            log_r = (1 + arb(self.rate) * y.expm1()).log()
            pair = (log_r, weight * log_r.exp()) if relation == "remove" else (-log_r, weight)
            nodes.append((acb(pair[0]), acb(pair[1])))
        return Weighted(nodes, c, h)


@dataclass(frozen=True)
class Plain:
    """A mechanism without sampling whose log-moment is a closed form."""

    log_moment: Callable[[acb], acb]

    def line(self, relation: str, c: arb, h: arb, effort: Effort, count: int) -> ClosedForm:
        return ClosedForm(self.log_moment, c, h)


def gaussian_moment(sigma: float) -> Callable[[acb], acb]:
    return lambda t: t * (t + 1) / (2 * arb(sigma) ** 2)


def laplace_moment(scale: float) -> Callable[[acb], acb]:
    top = 1 / arb(scale)
    return lambda t: (((t + 1) * (t * top).exp() + t * (-(t + 1) * top).exp()) / (2 * t + 1)).log()


def response_moment(truth: float) -> Callable[[acb], acb]:
    log_p, log_lie = arb(truth).log(), (1 - arb(truth)).log()
    return lambda t: (((t + 1) * log_p - t * log_lie).exp() + ((t + 1) * log_lie - t * log_p).exp()).log()


# ---------------------------------------------------------------------------------------------------------------------
# The contour integral.

Run = list[tuple[Any, int]]  # laws and how often each is used


def cumulant(run: Run, relation: str, c: arb) -> arb:
    """K(c) of the whole run at a real c > 0."""
    total = arb(0)
    for law, count in run:
        total += count * law.line(relation, c, arb(0), ROUGH, count).take(1)[0].real
    return middle(total)


def saddle(run: Run, relation: str, log_delta: float) -> tuple[arb, arb, arb]:
    """The abscissa c, a first epsilon and log delta, by the saddle-point approximation: rough is enough."""

    def at(c: float) -> tuple[arb, arb]:
        x, step = arb(c), arb(c) / 2**30
        low, mid, high = (cumulant(run, relation, x + k * step) for k in (-1, 0, 1))
        slope, bend = (high - low) / (2 * step), (high - 2 * mid + low) / step**2
        epsilon = slope - 1 / x - 1 / (x + 1)
        spread = bend + 1 / x**2 + 1 / (x + 1) ** 2
        return epsilon, mid - epsilon * x - (x * (x + 1)).log() - (2 * pi() * spread).log() / 2

    low = high = 1.0
    while at(low)[1] < log_delta and low > 1e-9:
        low /= 2
    while at(high)[1] > log_delta and high < 1e15:
        high *= 2
    for _ in range(8):
        c = math.sqrt(low * high)
        low, high = (c, high) if at(c)[1] > log_delta else (low, c)
    epsilon, value = at(high)
    return arb(high), middle(epsilon), middle(value)


def flattest(run: Run, relation: str, epsilon: arb) -> arb:
    """A good abscissa for this epsilon: about the minimum of K(c) - eps c - log c - log(1+c)."""

    @cache
    def height(power: float) -> arb:
        c = arb(2.0**power)
        return cumulant(run, relation, c) - epsilon * c - (c * (c + 1)).log()

    power, step = 0.0, 4.0
    while step > 0.2:
        power = min((power - step, power, power + step), key=lambda x: float(height(x)))
        if height(power) <= min(height(power - step), height(power + step)):
            step /= 2
    return arb(2.0**power)


def period(run: Run, relation: str, c: arb, epsilon: arb, log_delta: arb, digits: int) -> arb:
    """A = 2 pi / h, large enough for the trapezoidal rule.

    The rule adds delta(eps + k A) exp(k A c) for every k: the left side is at most exp(-c A), the right side obeys
    Chernoff's bound at every larger abscissa.
    """
    depth = digits * LOG10
    left, right = (depth - log_delta) / c, None
    for factor in (1.02, 1.05, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 9.0):
        wide = c * factor
        here = (cumulant(run, relation, wide) - wide * epsilon - log_delta + depth) / (wide - c)
        right = here if right is None or here < right else right
    return left if left > right else right


def calm(run: Run, relation: str, c: arb, epsilon: arb, log_delta: arb) -> arb:
    """An abscissa at or left of the saddle with a short period: a heavy right tail makes the saddle a bad place."""
    choices = [c * factor for factor in (1.0, 0.97, 0.93, 0.88, 0.8, 0.7, 0.6, 0.5)]
    return min(choices, key=lambda x: float(period(run, relation, x, epsilon, log_delta, FIRST.digits)))


class Line:
    """F(t)/(t(t+1)) on a vertical line, followed until it is negligible; delta(epsilon) is then a sum."""

    def __init__(self, run: Run, relation: str, c: arb, epsilon: arb, log_delta: arb, effort: Effort):
        self.c, self.top = middle(c), arb(0)
        self.h = middle(2 * pi() / period(run, relation, c, epsilon, log_delta, effort.digits))
        self.terms: list[acb] = []
        # Terms count against delta itself, not against the first term: a heavy right tail can make that one huge.
        self.target = middle(log_delta + epsilon * self.c)
        self._follow([(law.line(relation, self.c, self.h, effort, count), count) for law, count in run], effort)

    def _follow(self, lines: list[tuple[Any, int]], effort: Effort) -> None:
        size, stop = BLOCK, None
        while stop is None or len(self.terms) < stop:
            columns = [(line.take(size), count) for line, count in lines]
            start = len(self.terms)
            for j in range(size):
                total = sum((count * values[j] for values, count in columns), acb(0))
                if start + j == 0:
                    self.top = middle(total.real)
                t = acb(self.c, (start + j) * self.h)
                term = ((total - self.top).exp() / (t * (t + 1))).mid()
                self.terms.append(term if term.is_finite() else acb(0))
            largest = max((abs(x).mid() for x in self.terms[start:]), default=arb(0))
            cut = (self.target - self.top).exp() * arb(10) ** -effort.digits
            small = largest < cut and largest < abs(self.terms[0]) * arb(10) ** -effort.digits
            if small and stop is None:
                stop = int(effort.longer * len(self.terms))
            if len(self.terms) > MOST_POINTS:
                raise ArithmeticError("the contour does not decay")
            size = min(2 * size, BLOCK * BLOCK) if len(self.terms) >= 4 * size else size

    def profile(self, epsilon: arb) -> tuple[arb, arb]:
        """log delta(epsilon) and -delta'(epsilon)/delta(epsilon)."""
        turn, power = acb(0, -self.h * epsilon).exp(), acb(1)
        total, slope = self.terms[0] / 2, self.terms[0] * self.c / 2
        for j, term in enumerate(self.terms[1:], 1):
            power = (power * turn).mid()
            here = term * power
            total += here
            slope += here * acb(self.c, j * self.h)
        log_delta = (total.real * self.h / pi()).log() + self.top - epsilon * self.c
        return middle(log_delta), middle(slope.real / total.real)

    def epsilon(self, log_delta: arb, guess: arb) -> arb:
        """Newton's method on log delta, with short steps while it is far away."""
        epsilon = guess
        for _ in range(60):
            value, slope = self.profile(epsilon)
            move, most = (value - log_delta) / slope, abs(epsilon) * 0.4
            if abs(move) > most:
                move = most if move > 0 else -most
            epsilon = middle(epsilon + move)
            if abs(move) < abs(epsilon) * arb(10) ** -26:
                break  # it converges quadratically: the next move would be at rounding level
        return epsilon


@dataclass(frozen=True)
class Answer:
    """One relation of one case: two epsilons and, where cheap, two values of delta(0)."""

    epsilons: tuple[arb, arb]
    delta0: tuple[arb, arb] | None


def zero_profile(run: Run, relation: str) -> tuple[arb, arb]:
    """delta(0), twice."""
    c = flattest(run, relation, arb(0))
    rough = cumulant(run, relation, c) - (c * (c + 1)).log()
    zeros = []
    for effort in (FIRST, SECOND):
        ctx.prec = effort.bits
        zeros.append(Line(run, relation, c * effort.tilt, arb(0), rough, effort).profile(arb(0))[0].exp())
    return zeros[0], zeros[1]


def by_contour(run: Run, relation: str, delta: float) -> Answer:
    ctx.prec = FIRST.bits
    c, guess, _ = saddle(run, relation, math.log(delta))
    zeros = None
    if guess < 0.5:  # the approximation cannot be trusted to say that epsilon is positive
        zeros = zero_profile(run, relation)
        if arb(delta) >= zeros[0]:
            return Answer((arb(0), arb(0)), zeros)
    guess = guess if guess > 0 else 0.1 / c
    c = calm(run, relation, c, guess, arb(delta).log())
    for _ in range(8):  # beside a heavy tail the saddle-point approximation can be far off
        better = Line(run, relation, c, guess, arb(delta).log(), ROUGH).epsilon(arb(delta).log(), guess)
        near = abs(better - guess) < abs(guess) * 0.05
        guess = better
        if near:
            break
        c = calm(run, relation, flattest(run, relation, guess), guess, arb(delta).log())
    else:
        raise ArithmeticError("epsilon does not settle")
    found, started = [], time.perf_counter()
    for effort in (FIRST, SECOND):
        ctx.prec = effort.bits
        line = Line(run, relation, c * effort.tilt, guess, arb(delta).log(), effort)
        found.append(line.epsilon(arb(delta).log(), guess))
    if zeros is None and time.perf_counter() - started < CHEAP:
        zeros = zero_profile(run, relation)
    return Answer((found[0], found[1]), zeros)


# ---------------------------------------------------------------------------------------------------------------------
# One step: the closed profile, against the integral of (P - e^eps Q)_+.


def solve(log_profile: Callable[[arb], arb], log_delta: arb, low: arb, high: arb) -> arb:
    """The root of a decreasing log delta, by bisection: a bounded loss can leave it 1e-28 below the largest one."""
    for _ in range(220):
        mid = middle((low + high) / 2)
        value = log_profile(mid)
        low, high = (mid, high) if value.is_finite() and value > log_delta else (low, mid)
    return low


def noise_profile(law: SampledNoise, epsilon: arb) -> arb:
    """H(P, Q) at epsilon of the noise without sampling: a Gaussian profile, mixed over the Laplace log-ratio under P."""
    total, variance = arb(0), law.variance()
    for shift, weight in law.shifts():
        gap = epsilon - shift
        with_record = normal_tail((gap - variance / 2) / variance.sqrt())
        total += weight * shift.exp() * (with_record - gap.exp() * normal_tail((gap + variance / 2) / variance.sqrt()))
    return total


def laplace_profile(law: SampledLaplace, epsilon: arb) -> arb:
    top = 1 / arb(law.scale)
    if epsilon >= top:
        return arb(0)
    return 1 - epsilon.exp() if epsilon <= -top else 1 - ((epsilon - top) / 2).exp()


def base_profile(law: Any, epsilon: arb) -> arb:
    return noise_profile(law, epsilon) if isinstance(law, SampledNoise) else laplace_profile(law, epsilon)


def step_profile(law: Any, relation: str, ratio: arb) -> arb:
    """delta of one sampled step at e^epsilon = ratio (both base pairs are symmetric)."""
    q = arb(law.rate)
    if relation == "remove":
        inner = 1 + (ratio - 1) / q
        return 1 - ratio if inner <= 0 else q * base_profile(law, inner.log())
    rest = 1 - ratio * (1 - q)
    return arb(0) if rest <= 0 else rest * base_profile(law, (q * ratio / rest).log())


def step_integrals(law: Any, relation: str, epsilon: arb) -> tuple[arb, arb]:
    """The integral of (P - e^eps Q)_+ and of e^eps Q where P > e^eps Q, by quadrature in y."""
    q, ratio = arb(law.rate), epsilon.exp()
    turn = (1 + (ratio - 1) / q).log() if relation == "remove" else ((1 / ratio - 1) / q + 1).log()
    nodes: list[tuple[arb, arb]] = []
    if isinstance(law, SampledLaplace):
        top, low, high = 1 / arb(law.scale), turn, turn
        low, high = (turn, top) if relation == "remove" else (-top, turn)
        nodes = [(y, w * (-(y + top) / 2).exp() / 4) for y, w in gauss_legendre(90, low, high)]
        nodes.append((top, (-top).exp() / 2) if relation == "remove" else (-top, arb(1) / 2))
    else:
        variance = law.variance()
        width = min(float(variance.sqrt()), 0.5)
        reach = 26 * float(variance.sqrt()) + (0 if law.scale is None else 1 / law.scale)
        far = float(variance) / 2 + reach
        span = max(far - float(turn), reach) if relation == "remove" else max(far + float(turn), reach)
        sign = 1 if relation == "remove" else -1
        for k in range(math.ceil(span / width)):
            for y, w in gauss_legendre(50, turn + sign * k * arb(width), turn + sign * (k + 1) * arb(width)):
                density = arb(0)
                for shift, weight in law.shifts():
                    density += weight * (-((y - shift + variance / 2) ** 2) / (2 * variance)).exp()
                nodes.append((y, sign * w * density / (2 * pi() * variance).sqrt()))
    excess, mass = arb(0), arb(0)
    for y, weight in nodes:
        r = 1 + q * y.expm1()
        p, other = (r, arb(1)) if relation == "remove" else (arb(1), r)
        excess += weight * (p - ratio * other)
        mass += weight * ratio * other
    return excess, mass


def by_one_step(law: Any, relation: str, delta: float) -> Answer:
    ctx.prec = 400  # delta = 1e-300 asks for the difference of nearly equal tails
    zeros = (middle(step_profile(law, relation, arb(1))), middle(step_integrals(law, relation, arb(0))[0]))
    if arb(delta) >= zeros[0]:
        return Answer((arb(0), arb(0)), zeros)
    high = arb(1)
    while step_profile(law, relation, high.exp()) > delta:
        high *= 2
    first = solve(lambda x: step_profile(law, relation, x.exp()).log(), arb(delta).log(), arb(0), high)
    excess, mass = step_integrals(law, relation, first)
    return Answer((first, middle(first + (excess - delta) / mass)), zeros)


# ---------------------------------------------------------------------------------------------------------------------
# Two steps: the profile of one, averaged over the loss of the other.


def tanh_sinh(f: Callable[[arb], arb], low: arb, high: arb, level: int) -> arb:
    """Double exponential quadrature with step 2^-level; it does not mind what f does at the ends."""
    step, total = arb(2) ** -level, arb(0)
    for k in range(-(5 << level), (5 << level) + 1):
        tau = k * step
        u = (pi() * tau.sinh()).exp()  # x = low + (high-low) u/(1+u)
        weight = (high - low) * pi() * tau.cosh() * u / (1 + u) ** 2
        x = middle(low + (high - low) * u / (1 + u))
        if low < x < high:
            value = weight * f(x)
            total += middle(value) if value.is_finite() else 0
    return middle(total * step)


def two_step_profile(law: SampledNoise, relation: str, epsilon: arb, level: int) -> arb:
    q, ratio, variance = arb(law.rate), epsilon.exp(), law.variance()
    std = variance.sqrt()

    def density(y: arb) -> arb:
        return (-((y + variance / 2) ** 2) / (2 * variance)).exp() / (2 * pi() * variance).sqrt()

    def averaged(y: arb) -> arb:
        r = 1 - q + q * y.exp()
        if relation == "remove":
            return density(y) * r * step_profile(law, relation, ratio / r)
        return density(y) * step_profile(law, relation, ratio * r)

    low = -variance / 2 - 27 * std
    if relation == "add":  # nothing is left beyond r = e^-eps/(1-q)
        edge = ((1 / (ratio * (1 - q)) - 1) / q + 1).log()
        return tanh_sinh(averaged, low if low < edge - std else edge - 27 * std, edge, level)
    # Beyond r = e^eps/(1-q) every second loss exceeds what is left: the rest is two normal tails.
    edge = ((ratio / (1 - q) - 1) / q + 1).log()
    tails = [normal_tail((edge + sign * variance / 2) / std) for sign in (1, -1)]
    beyond = (1 - q - ratio) * tails[0] + q * tails[1]
    return tanh_sinh(averaged, low, edge, level) + beyond


def by_two_steps(law: SampledNoise, relation: str, delta: float) -> Answer:
    found, zeros = [], []
    for bits, level in ((400, 7), (460, 8)):
        ctx.prec = bits
        zeros.append(two_step_profile(law, relation, arb(0), level))
        if arb(delta) >= zeros[-1]:
            found.append(arb(0))
            continue

        def log_profile(x: arb, level: int = level) -> arb:
            return two_step_profile(law, relation, x, level).log()

        if not found:
            high = arb(1)
            while (value := log_profile(high)).is_finite() and value > arb(delta).log() and high < 2**12:
                high *= 2
            # A coarse rule finds the place, the fine one polishes it.
            rough = solve(lambda x: two_step_profile(law, relation, x, 5).log(), arb(delta).log(), arb(0), high)
            step = abs(rough) * arb(10) ** -15
        found.append(polish(log_profile, arb(delta).log(), rough, step))
    return Answer(tuple(found), tuple(zeros))


def polish(log_profile: Callable[[arb], arb], log_delta: arb, guess: arb, step: arb) -> arb:
    """The secant rule from a good guess."""
    a, b = guess, middle(guess + step)
    fa, fb = log_profile(a) - log_delta, log_profile(b) - log_delta
    for _ in range(8):
        if abs(fb - fa) < arb(10) ** -70 or abs(b - a) < abs(b) * arb(10) ** -40:
            break
        a, b, fa = b, middle(b - fb * (b - a) / (fb - fa)), fb
        fb = log_profile(b) - log_delta
    return b


# ---------------------------------------------------------------------------------------------------------------------
# Two outcomes: binomial sums.


@dataclass(frozen=True)
class TwoOutcomes:
    """Randomized response, or the pair of pure DP (level given), possibly on a Poisson sample."""

    truth: float | None
    level: float | None
    rate: float | None

    def masses(self, relation: str) -> tuple[arb, arb, arb, arb]:
        """P and Q of the outcome with the larger loss, then of the other."""
        p = arb(self.truth) if self.truth is not None else 1 / (1 + (-arb(self.level)).exp())
        q = arb(1 if self.rate is None else self.rate)
        with_record = (1 - q) * (1 - p) + q * p  # of the outcome that speaks for the record
        if relation == "remove":
            return with_record, 1 - p, 1 - with_record, p
        return p, 1 - with_record, 1 - p, with_record


def binomial_terms(law: TwoOutcomes, count: int, relation: str) -> list[tuple[arb, arb, arb]]:
    """(loss, P, Q) for every number of large losses, by the recurrence of the binomial coefficients."""
    p, other, p_low, other_low = law.masses(relation)
    high, low = (p / other).log(), (p_low / other_low).log()
    mass_p, mass_q, terms = p**count, other**count, []
    for k in range(count, -1, -1):
        terms.append((k * high + (count - k) * low, mass_p, mass_q))
        if k:
            factor = arb(k) / (count - k + 1)
            mass_p, mass_q = mass_p * factor * p_low / p, mass_q * factor * other_low / other
    return terms


def by_binomial(law: TwoOutcomes, count: int, relation: str, delta: float) -> Answer:
    ctx.prec = 400
    terms = binomial_terms(law, count, relation)
    zero = middle(sum((p - q for loss, p, q in terms if loss > 0), arb(0)))
    # A second way to the masses: log-gamma functions, at another precision.
    ctx.prec = 460
    logs = [arb(n + 1).lgamma() for n in range(count + 1)]
    p, other, p_low, other_low = law.masses(relation)
    again = []
    for high, low in ((p.log(), p_low.log()), (other.log(), other_low.log())):
        tops = range(count, -1, -1)
        again.append(
            [(logs[count] - logs[k] - logs[count - k] + k * high + (count - k) * low).exp().mid() for k in tops]
        )
    zeros = (zero, middle(sum((again[0][j] - again[1][j] for j, term in enumerate(terms) if term[0] > 0), arb(0))))
    if arb(delta) >= zero:
        return Answer((arb(0), arb(0)), zeros)
    found = []
    for source in (0, 1):
        sum_p = sum_q = arb(0)
        for j, (loss, mass_p, mass_q) in enumerate(terms):
            if sum_q > 0 and sum_p - loss.exp() * sum_q >= delta:
                break
            sum_p += mass_p if source == 0 else again[0][j]
            sum_q += mass_q if source == 0 else again[1][j]
        found.append(middle(((sum_p - delta) / sum_q).log()))
    return Answer(tuple(found), zeros)


def by_mixture(law: TwoOutcomes, count: int, sigma: arb, relation: str, delta: float) -> Answer:
    """Two-outcome losses beside one Gaussian: its profile, mixed over the binomial law; the contour is the witness."""
    ctx.prec = 400
    terms = binomial_terms(law, count, relation)

    def profile(epsilon: arb) -> arb:
        total = arb(0)
        for loss, mass, _ in terms:
            gap = epsilon - loss
            tails = [normal_tail(gap * sigma + sign / (2 * sigma)) for sign in (-1, 1)]
            total += mass * (tails[0] - gap.exp() * tails[1])
        return middle(total)

    run: Run = [(Plain(response_moment(law.truth)), count), (Plain(lambda t: t * (t + 1) / (2 * sigma**2)), 1)]
    witness = by_contour(run, relation, delta)
    ctx.prec = 400
    zero = profile(arb(0))
    zeros = (zero, witness.delta0[0]) if witness.delta0 else None
    if arb(delta) >= zero:
        return Answer((arb(0), arb(0)), zeros)
    first = solve(lambda x: profile(x).log(), arb(delta).log(), arb(0), arb(2) ** 10)
    return Answer((first, witness.epsilons[0]), zeros)


# ---------------------------------------------------------------------------------------------------------------------
# Laplace noise repeated: residues, against atoms and a piecewise polynomial.


def laplace_residues(scale: float, count: int, epsilon: arb) -> arb:
    """M(t)^T = sum_k C(T,k) (t+1)^(T-k) t^k e^(((T-2k) t - k)/b) / (2t+1)^T; close each term's contour to the left."""
    top, total = 1 / arb(scale), arb(0)
    ctx.cap = count
    for k in range(count):
        s = (count - 2 * k) * top - epsilon
        if not s > 0:
            break
        u = arb_series([0, 1])
        rest = (arb(1) / 2 + u) ** (count - k - 1) * (s * (u - arb(1) / 2)).exp()
        series = rest / (u - arb(1) / 2) if k == 0 else rest * (u - arb(1) / 2) ** (k - 1)
        residue = series[count - 1] / arb(2) ** count + (1 if k == 0 else 0)
        total += math.comb(count, k) * (-k * top).exp() * residue
    return middle(total)


def irwin_hall(n: int, x: arb, top: arb) -> arb:
    """The n-fold convolution of the indicator of (-top, top)."""
    total = arb(0)
    for k in range(n + 1):
        gap = x + (n - 2 * k) * top
        if gap > 0:
            total += (-1) ** k * math.comb(n, k) * gap ** (n - 1)
    return total / math.factorial(n - 1)


def laplace_atoms(scale: float, count: int, epsilon: arb) -> arb:
    """The same by the number of draws at either atom; between them P has the density e^((y-1/b)/2)/4."""
    top, total = 1 / arb(scale), arb(0)
    for n in range(count + 1):
        for high in range(count - n + 1):
            low = count - n - high
            start = epsilon - (high - low) * top
            ways = math.comb(count, n) * math.comb(count - n, high)
            mass = ways * arb(2) ** -(high + low) * (-low * top).exp()
            if n == 0:
                total += mass * (1 - start.exp()) if start < 0 else 0
                continue
            inner = arb(0)
            for piece in range(n):
                left, right = (2 * piece - n) * top, (2 * piece + 2 - n) * top
                left = left if left > start else start
                if left < right:
                    for y, w in gauss_legendre(40, left, right):
                        inner += w * (1 - (start - y).exp()) * (y / 2).exp() * irwin_hall(n, y, top)
            total += mass * inner * (-n * top / 2).exp() / arb(4) ** n
    return middle(total)


def by_residues(scale: float, count: int, delta: float) -> Answer:
    ctx.prec = 500
    zeros = (laplace_residues(scale, count, arb(0)), laplace_atoms(scale, count, arb(0)))
    if arb(delta) >= zeros[0]:
        return Answer((arb(0), arb(0)), zeros)
    log_delta = arb(delta).log()
    first = solve(lambda x: laplace_residues(scale, count, x).log(), log_delta, arb(0), count / arb(scale))
    second = polish(lambda x: laplace_atoms(scale, count, x).log(), log_delta, first, first * arb(10) ** -15)
    return Answer((first, second), zeros)


# ---------------------------------------------------------------------------------------------------------------------
# A few steps of sampled Laplace noise: the profile of n steps is analytic between n + 1 known points.


class Stretch:
    """An interval seen through a logistic map, which moves singularities a little outside either end far away."""

    def __init__(self, low: arb, high: arb, margin: arb):
        self.start, self.width = low - margin, high - low + 2 * margin
        self.reach = ((high - low + margin) / margin).log()

    def inward(self, x: arb) -> arb:
        """x to [-1, 1]."""
        part = x - self.start
        return middle((part / (self.width - part)).log() / self.reach)

    def outward(self, s: arb) -> tuple[arb, arb]:
        """The point at s in [-1, 1], and its derivative."""
        fall = (-s * self.reach).exp()
        return self.start + self.width / (1 + fall), self.width * self.reach * fall / (1 + fall) ** 2


@cache
def chebyshev_matrix(size: int, bits: int) -> arb_mat:
    """From values at the Chebyshev points to the coefficients of the interpolating polynomial."""
    rows = []
    for k in range(size):
        scale = arb(1 if k == 0 else 2) / size
        rows.append([scale * (pi() * k * (2 * j + 1) / (2 * size)).cos() for j in range(size)])
    powers = [[arb(0)] * size for _ in range(size)]
    for k in range(size):
        for m, x in enumerate(fmpz_poly.chebyshev_t(k).coeffs()):
            powers[m][k] = arb(x)
    return arb_mat(powers) * arb_mat(rows)


class LaplacePanels:
    """D_n(eps) = E_P D_(n-1)(eps - L), D_0 = (1 - e^eps)_+, each piece held as an interpolating polynomial."""

    def __init__(self, law: SampledLaplace, relation: str, count: int, digits: int):
        self.law, self.relation, self.count = law, relation, count
        q, top = arb(law.rate), 1 / arb(law.scale)
        sign = 1 if relation == "remove" else -1
        self.atoms = []
        for y, mass in ((top, (-top).exp() / 2), (-top, arb(1) / 2)):
            r = 1 + q * y.expm1()
            self.atoms.append((middle(sign * r.log()), middle(mass * (r if sign > 0 else 1))))
        self.low, self.high = sorted((loss for loss, _ in self.atoms), key=float)
        pole = sign * (1 - q).log() if law.rate < 1 else None  # where the density of the loss ends being analytic
        margins = [self.high - self.low]
        if pole is not None:
            margins.append(min(abs(pole - self.low), abs(pole - self.high)))
        self.margin = middle(min(margins, key=float))
        # Seen through the logistic map the singularities lie pi/reach off the interval: the rate of convergence.
        away = math.pi / float(Stretch(self.low, self.high, self.margin).reach)
        self.size = math.ceil(digits * LOG10 / math.asinh(away)) + 8
        self.pieces: list[tuple[Stretch, arb_poly]] = []
        for n in range(1, count):
            self.pieces = [self._piece(n, i) for i in range(n)]

    def point(self, n: int, i: int) -> arb:
        return i * self.high + (n - i) * self.low

    def _piece(self, n: int, i: int) -> tuple[Stretch, arb_poly]:
        stretch = Stretch(self.point(n, i), self.point(n, i + 1), self.margin)
        places = [middle((pi() * (2 * k + 1) / (2 * self.size)).cos()) for k in range(self.size)]
        values = [self.step(n, i, middle(stretch.outward(s)[0])) for s in places]
        coefficients = chebyshev_matrix(self.size, ctx.prec) * arb_mat(self.size, 1, values)
        return stretch, arb_poly([x.mid() for x in coefficients.entries()])

    def previous(self, n: int, i: int, x: arb) -> arb:
        """D_(n-1)(x) for x in its piece i; below the first piece nothing is cut off, above the last all is."""
        if i < 0:
            return 1 - x.exp()
        if i >= n - 1:
            return arb(0)
        stretch, polynomial = self.pieces[i]
        return polynomial(stretch.inward(x))

    def density(self, loss: arb) -> arb:
        q, top = arb(self.law.rate), 1 / arb(self.law.scale)
        r = loss.exp() if self.relation == "remove" else (-loss).exp()
        ratio = (r - 1 + q) / q
        under_q = (-(ratio.log() + top) / 2).exp() / 4 * r / (q * ratio)
        return under_q * r if self.relation == "remove" else under_q

    def step(self, n: int, i: int, x: arb) -> arb:
        """D_n(x) for x in its piece i."""
        total = arb(0)
        for loss, mass in self.atoms:
            inside = i if loss == self.low else i - 1
            total += mass * self.previous(n, inside, x - loss)
        split = x - self.point(n, i) + self.low
        for low, high, piece in ((self.low, split, i), (split, self.high, i - 1)):
            if high - low > arb(10) ** -60 and piece < n - 1:
                stretch = Stretch(low, high, self.margin)
                for s, weight in gauss_legendre(self.size, arb(-1), arb(1)):
                    loss, slope = stretch.outward(s)
                    total += middle(weight * slope * self.density(loss) * self.previous(n, piece, x - loss))
        return middle(total)

    def profile(self, x: arb) -> arb:
        """D_count(x)."""
        i = sum(1 for k in range(1, self.count) if self.point(self.count, k) < x)
        if x >= self.point(self.count, self.count):
            return arb(0)
        return self.step(self.count, i, x)


def by_panels(law: SampledLaplace, count: int, relation: str, delta: float) -> Answer:
    found, zeros = [], []
    for bits, digits in ((480, 36), (560, 41)):
        ctx.prec = bits
        panels = LaplacePanels(law, relation, count, digits)
        zeros.append(panels.profile(arb(0)))
        log_delta = arb(delta).log()
        if arb(delta) >= zeros[0]:
            found.append(arb(0))
        elif not found:
            found.append(solve(lambda x: panels.profile(x).log(), log_delta, arb(0), panels.point(count, count)))  # noqa: B023
        else:
            found.append(polish(lambda x: panels.profile(x).log(), log_delta, found[0], found[0] * arb(10) ** -15))  # noqa: B023
    return Answer((found[0], found[1]), (zeros[0], zeros[1]))


def by_gaussian(sigma: arb, relation: str, delta: float) -> Answer:
    """Gaussian noise alone is one Gaussian; the contour is the witness."""
    ctx.prec = 1600  # the two tails nearly cancel for a wide noise
    witness = by_contour([(Plain(lambda t: t * (t + 1) / (2 * sigma**2)), 1)], relation, delta)
    ctx.prec = 1600

    def profile(epsilon: arb) -> arb:
        tails = [normal_tail(epsilon * sigma + sign / (2 * sigma)) for sign in (-1, 1)]
        return tails[0] - epsilon.exp() * tails[1]

    zero = middle(profile(arb(0)))
    zeros = (zero, witness.delta0[0]) if witness.delta0 else None
    if arb(delta) >= zero:
        return Answer((arb(0), arb(0)), zeros)
    high = arb(1)
    while profile(high) > delta:
        high *= 2
    first = solve(lambda x: profile(x).log(), arb(delta).log(), arb(0), high)
    return Answer((first, witness.epsilons[0]), zeros)


# ---------------------------------------------------------------------------------------------------------------------
# The cases.

Part = dict[str, Any]


def release(mechanism: str, **params: float) -> dict[str, Any]:
    return {"mechanism": mechanism, "params": params}


def gaussian(sigma: float, rate: float | None = None, count: int = 1) -> Part:
    return {**release("Gaussian", noise_multiplier=sigma), "rate": rate, "count": count}


def laplace(scale: float, rate: float | None = None, count: int = 1) -> Part:
    return {**release("Laplace", noise_multiplier=scale), "rate": rate, "count": count}


def response(truth: float, rate: float | None = None, count: int = 1) -> Part:
    return {**release("RandomizedResponse", probability=truth), "rate": rate, "count": count}


def pure(epsilon: float, count: int = 1) -> Part:
    return {**release("PureDP", epsilon=epsilon), "rate": None, "count": count}


def draw(*releases: dict[str, Any], rate: float, count: int) -> Part:
    return {"draw": [{**each, "times": 1} for each in releases], "rate": rate, "count": count}


GAUSSIAN_RUNS = [  # rate, sigma, steps, delta
    (0.01, 1.0, 10**4, 1e-5),
    (1e-4, 5.0, 10**6, 1e-6),
    (1e-3, 30.0, 5 * 10**6, 1e-10),
    (256 / 60000, 1.1, 14063, 1e-5),
    (0.5, 10.0, 1000, 1e-6),
    (1e-3, 0.6, 10**5, 1e-6),
    # one step
    (0.01, 1.0, 1, 1e-5),
    (0.5, 2.0, 1, 1e-2),
    (1e-3, 0.3, 1, 1e-5),
    (0.9, 5.0, 1, 1e-10),
    (1e-6, 0.2, 1, 1e-10),
    (0.1, 1.0, 1, 1e-100),
    (0.1, 0.6, 1, 1e-300),
    (0.5, 1000.0, 1, 1e-5),
    (0.1, 1.0, 1, 0.038),
    # two steps
    (0.01, 1.0, 2, 1e-5),
    (0.1, 0.3, 2, 1e-6),
    (1e-3, 0.4, 2, 1e-10),
    (0.5, 2.0, 2, 1e-2),
    (1e-4, 1.0, 2, 1e-6),
    (0.9, 5.0, 2, 1e-20),
    (0.1, 1.0, 2, 1e-100),
    # many
    *((0.01, 1.0, 10**4, delta) for delta in (0.3, 0.1, 1e-2, 1e-10, 1e-20, 1e-100, 1e-300, 0.48)),
    (0.1, 1.0, 10, 1e-5),
    (0.5, 2.0, 10, 0.1),
    (0.9, 1.1, 10, 1e-20),
    (0.1, 10.0, 10, 1e-5),
    (0.01, 1.0, 100, 1e-5),
    (0.1, 1.0, 100, 1e-6),
    (0.5, 5.0, 100, 1e-10),
    (0.01, 1.0, 1000, 1e-20),
    (0.1, 2.0, 1000, 1e-100),
    (0.01, 0.6, 1000, 1e-5),
    (0.9, 30.0, 1000, 1e-5),
    (0.1, 5.0, 1000, 0.3),
    (0.01, 2.0, 10**4, 1e-6),
    (1e-3, 1.0, 10**4, 1e-5),
    (0.5, 1000.0, 10**4, 1e-5),
    (0.1, 1.1, 10**4, 1e-5),
    (1e-3, 1.1, 10**5, 1e-6),
    (0.01, 10.0, 10**5, 1e-6),
    (1e-3, 2.0, 10**6, 1e-6),
    (1e-4, 1.0, 10**6, 1e-10),
    (1e-4, 5.0, 10**6, 0.008059),
    (1e-4, 5.0, 10**6, 0.01),
    (1e-3, 30.0, 5 * 10**6, 0.0297),
    (0.5, 1000.0, 10**6, 1e-5),
    (0.1, 30.0, 10**6, 1e-20),
    (1e-4, 1.0, 10**9, 1e-10),
    (1e-3, 30.0, 10**9, 1e-5),
    (1e-6, 1.0, 10**9, 1e-6),
    (1e-4, 5.0, 10**9, 1e-300),
    (0.5, 1000.0, 10**9, 1e-5),
    (1e-6, 0.6, 10**9, 1e-6),
]

RARE_RUNS = [  # few large losses: the contour is long
    (1e-5, 0.4, 10**6, 1e-8),
    (0.02, 0.3, 500, 1e-5),
    (0.01, 1.0, 10, 1e-5),
    (0.01, 2.0, 10, 1e-10),
    (1e-3, 1.0, 100, 1e-6),
    (1e-4, 2.0, 100, 1e-6),
    (0.1, 0.4, 100, 1e-5),
    (1e-4, 1.0, 1000, 1e-6),
    (1e-4, 1.0, 10**4, 1e-6),
    (1e-3, 1.0, 10, 1e-6),
    (1e-3, 0.3, 1000, 1e-5),
    (1e-4, 0.4, 10**5, 1e-6),
    (1e-6, 0.6, 10**6, 1e-6),
    (1e-6, 1.0, 10**5, 1e-10),
    (1e-3, 0.2, 10**4, 1e-5),
    # reached as well by one large loss as by many small ones
    (1e-4, 2.0, 2, 1e-30),
    (0.01, 10.0, 2, 1e-100),
    (1e-6, 0.35, 2, 1e-9),
    (1e-6, 1.0, 2, 1e-30),
    (1e-4, 10.0, 2, 1e-300),
    (1e-9, 0.2, 2, 1e-9),
]

OTHERS: list[tuple[list[Part], float]] = [
    ([gaussian(1.0)], 1e-5),
    ([gaussian(30.0, count=1000)], 1e-6),
    ([gaussian(1000.0, count=10**4)], 1e-300),
    ([gaussian(1.0, 1.0, 10)], 1e-10),
    ([gaussian(1.0, 0.01, 1000), gaussian(2.0, 0.02, 500)], 1e-5),
    ([gaussian(1.1, 0.01, 10**4), gaussian(0.6, 1e-3, 1000), gaussian(10.0, 0.1, 100)], 1e-6),
    ([gaussian(1.0, 0.01, 1000), gaussian(5.0)], 1e-5),
    ([gaussian(1.0, 1e-3, 10**5), gaussian(10.0, count=4)], 1e-10),
    ([gaussian(1.0, 0.01, 1000), laplace(10.0, count=3)], 1e-5),
    ([gaussian(5.0, 0.1, 100), laplace(10.0, count=3)], 1e-20),
    ([response(0.6, count=5), gaussian(1.0)], 1e-5),
    ([response(0.75, count=10), gaussian(2.0, count=3)], 1e-10),
    (
        [draw(release("Gaussian", noise_multiplier=1.0), release("Gaussian", noise_multiplier=2.0), rate=0.1, count=1)],
        1e-5,
    ),
    (
        [
            draw(
                release("Gaussian", noise_multiplier=1.0),
                release("Gaussian", noise_multiplier=2.0),
                rate=0.01,
                count=1000,
            )
        ],
        1e-6,
    ),
    *(
        (
            [
                draw(
                    release("Gaussian", noise_multiplier=1.0),
                    release("Laplace", noise_multiplier=2.0),
                    rate=0.1,
                    count=n,
                )
            ],
            1e-5,
        )
        for n in (1, 5, 100)
    ),
    ([response(0.75, count=50)], 1e-5),
    ([response(0.75, count=50)], 1e-50),
    ([pure(5.0, 10)], 1e-50),
    ([laplace(2.0)], 1e-5),
    ([laplace(2.0, count=2)], 1e-5),
    ([laplace(2.0, count=5)], 1e-6),
    ([laplace(0.5, count=5)], 1e-2),
    ([laplace(10.0, count=20)], 1e-5),
    *(([laplace(b, q, n)], 1e-5) for n in (1, 1000, 10**5) for b in (0.5, 2.0) for q in (1e-3, 0.1)),
    *(([response(p, q, n)], 1e-5) for n in (1, 10, 1000, 10**5) for p in (0.6, 0.9) for q in (1e-3, 0.1)),
    ([response(0.9, 0.1, 1000)], 1e-100),
]


def wanted() -> list[tuple[list[Part], float]]:
    """Every case, the cheap and important ones first."""
    runs = [([gaussian(sigma, rate, steps)], delta) for rate, sigma, steps, delta in GAUSSIAN_RUNS]
    few = [([laplace(b, q, 10)], 1e-5) for b in (2.0, 0.5) for q in (1e-3, 0.1)]
    rare = [([gaussian(sigma, rate, steps)], delta) for rate, sigma, steps, delta in RARE_RUNS]
    return [*runs[:6], *OTHERS, *runs[6:], *rare, *few]


def name_of(parts: list[Part], delta: float) -> str:
    def one(part: Part) -> str:
        inner = "+".join(f"{r['mechanism']}({next(iter(r['params'].values())):g})" for r in part.get("draw", [part]))
        sampled = inner if part["rate"] is None else f"{inner}@{part['rate']:.6g}"
        return f"{sampled}x{part['count']}"

    return f"{' & '.join(one(part) for part in parts)} delta={delta:g}"


def law_of(part: Part) -> Any:
    """The step's law; PureDP and RandomizedResponse are two outcomes."""
    releases = part.get("draw", [part])
    kinds = {each["mechanism"] for each in releases}
    value = {each["mechanism"]: next(iter(each["params"].values())) for each in releases}
    rate = part["rate"]
    if kinds & {"RandomizedResponse", "PureDP"}:
        return TwoOutcomes(value.get("RandomizedResponse"), value.get("PureDP"), rate)
    if rate is None:
        kind = releases[0]["mechanism"]
        return Plain((gaussian_moment if kind == "Gaussian" else laplace_moment)(value[kind]))
    if kinds == {"Laplace"}:
        return SampledLaplace(value["Laplace"], rate)
    sigmas = tuple(each["params"]["noise_multiplier"] for each in releases if each["mechanism"] == "Gaussian")
    return SampledNoise(sigmas, rate, value.get("Laplace"))


def answer(parts: list[Part], relation: str, delta: float) -> tuple[Answer, str]:
    """The best route for these parts, and its name."""
    laws = [law_of(part) for part in parts]
    counts = [part["count"] for part in parts]
    kinds = [part.get("mechanism") for part in parts]
    plain = [part["rate"] in (None, 1.0) for part in parts]
    if all(plain) and set(kinds) == {"Gaussian"}:
        ctx.prec = 1600
        inverse = sum(
            (n / arb(p["params"]["noise_multiplier"]) ** 2 for p, n in zip(parts, counts, strict=True)), arb(0)
        )
        return by_gaussian(1 / inverse.sqrt(), relation, delta), "closed form; contour"
    if len(parts) == 2 and isinstance(laws[0], TwoOutcomes):
        ctx.prec = 400
        sigma = arb(parts[1]["params"]["noise_multiplier"]) / arb(counts[1]).sqrt()
        return by_mixture(laws[0], counts[0], sigma, relation, delta), "binomial mixture; contour"
    if len(parts) == 1:
        law, count = laws[0], counts[0]
        if isinstance(law, TwoOutcomes):
            return by_binomial(law, count, relation, delta), "binomial sum; log-gamma masses"
        if kinds[0] == "Laplace" and plain[0]:
            scale = parts[0]["params"]["noise_multiplier"]
            return by_residues(scale, count, delta), "sum of residues; atoms and piecewise polynomial"
        if kinds[0] == "Laplace" and 1 < count < 100:
            return by_panels(law, count, relation, delta), "piecewise interpolation of the profile; more nodes"
        if count == 1:
            return by_one_step(law, relation, delta), "closed form; quadrature of (P - e^eps Q)+"
        if count == 2 and isinstance(law, SampledNoise):
            return by_two_steps(law, relation, delta), "average of the one-step profile; halved step"
    run = list(zip(laws, counts, strict=True))
    return by_contour(run, relation, delta), "contour; another contour, finer and longer"


def digits_shared(a: arb, b: arb) -> int:
    """How many leading digits two evaluations share, at most 40."""
    if a == b:
        return 40
    return min(40, int(-float(abs(a / b - 1).mid().log()) / LOG10))


def written(x: arb, digits: int = 32) -> str:
    return "0" if x == 0 else x.mid().str(digits, radius=False)


def compute(parts: list[Part], delta: float) -> dict[str, Any]:
    answers = {relation: answer(parts, relation, delta) for relation in RELATIONS}
    ctx.prec = 1600
    epsilons = {relation: found.epsilons[0] for relation, (found, _) in answers.items()}
    largest = max(RELATIONS, key=lambda relation: epsilons[relation].mid())
    agreement = {relation: digits_shared(*found.epsilons) for relation, (found, _) in answers.items()}
    case = {
        "id": name_of(parts, delta),
        "parts": parts,
        "delta": delta,
        "relation": largest,
        "epsilon": written(epsilons[largest]),
        "epsilons": {relation: written(value) for relation, value in epsilons.items()},
        "delta0": None,
        "agreement": min(agreement.values()),
        "method": answers["remove"][1],
    }
    if case["agreement"] < FEWEST_DIGITS:
        raise ArithmeticError(f"the two evaluations share {case['agreement']} digits only")
    zeros = {relation: found.delta0 for relation, (found, _) in answers.items()}
    if all(zeros.values()):
        case["delta0"] = {relation: written(pair[0], 28) for relation, pair in zeros.items()}
        case["delta0_agreement"] = min(digits_shared(*pair) for pair in zeros.values())
    return case


def main() -> None:
    done = {case["id"]: case for case in json.loads(FILE.read_text())["cases"]} if FILE.exists() else {}
    names = [name_of(*case) for case in wanted()]
    if len(set(names)) != len(names):
        raise ValueError("two cases share a name")
    for parts, delta in wanted():
        name = name_of(parts, delta)
        if name in done:
            continue
        started = time.perf_counter()
        try:
            done[name] = compute(parts, delta)
        except (ArithmeticError, ValueError) as error:
            print(f"{name}: {error}", file=sys.stderr, flush=True)
            continue
        case = done[name]
        took = time.perf_counter() - started
        print(
            f"{name}: {case['epsilon']} [{case['agreement']}, {case.get('delta0_agreement')}] {took:.1f} s", flush=True
        )
        FILE.write_text(json.dumps({"cases": [done[n] for n in names if n in done]}, indent=1) + "\n")


if __name__ == "__main__":
    main()
