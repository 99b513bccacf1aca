"""Truth in ball arithmetic (python-flint): every function returns an enclosure that is right, however wide.

The sampled Gaussian moment is a trapezoidal sum with a proven error. Its integrand phi(u) r(u)^p, r = 1 - q + q R(u), is
analytic for |Im u| < pi sigma; on the line Im u = y its modulus is at most e^(y^2/2) times its value at the real part if
p > 0, because |r(u + iy)| <= r(u), and e^(y^2/2) cos(y/(2 sigma))^p times it if p < 0, because |r(u + iy)| >= r(u)
cos(y/(2 sigma)). By Poisson summation the sum then errs by at most 2 M e^(-2 pi y/h)/(1 - e^(-2 pi y/h)), M the integral
of that bound. Stretches of the line where the integrand is provably negligible are left out and their bound is added to the
radius; so are the two tails.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from flint import arb, ctx

LARGEST_PRECISION = 1 << 15


class Undecided(Exception):
    """The enclosure stayed too wide."""


def narrow(value: arb) -> bool:
    """Whether a radius is below 1e-14 of the value."""
    return bool(value.rad() < abs(value.mid()) * arb(1e-14))


def enclosed(value: Callable[[], arb], *, beside: float, bits: int = 64) -> arb:
    """A narrow enclosure of what ``value`` computes, with the number ``beside`` on one side of it.

    The precision starts with ``bits`` and doubles until it is one.
    """
    while bits <= LARGEST_PRECISION:
        ctx.prec = bits
        ball = value()
        if narrow(ball) and not ball.overlaps(arb(beside)):
            return ball
        bits *= 2
    raise Undecided(value)


def sampled_gaussian(rate: float, noise: float, order: float, *, adding: bool, beside: float) -> arb:
    """D of the sampled Gaussian pair, narrow and with the number ``beside`` on one side of it, which also steers the effort."""
    log_excess = _log_expm1((order - 1.0) * beside)
    nats = 40.0 + max(0.0, -log_excess)
    for _ in range(6):
        value = _moment_divergence(rate, noise, order, adding, nats, max(log_excess, 0.0))
        if value is not None and narrow(value) and not value.overlaps(arb(beside)):
            return value
        nats *= 2.0
    raise Undecided((rate, noise, order, adding))


def _moment_divergence(
    rate: float, noise: float, order: float, adding: bool, nats: float, log_size: float
) -> arb | None:
    reach = math.sqrt(2.0 * (nats + 20.0)) + 3.0
    power = 1.0 - order if adding else order
    low = -reach - (order - 1.0) / noise if adding else -reach
    high = reach + (2.0 if adding else max(order, 2.0)) / noise
    ctx.prec = int(1.45 * nats) + 80 + int(2.0 * math.log2(2.0 + max(abs(low), high) + order))
    step, decay = _step(noise, power, nats)
    q, sigma, p = arb(rate), arb(noise), arb(1) - arb(order) if adding else arb(order)
    h = arb(step)
    total, left_out = arb(0), arb(0)
    floor = log_size - nats - 12.0

    def log_ratio(u: float) -> float:
        x = (u - 0.5 / noise) / noise
        return (
            math.log1p(rate * math.expm1(x))
            if x < 500 and rate * math.expm1(x) > -0.9
            else (x + math.log(rate) if x > 0 else math.log((1.0 - rate) + rate * math.exp(x)))
        )

    def top(a: float, b: float) -> float:
        """An upper bound on the log-integrand over [a, b], a little generous for its own rounding."""
        near = 0.0 if a <= 0.0 <= b else min(abs(a), abs(b))
        edge = a if adding else b
        value = power * log_ratio(edge)
        return -0.5 * near * near + value + 1e-9 * (1.0 + abs(value) + near * near)

    grow = (h / sigma).exp()
    stack = [(math.floor(low / step), math.ceil(high / step))]
    while stack:
        first, last = stack.pop()
        bound = top(first * step, last * step)
        if bound < floor - math.log(1.0 + (last - first) * step):
            left_out += arb(math.nextafter((last - first + 2) * step, math.inf)) * arb(bound).exp()
        elif last - first > max(64, int(2.0 / step)):
            middle = (first + last) // 2
            stack += [(first, middle), (middle, last)]
        else:
            ratio = (arb(first) * h / sigma - 1 / (2 * sigma * sigma)).exp()
            for j in range(first, last):
                u = j * h
                total += ((1 - q + q * ratio).log() * p - u * u / 2).exp()
                ratio *= grow
    # The tails: beyond each end the integrand falls at least like e^(-reach |u - end|).
    ends = arb(top(low, low)).exp() + arb(top(high, high)).exp()
    left_out += ends * (h + 1)
    moment = total * h / (2 * arb.pi()).sqrt()
    spread = left_out + abs(moment) * 3 * (arb(-decay)).exp()
    moment = moment + arb(0, spread.upper())
    if not moment > 1:
        return None
    return moment.log() / (arb(order) - 1)


def _step(noise: float, power: float, nats: float) -> tuple[float, float]:
    """The widest step whose aliasing is below e^-nats, and the exponent that is proven for it."""
    best = 0.0
    for angle in np.linspace(0.02, 0.995, 60) * math.pi:
        y = angle * noise
        penalty = 0.5 * y * y - (-power if power < 0 else 0.0) * math.log(math.cos(0.5 * angle))
        if 0.5 * y * y > 4.0 * nats:
            continue
        best = max(best, 2.0 * math.pi * y / (nats + 3.0 + penalty))
    for y in np.linspace(0.05, 1.5, 60) * math.sqrt(2.0 * nats):
        angle = y / noise
        if angle < 0.995 * math.pi:
            penalty = 0.5 * y * y - (-power if power < 0 else 0.0) * math.log(math.cos(0.5 * angle))
            best = max(best, 2.0 * math.pi * y / (nats + 3.0 + penalty))
    step = float(np.float32(best))
    return step * (1 - 1e-6), nats + 2.0


def finite(p: list[arb], q: list[arb], order: float, rate: float, *, adding: bool) -> arb:
    """D of a finite pair on a Poisson sample, by direct summation."""
    a, r = arb(order), arb(rate)
    mixture = [(1 - r) * y + r * x for x, y in zip(p, q, strict=True)]
    first, second = (q, mixture) if adding else (mixture, q)
    total = arb(0)
    for x, y in zip(first, second, strict=True):
        total += (x.log() * a + y.log() * (1 - a)).exp()
    return total.log() / (a - 1)


def binomial_sum(order: int, rate: float, moment) -> arb:
    """log of the sum S(order) of the general bound divided by order - 1; ``moment(k)`` is (k-1) eps(k) as a ball."""
    r = arb(rate)
    total, weight = arb(0), (1 - r) ** order
    for k in range(order + 1):
        total += weight * (moment(k).exp() if k >= 2 else 1)
        weight = weight * (order - k) / (k + 1) * r / (1 - r)
    return total.log() / (order - 1)


def _log_expm1(x: float) -> float:
    return math.log(math.expm1(x)) if x < 30.0 else x


def gaussian_exceeds(parts: Sequence[tuple[float, int]], epsilon: float, delta: float) -> bool:
    """Whether a composition of Gaussians, (noise, count) each, has more than ``delta`` at ``epsilon``: proven either way."""
    bits = 128
    while bits <= LARGEST_PRECISION:
        ctx.prec = bits
        gap = _gaussian_delta(parts, epsilon)[0] - arb(delta)
        if gap > 0 or gap < 0:
            return bool(gap > 0)
        bits *= 2
    raise Undecided((parts, epsilon, delta))


def gaussian_excess(parts: Sequence[tuple[float, int]], epsilon: float, delta: float) -> float:
    """How far epsilon lies above the truth, relative to max(epsilon, 1e-6), to first order."""
    ctx.prec = 4096
    value, slope = _gaussian_delta(parts, epsilon)
    return float(((arb(delta) - value) / slope).mid()) / max(epsilon, 1e-6) if epsilon > 0.0 else 0.0


def _gaussian_delta(parts: Sequence[tuple[float, int]], epsilon: float) -> tuple[arb, arb]:
    """Balle & Wang (2018), arXiv:1805.06530v2, Theorem 8, with 1/noise = mu: Phi(a) - e^epsilon Phi(c), and minus its slope."""
    mu = sum((arb(count) / (arb(noise) * arb(noise)) for noise, count in parts), arb(0)).sqrt()
    e, root = arb(epsilon), arb(2).sqrt()
    first = (-(mu / 2 - e / mu) / root).erfc() / 2
    second = e.exp() * ((mu / 2 + e / mu) / root).erfc() / 2
    return first - second, second
