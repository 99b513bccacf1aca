"""A checker of privacy certificates. This file needs python-flint and nothing else of ours:  python checker.py FILE [BITS]

A certificate is a JSON object that holds an event (what was released), an adjacency, ``delta``, ``epsilon``, and for every
relation of the adjacency a few numbers that choose a proof. It holds no results. Everything is computed here from the event,
in balls (midpoint and radius, by Arb) that contain the exact values; each float stands for the rational number that it is. So
``verify`` accepts only if

    delta(x) := E_P max(0, 1 - e^(x - L)) <= delta   at x = epsilon,   with L = log dP/dQ the loss of the whole release,

for each relation. Two inputs of the proof are theorems, and not computed: each release is dominated by the pair (P, Q) that
``laws`` gives it (Balle & Wang 2018 for Gaussian noise; Zhu, Dong & Wang 2022, arXiv:2106.08567v4, Theorem 11 for a Poisson
sample: the pair is the mixture (1-q)Q + qP against Q if a record is removed, Q against the mixture if one is added); and pairs
compose by products, also adaptively (the same, Theorem 10). So losses add, and M(t) := E_P e^(tL) is the product of the parts'.

*Zero-out* neighbours: a blank stands in the record's place and contributes nothing, so a sum over a sample is the same with the
blank as without it. Given the draw of the others, the dataset with the blank then releases by Q, drawn or not, and the one with
the record by (1-q)Q + qP. That is the pair of removing, zero-in is that of adding, and averaging over the draw of the others
raises no delta, which is jointly convex.

What the event states is taken as stated. A law or a bound that names its neighbours (gaussian_dp, pure_dp, finite_pair, zcdp,
tcdp, exponential) is assumed to dominate the release for these neighbours, whatever the other records are, and both orders of
the two datasets (finite_pair: p with the record, q without it, and exchanged). On a sample that means with the record drawn
against without it; for zero-out neighbours it is assumed there, and of randomized response too, that no release tells a blank
in the sample from no record. A certificate of such an event proves what follows from these statements, not the statements.

ROUTE "contour": a tilt c > 0, a step h > 0, nodes N >= 1, a blur v >= 0.
1. *Blur.* A normal release of variance v is composed with the run. It can be dropped afterwards, so delta can only rise.
   Gaussian releases of variances v_i = (distance/noise)^2 have M(t) = e^(V t(t+1)/2), V = sum v_i. V includes v from now on.
2. *Identity.* For Re t > 0, integrate e^(tx) max(0, 1 - e^(x-L)) over real x, then over L:  the integral of e^(tx) delta(x) dx
   is E e^(tL) (1/t - 1/(t+1)) = F(t) := M(t)/(t(t+1)), finite since M(c) is, as 0 <= delta(x) <= min(1, M(c) e^(-cx)).
3. *The sum errs upwards.* Put A = 2 pi/h. The function sum_k e^(c(x+kA)) delta(x+kA), over all integers k, has period A in x.
   delta is continuous and decreasing, e^(cx) delta(x) is integrable, so the series converges uniformly on bounded sets and the
   function is continuous. By 2 its Fourier coefficients are (1/A) F(c + ijh), and sum |F(c + ijh)| <= sum M(c)/|c + ijh|^2 is
   finite: the Fourier series converges to it at every point. At x = epsilon, multiplied by e^(-c epsilon):

       (h/2pi) sum over integers j of F(c+ijh) e^(-(c+ijh) epsilon)  =  sum over integers k of e^(ckA) delta(epsilon + kA).

   The right side is >= its term k = 0, which is delta(epsilon), because no term is negative: no error bound is needed.
4. *Tail.* |M(c+iw)| <= M(c) e^(-V w^2/2), for V is normal and every other part is at most its value at c. |t(t+1)| >= w^2. The
   terms with |j| > N are, with W = Nh, at most (1/pi) M(c) e^(-c epsilon) e^(-V W^2/2) times the integral of w^-2 from W on,
   which is 1/W. Terms j and -j are conjugate, so the left side is real and half of it need not be computed.

M of a *finite* law is a sum over its outcomes; of *Laplace* noise ((t+1) e^(t/b) + t e^(-(t+1)/b))/(2t+1), by integration.
M of *sampled Gaussian* noise of variance v = g^2 at rate q, with u standard normal under Q, r(u) = 1 - q + q e^(gu - g^2/2):
5. M(c+iw) is the integral of f(u) = phi(u) r(u)^p, p = c+1+iw (removing, L = log r) or -c-iw (adding, L = -log r). Take
   w >= 0, and u off the real line by y (adding: by -y) with 0 <= y <= 2b, where 2bg < pi. There r != 0, and the side is chosen
   so that |e^(iwL)| = e^(-w |arg r|) <= 1. With s = q e^(gu - g^2/2)/r for real u, |r(u+iy)| = r(u) |1 - s + s e^(igy)| lies
   between r(u) cos(gy/2) and r(u), since |1 - s + s e^(ia)|^2 = 1 - 2s(1-s)(1-cos a) >= cos(a/2)^2. So

       |f(u +- iy)| <= G phi(u) r(u)^k,   G = e^(2 b^2) (removing, k = c+1),  G = e^(2 b^2) cos(bg)^-c (adding, k = -c).

6. The trapezoidal rule of step d along Im u = +-b errs by at most (1 + G) M(c)/(e^(2 pi b/d) - 1): its error is the sum of
   the Fourier integrals of frequencies m/d, m != 0, and for each the path is moved by b to the side where e^(2 pi i m u/d)
   falls: to the real line (bound M(c)) or to 2b (bound G M(c)). The same error, at w = 0, bounds M(c) itself.
7. Nodes of the rule beyond an end H are bounded by a geometric series: outside H > 0, phi(u) <= phi(H) e^(-H(u-H)); log r is
   convex with a slope between 0 and g, so r^k grows outwards by at most e^(slope (u-H)), slope = kg (removing), 0 (adding). On
   the left the slopes are 0 (removing) and cgs(H) (adding). Where ends and steps lie is chosen by floats: any choice is valid.

ROUTE "renyi": an order a = 1+t > 1, and reals x1 > x2 >= 0, given by logarithms (low is null for x2 = 0).
8. With B = 1/(a (x1^t - x2^t)), g(x) = B (x^a - x2^a - a x2^t (x - x2)) is convex, >= 0 (a curve above its tangent) and has
   slope 1 at x1. So g(x) >= max(0, x - x1 + g(x1)) >= max(0, x - e^epsilon) as soon as e^epsilon >= x1 - g(x1). The mean over
   Q at x = dP/dQ is delta(epsilon) <= B (M(t) - x2^a - a x2^t (1 - x2)), M(t) = E_Q x^a. Any upper bound on M(t) serves.
9. A mechanism of which a bound xi + rho a on its Renyi divergence is known has M(t) <= e^(t (xi + rho a)). Known: zCDP and tCDP
   by definition; discrete Gaussian noise, rho = (distance/scale)^2/2 (Canonne, Kamath & Steinke 2020, Proposition 5); the
   exponential mechanism, rho = epsilon^2/8 (Cesar & Rogers 2021, Lemma 3.4).
10. Anything on a Poisson sample, at an integer order a >= 2: M(t) <= sum_k C(a,k) q^k (1-q)^(a-k) m_k, where m_k bounds
   E_Q (P/Q)^k in both directions, m_0 = m_1 = 1. Removing, by the binomial theorem; adding, docs/poisson-general-bound.md.
"""

