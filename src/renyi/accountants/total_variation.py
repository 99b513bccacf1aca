"""Delta at epsilon 0 to ten digits, of runs that the loss grid knows to five or six: it decides whether epsilon is 0.

Both directions have the same, so the record is always the first law's.
"""

from __future__ import annotations

from collections.abc import Sequence

from renyi.accountants.laplace_variation import LaplaceRun
from renyi.accountants.two_step_variation import two_step_variation
from renyi.composing.contour.composition import composition
from renyi.composing.contour.contour import contour_delta
from renyi.errors import ConvergenceError
from renyi.laws.interval import Interval
from renyi.laws.pair import DominatingPair
from renyi.laws.pairs.gaussian import GaussianPair
from renyi.laws.pairs.sorted import SortedPair
from renyi.mechanisms.laplace import LaplacePair
from renyi.sampling.poisson.pair import PoissonPair
from renyi.sampling.sampled_product_transform import SampledProductTransform

Pairs = Sequence[tuple[DominatingPair, int]]


def total_variation(pairs: Pairs, about: float) -> Interval | None:
    """None where there is no such way; ``about`` is a value near it."""
    if len(pairs) == 1:
        pair, count = pairs[0]
        base, rate = (pair.base, pair.rate) if isinstance(pair, PoissonPair) else (pair, 1.0)
        if isinstance(base, LaplacePair):
            return LaplaceRun(base.scale, rate, count).total_variation(about)
        if isinstance(base, SortedPair) and base.product and rate < 1.0:
            return _of_draws(base.product, rate, count)
    steps = [pair for pair, count in pairs for _ in range(min(count, 3))]
    if len(steps) == 2:
        for first, second in (steps, steps[::-1]):
            if isinstance(second, PoissonPair) and isinstance(second.base, GaussianPair) and second.base.noise > 0.0:
                return two_step_variation(first, second.rate, second.base.noise)
    return None


def _of_draws(product: Pairs, rate: float, count: int) -> Interval | None:
    """Of draws that feed several releases each: the mixture is as far from the second law as ``rate`` times the product is."""
    try:
        if count == 1:
            transforms = [(pair.transform(), number) for pair, number in product]
            inner, _ = contour_delta(composition([(t, number) for t, number in transforms if t is not None]), 0.0)
            known = all(transform is not None for transform, _ in transforms)
            return Interval(rate * inner.lower * (1.0 - 1e-15), rate * inner.upper * (1.0 + 1e-15)) if known else None
        gaussians = [pair for pair, number in product if isinstance(pair, GaussianPair) and number == 1]
        others = [pair for pair, number in product if not isinstance(pair, GaussianPair) and number == 1]
        if len(gaussians) != 1 or len(others) != 1 or len(product) != 2:
            return None
        transform = SampledProductTransform(gaussians[0].noise, others[0], rate)
        return contour_delta(composition([(transform, count)]), 0.0)[0]
    except (ConvergenceError, ArithmeticError, ValueError):
        return None
