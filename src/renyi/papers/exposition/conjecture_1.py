"""Conjecture 1 of "Great but Manageable Expectations", notes on Renyi differential privacy, part 2: computed, and refuted.

It says that no two neighbours of the Gaussian mechanism on a sample have a larger divergence than the mixture r N(1, sigma^2) +
(1-r) N(0, sigma^2) and N(0, sigma^2). For Poisson samples and neighbours that add or remove a record that is true (Mironov,
Talwar & Zhang 2019, arXiv:1908.10530v1, Theorems 4 and 5). It was posed for samples of a fixed size and neighbours
that replace a record, and there it is false from two dimensions on. Let the sample sum to c without the record, to a with the
old one and to b with the new one, where a, b, c are the corners of a triangle with sides 1. Then

    p = (1-r) N(c, sigma^2 I) + r N(a, sigma^2 I),        q = (1-r) N(c, sigma^2 I) + r N(b, sigma^2 I)

have a larger divergence; for small r, by the factor ``small_rate_ratio``, at any noise.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from renyi import check
from renyi.errors import ConvergenceError, InvalidInput
from renyi.sampling.poisson.gaussian.renyi import sampled_gaussian_remove

_MOST_POINTS_PER_AXIS = 3000
"""Points on each half axis; the square grid has four times the square of it, 36 million."""


class Comparison(NamedTuple):
    """The divergence of two neighbours, and the conjectured upper bound on it."""

    divergence: float
    conjectured: float

    @property
    def ratio(self) -> float:
        """The divergence over the conjectured bound; above 1 the conjecture is false."""
        return self.divergence / self.conjectured


def triangle(order: float, *, rate: float, noise: float) -> Comparison:
    """The divergence of order lambda = ``order`` of the triangle above, beside the conjectured bound, for 0 < rate < 1.

    It is computed from the excess E [(1+u)^lambda (1+v)^(1-lambda) - 1 - lambda u - (1-lambda) v] under N(c, sigma^2 I), with
    1+u = p/N(c) and 1+v = q/N(c), so that an answer of 1e-20 keeps its digits; by the trapezoidal rule in both coordinates,
    which converges geometrically. The result is good to about 10 digits.
    """
    order, rate, noise = (
        check.real("a finite number > 1", order=order),
        check.rate(rate=rate),
        check.nonnegative(noise=noise),
    )
    if order <= 1.0 or not 0.0 < rate < 1.0 or noise == 0.0:
        raise InvalidInput(
            f"the conjecture is about orders > 1, rates between 0 and 1 and noise > 0; "
            f"got order={order!r}, rate={rate!r}, noise={noise!r}."
        )
    step = min(0.3, 0.3 * noise, 1.5 * noise / math.sqrt(order))
    reach = 9.5 + (order + 1.0) / noise
    size = math.ceil(reach / step)
    if size > _MOST_POINTS_PER_AXIS:
        raise ConvergenceError(
            f"the integral takes {size} points on each half axis, of which {_MOST_POINTS_PER_AXIS} are allowed; "
            f"got order={order!r}, noise={noise!r}. Pass a smaller order or more noise."
        )
    x = step * np.arange(-size, size + 1.0)
    # In units of the noise a and b lie at 30 degrees to either side of the first axis.
    along, across = np.meshgrid(
        x * (math.cos(math.pi / 6.0) / noise), x * (math.sin(math.pi / 6.0) / noise), indexing="ij"
    )
    half = 0.5 / (noise * noise)
    with np.errstate(under="ignore", over="ignore"):
        u, v = rate * np.expm1(along + across - half), rate * np.expm1(along - across - half)
        excess = np.expm1(order * np.log1p(u) + (1.0 - order) * np.log1p(v)) - order * u - (1.0 - order) * v
        weight = np.exp(-0.5 * np.add.outer(x * x, x * x)) * (step * step / (2.0 * math.pi))
        mean = math.fsum(np.where(weight > 0.0, weight * excess, 0.0).ravel())
    if not math.isfinite(mean):
        raise ConvergenceError(
            f"the moments overflow; got order={order!r}, rate={rate!r}, noise={noise!r}. Pass a smaller order or more noise."
        )
    conjectured = float(sampled_gaussian_remove(np.array([order]), rate=rate, noise=noise)[0])
    return Comparison(math.log1p(mean) / (order - 1.0), conjectured)


def small_rate_ratio(*, noise: float) -> float:
    """(2 e^(1/sigma^2) - 2 e^(1/(2 sigma^2)))/(e^(1/sigma^2) - 1): by how much the conjecture fails as the rate tends to 0.

    It is above 1 at every noise, because numerator and denominator differ by (e^(1/(2 sigma^2)) - 1)^2; it ranges from 1 (much
    noise) to 2 (little).
    """
    noise = check.nonnegative(noise=noise)
    if noise == 0.0:
        raise InvalidInput("noise must be > 0; got 0. The ratio tends to 2 there.")
    half = 0.5 / (noise * noise)
    return 2.0 / (1.0 + math.exp(-half))