from __future__ import annotations

import json
import math
import re
import sys
from itertools import accumulate
from typing import Any

from flint import acb, acb_mat, arb, ctx

RELATIONS = {"add-or-remove": ("remove", "add"), "replace-one": ("replace",), "zero-out": ("zero-out", "zero-in")}
FIELDS = ("format", "version", "event", "adjacency", "delta", "epsilon", "relations")
PARAMETERS = {
    "gaussian": ("noise_multiplier",),
    "gaussian_dp": ("mu", "adjacency"),
    "laplace": ("noise_multiplier",),
    "discrete_laplace": ("scale", "sensitivity"),
    "pure_dp": ("epsilon", "adjacency"),
    "randomized_response": ("probability", "outcomes"),
    "finite_pair": ("p", "q", "adjacency"),
    "zcdp": ("xi", "rho", "adjacency"),
    "tcdp": ("rho", "omega", "adjacency"),
    "discrete_gaussian": ("scale", "sensitivity"),
    "exponential": ("epsilon", "adjacency"),
}
BITS, LEAST_BITS = 128, 64
MOST_CHARACTERS, MOST_BRACKETS, MOST_DIGITS = 300_000, 40, 400
MOST_NODES, MOST_TERMS, MOST_PARTS, MOST_MOVED, LARGEST_COUNT, LARGEST_ORDER = 20_000, 20_000, 50, 200, 10**15, 1_000
MOST_WORK = 6_000_000  # products of balls, or half as many exponentials, of both relations: seconds, at 128 bits


