"""Independent references for sampled divergences, by ball arithmetic (python-flint)."""

from __future__ import annotations

import itertools
import math

from flint import acb, arb, ctx


def sampled_gaussian_ball(rate: float, noise: float, order: float, *, adding: bool) -> float:
    """D of the sampled Gaussian pair: rigorous integration, the precision doubled until the radius is below 1e-15."""
    precision = 200
    while precision <= 3200:
        ctx.prec = precision
        value = _divergence(rate, noise, order, adding)
        if value is not None and value.rad() < value * arb(2) ** -50:
            return float(value.mid())
        precision *= 2
    raise AssertionError("undecided")


def _divergence(rate: float, noise: float, order: float, adding: bool) -> arb | None:
    q, sigma = acb(rate), acb(noise)
    power = acb(1 - arb(order)) if adding else acb(order)

    def integrand(u, analytic):
        mixture = (1 - q) + q * (u / sigma - 1 / (2 * sigma * sigma)).exp()
        return (mixture.log(analytic) * power - u * u / 2).exp()

    reach = 30.0 + math.sqrt(1.4 * ctx.prec)
    low = -reach - (order - 1) / noise if adding else -reach
    high = reach + (2 / noise if adding else max(order, 2) / noise)
    pieces = min(400, max(2, int((high - low) / max(4.0, noise)) + 1))
    points = [low + (high - low) * i / pieces for i in range(pieces + 1)]
    tolerance = arb(2) ** (-ctx.prec)
    total = acb(0)
    for a, b in itertools.pairwise(points):
        total += acb.integral(integrand, acb(a), acb(b), rel_tol=tolerance, abs_tol=tolerance)
    # The tails that are cut off are below e^(-reach^2/2 + ...), far below the precision.
    moment = total.real / (2 * arb.pi()).sqrt()
    return moment.log() / (arb(order) - 1) if moment > 1 else None
