"""Finding the numbers that choose a proof: floats, guesses and searches, of which none is trusted by the checker."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from renyi import check
from renyi.certificates.certificate import ByContour, ByOrder, Certificate, CertificateRefused, loaded_checker
from renyi.errors import ConvergenceError, InvalidInput, NotSerialisable, UnsupportedError
from renyi.events import serial
from renyi.events.event import Event
from renyi.laws.conversion import best_offset, optimal_epsilon
from renyi.laws.relation import Adjacency, Relation
from renyi.signatures import taught

_BITS = 128
"""Precision of the balls; a run of 10^15 steps loses 50 bits of them."""

_MOVED = 2e-5
"""By how much of itself the blur moves epsilon: about how far the claim lies above the truth."""

_CORNER = 1e-6
"""The epsilon below which the blur is no smaller than here."""

_SLIGHT = 14.0
"""Other terms of the sum, and its tail, are each made smaller than e^-14 = 8e-7 of delta."""

_LADDER = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.35, 1.5, 2.0, 3.0, 5.0, 9.0)
"""Tilts, relative to the one at which Chernoff's bound is least. Those up to 1 may have the line; where large losses are rare a
smaller tilt has fewer nodes. Those beyond bound the terms to the right."""

_SPARED = 1e-12
"""Relative distance of the claim from the least epsilon that balls of ``_BITS`` prove: other precisions prove it too."""

_LARGEST_TILT, _SMALLEST_TILT = 1e6, 1e-4

COVERED = (
    "Tight certificates cover Gaussian noise, Laplace noise, discrete Laplace noise, randomized response, FinitePair, PureDP "
    "and GaussianDP, Poisson samples of Gaussian noise and of one law with finitely many outcomes, repeated and composed. "
    "Certificates by one Renyi order cover these, ZCDP, TCDP, DiscreteGaussian and ExponentialMechanism, and a Poisson sample "
    "of any of them."
)


@taught
def certify(
    event: Event, *, delta: float, adjacency: Adjacency = Adjacency.ADD_OR_REMOVE, route: str | None = None
) -> Certificate:
    """A proof of an epsilon at ``delta`` that a small independent checker verifies, in ball arithmetic.

    ``route`` is ``"contour"`` (tight: at most about 1e-4 of epsilon above the truth) or ``"renyi"`` (one order); without it the
    tight one is taken where it applies. Needs python-flint (``pip install 'renyi[certify]'``).

    >>> import renyi
    >>> made = renyi.certify(renyi.Gaussian(2.0) * 10, delta=1e-5)
    >>> print(made)
    10 releases of Gaussian noise (multiplier 2): epsilon 7.51... at delta 1e-05 for add-or-remove neighbours, ...
    """
    if not isinstance(event, Event):
        raise InvalidInput(f"an event is certified, such as Gaussian(1.1).on(Poisson(0.01)) * 1000; got {event!r}.")
    event, adjacency = event.canonical(), Adjacency.of(adjacency=adjacency)
    delta = check.asked_delta(delta=delta)
    if not 0.0 < delta < 1.0:
        raise InvalidInput(f"a certificate is about a delta between 0 and 1; got {delta!r}.")
    if route not in (None, "contour", "renyi"):
        raise InvalidInput(f"route is 'contour' or 'renyi'; got {route!r}.")
    try:
        document = serial.document(event)["event"]
    except NotSerialisable as error:
        raise UnsupportedError(f"what a checker cannot read has no certificate: {error}") from None
    checker = loaded_checker()
    refusals = []
    for name in ("contour", "renyi") if route is None else (route,):
        with _Precision(checker):
            try:
                found = [_proof(checker, document, one, adjacency, delta, name) for one in adjacency.relations]
            except (checker.Refused, ConvergenceError) as refusal:
                refusals.append(str(refusal))
                continue
        proofs = tuple((one, proof) for one, (_, proof) in zip(adjacency.relations, found, strict=True))
        made = Certificate(event, adjacency, delta, max(epsilon for epsilon, _ in found), proofs)
        try:
            made.verify()
        except CertificateRefused as refusal:  # so many unlike parts that the checker would take too long
            refusals.append(str(refusal).rstrip("."))
            continue
        return made
    raise UnsupportedError(f"no certificate of this event: {'; '.join(dict.fromkeys(refusals))}. {COVERED}")


class _Precision:
    """Balls of so many bits, for a while."""

    def __init__(self, checker: Any):
        self.ctx = checker.ctx

    def __enter__(self) -> None:
        self.before, self.ctx.prec = self.ctx.prec, _BITS

    def __exit__(self, *_: object) -> None:
        self.ctx.prec = self.before


def _proof(
    checker: Any, document: dict[str, Any], relation: Relation, adjacency: Adjacency, delta: float, route: str
) -> tuple[float, ByContour | ByOrder]:
    parts = checker.laws(document, relation.value, adjacency.value)
    if not parts:
        raise checker.Refused("nothing is released, which needs no proof")
    return _by_contour(checker, parts, delta) if route == "contour" else _by_order(checker, parts, delta)


def _by_contour(checker: Any, parts: list[Any], delta: float) -> tuple[float, ByContour]:
    """The least epsilon that a line proves, and the line."""
    arb, log_delta = checker.arb, math.log(delta)

    def cumulant(tilt: float) -> float:
        try:
            return float(checker.moment(parts, arb(tilt)).log().mid())
        except checker.Refused:
            return math.inf

    def chernoff(tilt: float) -> float:
        return (cumulant(tilt) + _log_corner(tilt) - log_delta) / tilt

    for law, _ in parts:
        law.line(arb(1), arb(1), 0)  # refuses a law whose transform is not known
    tilt = _least(chernoff, 4.0, 0.02)
    epsilon = max(chernoff(tilt), 0.0)
    ladder = [(c, k) for c, k in ((share * tilt, cumulant(share * tilt)) for share in _LADDER) if math.isfinite(k)]
    variance = float(checker.split(parts, arb(0))[0])
    if not ladder:
        raise ConvergenceError("no tilt was found at which the moments are finite")
    blur = max(2.0 * _MOVED * max(epsilon, _CORNER) / (1.0 + tilt) - variance, 0.0)
    for _ in range(5):
        lines = [_line(ladder[i:], epsilon, blur, variance, log_delta) for i, (c, _) in enumerate(ladder) if c <= tilt]
        proof = min(lines, key=lambda one: one.nodes)
        made = checker.line({"route": proof.route, **{n: getattr(proof, n) for n in ByContour.__slots__}}, parts)
        epsilon = _solved(checker, made, epsilon, proof.tilt, delta)
        moved, wanted = _moved(made, epsilon, blur), _MOVED * max(epsilon, _CORNER)
        if moved < 1.5 * wanted:
            break
        blur *= wanted / moved
    return epsilon, proof


def _moved(made: Any, epsilon: float, blur: float) -> float:
    """By how much a blur v moves epsilon, about: delta rises by v/2 times the density of the loss, and falls by its slope."""
    if blur == 0.0 or epsilon == 0.0:
        return 0.0
    nodes, _, _ = made
    values = [((t + 1) * value * (-t * epsilon).exp() * t).real for t, value in nodes]
    slopes = [(t * value * (-t * epsilon).exp()).real for t, value in nodes]
    density, slope = (float(one[0] + 2 * sum(one[1:])) for one in (values, slopes))
    return 0.5 * blur * density / slope if slope > 0.0 else math.inf


def _line(
    ladder: list[tuple[float, float]], epsilon: float, blur: float, variance: float, log_delta: float
) -> ByContour:
    """The line at the first tilt of a ladder of tilts and cumulants, long and dense enough for an epsilon."""
    (tilt, here), beyond = ladder[0], ladder[1:]
    # Terms to the left: e^(-c A). To the right: e^(c A) delta(epsilon + A), by Chernoff's bound at larger tilts.
    rising = [(k + _log_corner(c) - c * epsilon + _SLIGHT - log_delta) / (c - tilt) for c, k in beyond]
    period = max((_SLIGHT - log_delta) / tilt, min(rising, default=0.0))
    step = 2.0 * math.pi / period
    # So many that M(c) e^(-c epsilon - V W^2/2)/(pi W) is slight beside delta.
    excess = here + 0.5 * blur * tilt * (tilt + 1.0) - tilt * epsilon + _SLIGHT - log_delta
    width = step
    for _ in range(20):
        width = math.sqrt(2.0 * max(excess - math.log(math.pi * width), 1.0) / (blur + variance))
    return ByContour(tilt, step, max(math.ceil(width / step), 1), blur)


def _solved(checker: Any, made: Any, epsilon: float, tilt: float, delta: float) -> float:
    """The least epsilon at which a line proves delta, to within ``_SPARED``: its logarithm falls by about the tilt."""

    def excess(x: float) -> float:
        """log of what is proved at x, beside delta."""
        value = checker.line_delta(made, checker.arb(x)).upper()
        return float((value / checker.arb(delta)).log().mid()) if value.is_finite() and value > 0 else math.inf

    if excess(0.0) <= -_SPARED:
        return 0.0
    low, high = 0.0, max(epsilon, 1e-9)
    while excess(high) > 0.0:
        low, high = high, 1.1 * high + 1.0 / tilt
        if high > 1e12:
            raise ConvergenceError("the line proves no epsilon at this delta")
    guess = high
    for _ in range(100):
        above = excess(guess)
        low, high = (guess, high) if above > 0.0 else (low, guess)
        if high - low <= 0.2 * _SPARED * high:
            break
        newton = guess + above / tilt
        newton += 0.1 * _SPARED * newton  # a hair above the root, so that the bracket closes from both sides
        guess = newton if low < newton < high else 0.5 * (low + high)
    return high * (1.0 + _SPARED)


def _by_order(checker: Any, parts: list[Any], delta: float) -> tuple[float, ByOrder]:
    """The least epsilon that one order proves, and the order."""
    arb, log_delta = checker.arb, math.log(delta)
    whole = any(isinstance(law, checker.Sampled) for law, _ in parts)
    most = min([_LARGEST_TILT, *([checker.LARGEST_ORDER - 1.0] if whole else [])])
    for law, _ in parts:
        if isinstance(law, checker.Curve) and law.largest is not None:
            most = min(most, float(law.largest) - 1.0)

    def epsilon(t: float) -> float:
        t = min(max(float(round(t)), 1.0), math.floor(most)) if whole else min(t, most)
        try:
            divergence = float((checker.moment(parts, arb(t)).log() / arb(t)).upper())
        except checker.Refused:
            return math.inf
        return optimal_epsilon(1.0 + t, divergence, log_delta) if math.isfinite(divergence) else math.inf

    t = _least(epsilon, 4.0, 1e-6, most)
    t = min((max(float(round(t) + k), 1.0) for k in (-1, 0, 1)), key=epsilon) if whole else min(t, most)
    order = 1.0 + t
    moment = checker.moment(parts, arb(order) - 1)
    offset = best_offset(order, float((moment.log() / arb(t)).upper()), log_delta)
    return min((_converted(checker, moment, order, -b, delta) for b in (offset, math.inf)), key=lambda found: found[0])


def _converted(checker: Any, moment: Any, order: float, low: float, delta: float) -> tuple[float, ByOrder]:
    """The epsilon that an order proves with a lower ratio, and the upper ratio that delta needs."""
    arb = checker.arb
    a = arb(order)
    t, x2 = a - 1, arb(0) if low == -math.inf else arb(low).exp()
    gap = x2**t + (moment - x2**a - a * x2**t * (1 - x2)) / (a * arb(delta))
    high = math.nextafter(float((gap.log() / t).upper()), math.inf)
    high += 1e-15 * abs(high)
    x1 = arb(high).exp()
    reached = x1 - (x1**a - x2**a - a * x2**t * (x1 - x2)) / (a * (x1**t - x2**t))
    epsilon = 0.0 if reached <= 1 else float(reached.log().upper())
    if not math.isfinite(epsilon):
        raise checker.Refused("no order proves anything at this delta")
    return math.nextafter(epsilon, math.inf) * (1.0 + 1e-14), ByOrder(order, None if low == -math.inf else low, high)


def _log_corner(tilt: float) -> float:
    """log of the largest max(0, 1 - e^-x) e^(-tilt x): Chernoff's bound on delta is smaller by that."""
    return tilt * math.log(tilt) - (1.0 + tilt) * math.log1p(tilt)


def _least(function: Callable[[float], float], start: float, accuracy: float, most: float = _LARGEST_TILT) -> float:
    """Where a function with one valley is least, to a relative accuracy: doubling, then the golden section in logarithms."""
    values: dict[float, float] = {}

    def at(log_x: float) -> float:
        if log_x not in values:
            values[log_x] = function(math.exp(log_x))
        return values[log_x]

    middle, stride, top, bottom = math.log(min(start, most)), math.log(2.0), math.log(most), math.log(_SMALLEST_TILT)
    while at(middle) == math.inf and middle > bottom:
        middle -= stride
    for side in (stride, -stride):
        while bottom < middle + side < top + stride and at(min(middle + side, top)) < at(middle):
            middle = min(middle + side, top)
    low, high, share = middle - stride, min(middle + stride, top), 0.381966011250105
    while high - low > accuracy:
        left, right = low + share * (high - low), high - share * (high - low)
        low, high = (low, right) if at(left) <= at(right) else (left, high)
    return math.exp(min(values, key=lambda log_x: values[log_x]))