class Refused(ValueError):
    """The certificate proves nothing, for the reason that is given."""


def require(condition: object, reason: str) -> None:
    """Refuse, unless."""
    if not condition:
        raise Refused(reason)


def verify(text: str | bytes, bits: int = BITS) -> dict[str, Any]:
    """The contents of a certificate that proves its epsilon; raises ``Refused`` for any other text."""
    require(type(bits) is int and bits >= LEAST_BITS, f"bits must be an integer of at least {LEAST_BITS}")
    found = read(text)
    before = ctx.prec
    try:
        ctx.prec = bits
        check(found)
    except Refused:
        raise
    except (TypeError, ValueError, KeyError, AttributeError, ArithmeticError, RecursionError) as error:
        raise Refused(f"a field is missing or has the wrong kind: {error!r:.200}") from None
    finally:
        ctx.prec = before
    return found


def check(found: dict[str, Any]) -> None:
    """Everything that makes a certificate a proof."""
    exactly(found, *FIELDS)
    require(found["format"] == "renyi-certificate" and first(found), "not a certificate of version 1")
    epsilon, delta = number(found["epsilon"], "epsilon", 0), number(found["delta"], "delta")
    require(delta < 1, "a delta of 1 or more says nothing")
    proofs, document = found["relations"], found["event"]
    exactly(document, "format", "version", "event")
    require(document["format"] == "renyi-event" and first(document), "not an event of version 1")
    wanted = RELATIONS.get(found["adjacency"], ())
    require(wanted and set(proofs) == set(wanted), f"a proof is needed for every relation of the adjacency: {wanted}")
    todo = [(name, proof, laws(document["event"], name, found["adjacency"])) for name, proof in proofs.items()]
    require(sum(work(proof, parts) for _, proof, parts in todo) <= MOST_WORK, "this would take too much work")
    for relation, proof, parts in todo:
        reached = (by_contour if proof["route"] == "contour" else by_renyi)(proof, parts, epsilon)
        require(reached <= delta, f"{relation}: delta at this epsilon is not proved to be below {found['delta']!r}")


def by_contour(proof: dict[str, Any], parts: list[tuple[Law, int]], epsilon: arb) -> arb:
    """An upper bound on delta by the sum on a vertical line: 1 to 4 above."""
    return line_delta(line(proof, parts), epsilon)


def line(proof: dict[str, Any], parts: list[tuple[Law, int]]) -> tuple[list[tuple[acb, acb]], arb, arb]:
    """The nodes t with F(t), the step, and M(c) e^(-V W^2/2)/(pi W)."""
    exactly(proof, "route", "tilt", "step", "nodes", "blur")
    tilt, step, blur = number(proof["tilt"], "tilt"), number(proof["step"], "step"), number(proof["blur"], "blur", 0)
    count = whole(proof["nodes"], "nodes", MOST_NODES)
    points = [acb(tilt, step * j) for j in range(count + 1)]
    variance, rest = split(parts, blur)
    values = [(variance * t * (t + 1) / 2).exp() for t in points]
    for law, times in rest:
        values = [value * power(one, times) for value, one in zip(values, law.line(tilt, step, count), strict=True)]
    width = step * count
    tail = abs(values[0]).upper() * (-variance * width * width / 2).exp() / (arb.pi() * width)
    return [(t, value / (t * (t + 1))) for t, value in zip(points, values, strict=True)], step, tail


def line_delta(made: tuple[list[tuple[acb, acb]], arb, arb], epsilon: arb) -> arb:
    """The sum over the line at an epsilon, and the bound on what is cut off."""
    nodes, step, tail = made
    terms = [(value * (-t * epsilon).exp()).real for t, value in nodes]
    cut = tail * (-nodes[0][0].real * epsilon).exp()
    return step / (2 * arb.pi()) * (terms[0] + 2 * sum(terms[1:], arb(0))) + cut


def by_renyi(proof: dict[str, Any], parts: list[tuple[Law, int]], epsilon: arb) -> arb:
    """An upper bound on delta by the divergence of one order: 8 above."""
    exactly(proof, "route", "order", "low", "high")
    require(proof["route"] == "renyi", "a route is contour or renyi")
    order = number(proof["order"], "order", 1)
    t, x1 = order - 1, number(proof["high"], "high", -1e6).exp()
    x2 = arb(0) if proof["low"] is None else number(proof["low"], "low", -1e6).exp()
    require(t > 0 and x1 > x2, "an order above 1 and high above low are needed")
    scale = 1 / (order * (x1**t - x2**t))
    reached = x1 - scale * (x1**order - x2**order - order * x2**t * (x1 - x2))
    require(epsilon.exp() >= reached, "the tangent belongs to a larger epsilon")
    return scale * (moment(parts, t) - x2**order - order * x2**t * (1 - x2))


def moment(parts: list[tuple[Law, int]], t: arb) -> arb:
    """An upper bound on E e^(tL) of the run."""
    variance, rest = split(parts, arb(0))
    total = (variance * t * (t + 1) / 2).exp()
    for law, times in rest:
        total *= law.moment(t).upper() ** times
    return total


def power(value: acb, times: int) -> acb:
    """value^times; of a ball that contains 0, the disc around 0."""
    result = (times * value.log()).exp()
    if result.is_finite():
        return result
    size = abs(value).upper() ** times
    return acb(arb(0, size), arb(0, size))


def split(parts: list[tuple[Law, int]], blur: arb) -> tuple[arb, list[tuple[Law, int]]]:
    """The variance of all normal parts, and the other parts."""
    normal = [(law.variance, times) for law, times in parts if isinstance(law, Normal)]
    return sum((times * one for one, times in normal), blur), [one for one in parts if not isinstance(one[0], Normal)]


def work(proof: dict[str, Any], parts: list[tuple[Law, int]]) -> float:
    """About how many operations a proof takes, found out in floats before any is done."""
    if proof["route"] != "contour":
        order = number(proof["order"], "order", 1)
        return sum(law.size(float(order) - 1.0) for law, _ in parts)
    tilt, nodes = float(number(proof["tilt"], "tilt")), whole(proof["nodes"], "nodes", MOST_NODES)
    return sum(law.size(tilt) * (2.0 * math.sqrt(nodes) + 0.1 * nodes) + 5.0 * nodes for law, _ in parts)


class Law:
    """What is known of the loss of one release."""

    def size(self, tilt: float) -> float:
        """About how many terms a value takes."""
        return 1.0

    def line(self, tilt: arb, step: arb, count: int) -> list[acb]:
        """M(tilt + i j step) for j = 0..count."""
        raise Refused("the transform of a part is not known: only the route renyi proves anything about it")

    def moment(self, t: arb) -> arb:
        """An upper bound on M(t), t > 0."""
        return self.line(t, arb(0), 0)[0].real


class Normal(Law):
    """Gaussian noise."""

    def __init__(self, variance: arb):
        self.variance = variance

    def line(self, tilt: arb, step: arb, count: int) -> list[acb]:
        return [(self.variance * t * (t + 1) / 2).exp() for t in (acb(tilt, step * j) for j in range(count + 1))]


class Laplace(Law):
    """Laplace noise, for a shift of 1."""

    def __init__(self, scale: arb):
        self.scale = scale

    def line(self, tilt: arb, step: arb, count: int) -> list[acb]:
        points, b = [acb(tilt, step * j) for j in range(count + 1)], self.scale
        return [((t + 1) * (t / b).exp() + t * (-(t + 1) / b).exp()) / (2 * t + 1) for t in points]


class Finite(Law):
    """Outcomes with masses under P and under Q; their losses are finite, or of no mass under P."""

    def __init__(self, masses: list[tuple[arb, arb]]):
        self.masses = masses

    def size(self, tilt: float) -> float:
        return len(self.masses)

    def line(self, tilt: arb, step: arb, count: int) -> list[acb]:
        seen = [(p, q) for p, q in self.masses if not p.is_zero()]  # of the others e^(tL) is 0
        require(all(q > 0 for _, q in seen), "an outcome has an infinite loss")
        losses = [(p / q).log() for p, q in seen]
        weights = [p * (tilt * loss).exp() for (p, _), loss in zip(seen, losses, strict=True)]
        return powers(list(map(acb, losses)), list(map(acb, weights)), step, count)


class SampledNormal(Law):
    """Gaussian noise on a Poisson sample: 5 to 7 above."""

    def __init__(self, variance: arb, rate: arb, adding: bool):
        self.g, self.rate, self.adding = variance.sqrt(), rate, adding

    def rule(self, tilt: float) -> tuple[float, float, int, int]:
        """Height, step, first and last node, by floats."""
        g, q, depth = float(self.g), float(self.rate), ctx.prec * math.log(2.0)
        require(1e-6 < g < 1e3 and tilt < 1e6, "sampled noise is checked for multipliers of 0.001 to 1e6")
        height = min(1.4 / g, math.sqrt(depth / (2.0 + (0.5 * tilt * g * g if self.adding else 0.0))))
        growth = 2.0 * height**2 - (tilt * math.log(math.cos(height * g)) if self.adding else 0.0)
        step = 2.0 * math.pi * height / (depth + growth)

        def log_r(u: float) -> float:
            x = g * u - 0.5 * g * g
            return math.log1p(q * math.expm1(x)) if x < 600.0 else x + math.log(q)

        ends = []
        for side in (-1.0, 1.0):
            end, k = (
                8.0 + (0.0 if self.adding or side < 0.0 else (tilt + 1.0) * g),
                -tilt if self.adding else tilt + 1.0,
            )
            while k * log_r(side * end) + growth - 0.5 * end * end > -depth - 8.0:
                end *= 1.03
                require(end < step * MOST_TERMS, "a law takes too many terms")
            ends.append(math.ceil(end / step))
        require(sum(ends) < MOST_TERMS, "a law takes too many terms")
        return height, step, -ends[0], ends[1]

    def size(self, tilt: float) -> float:
        _, _, first, last = self.rule(tilt)
        return last - first + 1

    def ratio(self, u: acb) -> acb:
        return 1 - self.rate + self.rate * (self.g * u - self.g * self.g / 2).exp()

    def line(self, tilt: arb, step: arb, count: int) -> list[acb]:
        b, d, first, last = self.rule(float(tilt))
        height, width, sign = arb(b), arb(d), -1 if self.adding else 1
        root = (2 * arb.pi()).sqrt()
        losses, weights = [], []
        for k in range(first, last + 1):
            u = acb(width * k, sign * height)
            loss = sign * self.ratio(u).log()
            losses.append(loss)
            weights.append(width / root * (-u * u / 2 + tilt * loss + (0 if self.adding else loss)).exp())
        require(2 * height * self.g < arb.pi(), "the path meets a zero of r")
        growth = (2 * height * height).exp() * ((height * self.g).cos() ** -tilt if self.adding else 1)
        tails = arb(0)
        for end in (width * (first - 1), width * (last + 1)):
            r = self.ratio(acb(end)).real
            slope = self.slope(end, r, tilt)
            require(abs(end) > slope, "the rule is too short")
            size = growth * width / root * (-end * end / 2).exp() * r ** (-tilt if self.adding else tilt + 1)
            tails += size / (1 - (width * (slope - abs(end))).exp())
        alias = (1 + growth) / ((2 * arb.pi() * height / width).exp() - 1)
        require(alias < 1, "the rule is too coarse")
        values = powers(losses, weights, step, count)
        error = (tails + alias * (abs(values[0]) + tails) / (1 - alias)).upper()
        return [value + acb(arb(0, error), arb(0, error)) for value in values]

    def slope(self, end: arb, r: arb, tilt: arb) -> arb:
        """How fast r^k can grow outwards from an end."""
        if self.adding:
            return tilt * self.g * (1 - (1 - self.rate) / r) if end < 0 else arb(0)
        return (tilt + 1) * self.g if end > 0 else arb(0)


class Curve(Law):
    """A mechanism whose divergence of order a is at most xi + rho a, up to a largest order: 9 above."""

    def __init__(self, xi: arb, rho: arb, largest: arb | None = None):
        self.xi, self.rho, self.largest = xi, rho, largest

    def moment(self, t: arb) -> arb:
        require(self.largest is None or t + 1 <= self.largest, "nothing is known of a part at this order")
        return (t * (self.xi + self.rho * (t + 1))).exp()


class Sampled(Law):
    """Anything on a Poisson sample, at integer orders: 10 above."""

    def __init__(self, rate: arb, both: list[list[tuple[Law, int]]]):
        self.rate, self.both = rate, both

    def size(self, tilt: float) -> float:
        require(tilt + 1.0 <= LARGEST_ORDER, "the order is too large")
        return tilt * (16.0 + sum(2.0 * law.size(tilt) for parts in self.both for law, _ in parts))

    def moment(self, t: arb) -> arb:
        order = (t + 1).unique_fmpz()
        require(order is not None and 2 <= order <= LARGEST_ORDER, "this part needs an integer order of at least 2")
        assert order is not None
        a, q, total = int(order), self.rate, arb(0)
        for k in range(a + 1):
            largest = arb(1)
            if k >= 2:
                first, second = (moment(parts, arb(k - 1)).upper() for parts in self.both)
                largest = first.max(second)
            total += math.comb(a, k) * q**k * (1 - q) ** (a - k) * largest
        return total


def powers(losses: list[acb], weights: list[acb], step: arb, count: int) -> list[acb]:
    """The sums over k of weights[k] e^(i j step losses[k]) for j = 0..count, as a product of two matrices."""
    width = math.isqrt(count) + 1
    height = count // width + 1
    turns = [acb(0, step) * loss for loss in losses]
    left = [
        weight * (turn * (width * row)).exp()
        for row in range(height)
        for weight, turn in zip(weights, turns, strict=True)
    ]
    right = [(turn * column).exp() for turn in turns for column in range(width)]
    return (acb_mat(height, len(turns), left) * acb_mat(len(turns), width, right)).entries()[: count + 1]


def laws(
    event: dict[str, Any], relation: str, adjacency: str, times: int = 1, drawn: bool = False
) -> list[tuple[Law, int]]:
    """The law of every part of an event, with its count; ``drawn`` inside a sample."""
    kind = event["kind"]
    if kind == "repeated":
        exactly(event, "kind", "count", "event")
        count = times * whole(event["count"], "count", LARGEST_COUNT)
        require(count <= LARGEST_COUNT, "too many releases")
        return laws(event["event"], relation, adjacency, count, drawn)
    if kind == "composed":
        exactly(event, "kind", "events")
        require(len(event["events"]) <= MOST_PARTS, "too many parts")
        found = [law for part in event["events"] for law in laws(part, relation, adjacency, times, drawn)]
        require(len(found) <= MOST_PARTS, "too many parts")
        return found
    if kind == "sampled":
        exactly(event, "kind", "sampling", "event")
        require(not drawn, "a sample of a sample is not covered")
        return [(sampled(event, relation, adjacency), times)]
    require(kind == "mechanism", f"nothing is proved here about events of kind {kind!r:.40}")
    exactly(event, "kind", "name", "version", "parameters")
    require(first(event), "not a mechanism of version 1")
    return [(mechanism(event["name"], event["parameters"], relation, adjacency), times)]


def sampled(event: dict[str, Any], relation: str, adjacency: str) -> Law:
    """The law of an event on a Poisson sample."""
    sampling = event["sampling"]
    exactly(sampling, "name", "version", "parameters")
    require(sampling["name"] == "poisson" and first(sampling), "only Poisson samples are covered")
    exactly(sampling["parameters"], "rate")
    require(relation != "replace", "Poisson samples are covered for add-or-remove and zero-out neighbours")
    q, adding = number(sampling["parameters"]["rate"], "rate"), relation in ("add", "zero-in")
    require(q <= 1, "a rate is at most 1")
    both = [laws(event["event"], one, adjacency, drawn=True) for one in RELATIONS[adjacency]]
    present = both[0]  # the law with the record against the law without
    if all(isinstance(law, Normal) for law, _ in present):
        variance, _ = split(present, arb(0))
        return Normal(variance) if q == 1 else SampledNormal(variance, q, adding)
    if len(present) == 1 and present[0][1] == 1 and isinstance(present[0][0], Finite):
        mixed = [((1 - q) * b + q * a, b) for a, b in present[0][0].masses]
        return Finite([(b, a) for a, b in mixed] if adding else mixed)
    return Sampled(q, both)


def mechanism(name: str, given: dict[str, Any], relation: str, adjacency: str) -> Law:
    """The pair of a mechanism, or the bound on its divergence."""
    distance = 2 if relation == "replace" else 1
    require(name in PARAMETERS, f"nothing is proved here about {name!r:.40}")
    exactly(given, *PARAMETERS[name])
    if "adjacency" in given:
        require(given["adjacency"] == adjacency, f"what is known of {name} is about other neighbours")

    def parameter(key: str, low: float | None = None) -> arb:
        return number(given[key], key, low)

    match name:
        case "gaussian":
            return Normal((distance / parameter("noise_multiplier")) ** 2)
        case "gaussian_dp":
            return Normal(parameter("mu", 0) ** 2)
        case "laplace":
            return Laplace(parameter("noise_multiplier") / distance)
        case "discrete_laplace":
            moved = distance * whole(given["sensitivity"], "sensitivity", MOST_MOVED)
            step = 1 / parameter("scale")
            below, centre = 1 / (1 + (-step).exp()), (step / 2).tanh()  # P(x <= 0) and P(x = 0) of the noise
            tails = [((-moved * step).exp() * below, below), (below, (-moved * step).exp() * below)]
            near = [centre * (-step * x).exp() for x in range(moved)]
            return Finite([*tails, *((near[moved - x], near[x]) for x in range(1, moved))])
        case "pure_dp":
            likely = 1 / (1 + (-parameter("epsilon", 0)).exp())
            return Finite([(likely, 1 - likely), (1 - likely, likely)])
        case "randomized_response":
            true, others = parameter("probability"), whole(given["outcomes"], "outcomes", LARGEST_COUNT) - 1
            require(true < 1 and others >= 1, "a probability below 1 and two outcomes are needed")
            lie = (1 - true) / others
            return Finite([(true, lie), (lie, true), ((others - 1) * lie, (others - 1) * lie)])
        case "finite_pair":
            return finite_pair(given, relation)
        case "zcdp":
            return Curve(parameter("xi", 0), parameter("rho", 0))
        case "tcdp":
            return Curve(arb(0), parameter("rho", 0), parameter("omega", 1))
        case "discrete_gaussian":
            moved = distance * whole(given["sensitivity"], "sensitivity", LARGEST_COUNT)
            return Curve(arb(0), (moved / parameter("scale")) ** 2 / 2)
        case "exponential":
            return Curve(arb(0), parameter("epsilon", 0) ** 2 / 8)
    raise AssertionError(f"{name} has parameters and no law")


def finite_pair(given: dict[str, Any], relation: str) -> Finite:
    """Two vectors of probabilities: with the record and without it."""
    p, q = ([number(x, key, 0) for x in given[key]] for key in ("p", "q"))
    require(len(p) == len(q) <= MOST_TERMS, "p and q list different outcomes, or too many")
    one = [sum(masses, arb(0)) for masses in (p, q)]
    require(all(abs(mass - 1) < 1e-9 for mass in one), "the probabilities do not sum to 1")
    rows = [(a / one[0], b / one[1]) for a, b in zip(p, q, strict=True)]
    turned = [(b, a) for a, b in rows]
    floats = list(zip(given["p"], given["q"], strict=True))
    symmetric = sorted(floats) == sorted((b, a) for a, b in floats)
    require(relation != "replace" or symmetric, "replace-one needs a symmetric pair")
    return Finite(turned if relation in ("add", "zero-in") else rows)


def exactly(found: dict[str, Any], *fields: str) -> None:
    """All of these fields and no other: what is not read here must not be believed by whoever reads the file."""
    require(isinstance(found, dict) and set(found) == set(fields), f"exactly the fields {', '.join(fields)} are wanted")


def first(found: dict[str, Any]) -> bool:
    """Whether something is of version 1, an integer: to Python, true and 1.0 are equal to it."""
    return type(found["version"]) is int and found["version"] == 1


def number(value: object, name: str, low: float | None = None) -> arb:
    """A float or an integer of a certificate, exactly: above 0, or at least ``low``."""
    require(isinstance(value, (int, float)) and not isinstance(value, bool), f"{name} must be a number")
    assert isinstance(value, (int, float))
    require(-1e300 < value < 1e300 and (value >= low if low is not None else value > 0), f"{name} is out of range")
    return arb(value)


def whole(value: object, name: str, most: int) -> int:
    """A positive integer."""
    require(isinstance(value, int) and not isinstance(value, bool), f"{name} must be an integer")
    assert isinstance(value, int)
    require(1 <= value <= most, f"{name} must lie between 1 and {most}")
    return value


def read(text: str | bytes) -> dict[str, Any]:
    """The JSON object in a text from anybody: size, depth and digits are bounded before it is parsed."""
    require(len(text) <= MOST_CHARACTERS, f"a certificate has at most {MOST_CHARACTERS} characters")
    try:
        text = text if isinstance(text, str) else text.decode()
        depth = accumulate((c in "[{") - (c in "]}") for c in text)
        require(max(depth, default=0) <= MOST_BRACKETS, "the brackets are nested too deeply")
        require(not re.search(rf"[0-9.eE+-]{{{MOST_DIGITS}}}", text), "a number has too many digits")
        found = json.loads(text, parse_constant=refuse_constant, object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        raise Refused(f"not a certificate: {error!s:.200}") from None
    require(isinstance(found, dict), "a certificate is a JSON object")
    return dict(found)


def refuse_constant(name: str) -> float:
    """JSON has no NaN."""
    raise Refused(f"{name} is not a number")


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose fields are given once."""
    require(len(dict(pairs)) == len(pairs), "a field is given twice")
    return dict(pairs)


if __name__ == "__main__":
    try:
        name, *given = sys.argv[1:]
        (precision,) = [int(one) for one in given] or [BITS]
        with open(name, "rb") as file:
            content = file.read(MOST_CHARACTERS + 1)
    except (ValueError, OSError) as problem:
        print(f"nothing was checked: {problem}. Usage: python checker.py FILE [BITS]", file=sys.stderr)
        sys.exit(2)
    try:
        proved = verify(content, precision)
    except ValueError as refusal:
        sys.exit(f"refused: {refusal}")
    claim = f"epsilon {proved['epsilon']!r} at delta {proved['delta']!r} for {proved['adjacency']} neighbours"
    print(f"proved: {claim}, of", json.dumps(proved["event"]["event"]), sep="\n")
