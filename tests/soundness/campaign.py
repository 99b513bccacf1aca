"""Half of `make soundness`: random points of the whole domain against ball arithmetic. Writes docs/soundness.json.

Each point is judged by an enclosure whose radius is below 1e-14 of its value, computed at a precision that doubles until it is:
a published number must not lie below the truth, and, where it claims to be exact, not more than 1e-10 above it. An enclosure
that stays too wide is a failure.
The points depend on the seed alone; the tests run a hundredth as many, under a seed of their own.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import math
import random
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing import Pool
from pathlib import Path
from typing import NamedTuple

import numpy as np
from flint import arb

from renyi import (
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    FinitePair,
    Gaussian,
    Laplace,
    Mechanism,
    Poisson,
    PureDP,
    RandomizedResponse,
    Relation,
)
from renyi.composing.event_laws import renyi_curve
from renyi.laws import conversion
from renyi.papers.zhu_wang import zhu_wang
from tests.soundness import reference
from tests.soundness.journal import CHANGED

RESULT = Path(__file__).parents[2] / "docs" / "soundness.json"
GAUSSIAN_POINTS, OTHER_POINTS = 100_000, 20_000
ALLOWED = 1e-10
CHUNK = 500


class Verdict(NamedTuple):
    """One point: its kind, how far above the truth (relative), whether that is bounded, and what it was."""

    kind: str
    excess: float
    exact: bool
    point: str

    @property
    def bad(self) -> bool:
        return not self.excess >= 0.0 or (self.exact and self.excess > ALLOWED)


def judged(kind: str, published: float, truth: arb, point: str, exact: bool = True) -> Verdict:
    """Compare a float with a ball; below any part of the ball counts as below, an enclosure too wide as a failure."""
    if not (truth > 0 and reference.narrow(truth)):
        return undecided(kind, point, exact)
    excess = arb(published) / truth - 1
    low = float(excess.lower()) if excess > 0 else -abs(float(excess.lower()))
    return Verdict(kind, low if low < 0 else float(excess.upper()), exact, point)


def undecided(kind: str, point: str, exact: bool = True) -> Verdict:
    return Verdict(f"{kind}: undecided", math.nan, exact, point)


def compared(
    kind: str, published: float, value: Callable[[], arb], point: str, exact: bool = True, bits: int = 64
) -> Verdict:
    """Judge a float by what ``value`` computes, at whatever precision that takes."""
    try:
        return judged(kind, published, reference.enclosed(value, beside=published, bits=bits), point, exact)
    except reference.Undecided:
        return undecided(kind, point, exact)


def log_uniform(rng: random.Random, low: float, high: float) -> float:
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def direction(rng: random.Random) -> tuple[Relation, bool]:
    adding = rng.random() < 0.5
    return (Relation.ADD if adding else Relation.REMOVE), adding


def sampled_gaussian(rng: random.Random) -> Verdict:
    rate, noise, order = log_uniform(rng, 1e-9, 1.0), log_uniform(rng, 0.05, 1000.0), 1.0 + log_uniform(rng, 1e-6, 1e4)
    if rng.random() < 0.1:
        rate = 1.0 - log_uniform(rng, 1e-12, 0.5)
    if rng.random() < 0.2 and rate < 0.99:
        turn = 2.0 * noise * noise * math.log(1.0 / rate) * log_uniform(rng, 0.3, 3.0)  # where the second island rises
        order = 1.0 + min(turn, 1e4)
    relation, adding = direction(rng)
    published = renyi_curve(Gaussian(noise).on(Poisson(rate)), relation).at(order)
    point = f"rate={rate!r} noise={noise!r} order={order!r} {relation.value}"
    try:
        truth = reference.sampled_gaussian(rate, noise, order, adding=adding, beside=published)
    except reference.Undecided:
        return undecided("sampled Gaussian", point)
    return judged("sampled Gaussian", published, truth, point)


def finite_mechanism(rng: random.Random) -> Verdict:
    match rng.randrange(5):
        case 0:
            outcomes = rng.choice([2, 2, 3, 7])
            mechanism = RandomizedResponse(rng.uniform(0.01, 0.99), outcomes=outcomes)
        case 1:
            mechanism = PureDP(log_uniform(rng, 1e-4, 20.0))
        case 2:
            mechanism = DiscreteLaplace(log_uniform(rng, 0.1, 30.0), sensitivity=rng.randint(1, 4))
        case 3:
            size = rng.randint(2, 5)
            raw = [[rng.uniform(0.05, 1.0) for _ in range(size)] for _ in range(2)]
            mechanism = FinitePair(tuple(x / sum(raw[0]) for x in raw[0]), tuple(x / sum(raw[1]) for x in raw[1]))
        case _:
            mechanism = DiscreteGaussian(log_uniform(rng, 0.2, 4.0), sensitivity=rng.randint(1, 3))
    largest = 20.0 if isinstance(mechanism, DiscreteGaussian) else 1e4
    order = 1.0 + log_uniform(rng, 1e-6, largest)
    rate = 1.0 if rng.random() < 0.3 else log_uniform(rng, 1e-9, 1.0)
    relation, adding = direction(rng)
    return compared(
        f"sampled {type(mechanism).__name__}",
        renyi_curve(mechanism.on(Poisson(rate)), relation).at(order),
        lambda: reference.finite(*laws_of(mechanism), order, rate, adding=adding),
        f"{mechanism} rate={rate!r} order={order!r} {relation.value}",
    )


def laws_of(mechanism: Mechanism) -> tuple[list[arb], list[arb]]:
    """The worst pair of a mechanism, with the record and without it, at the present precision."""
    match mechanism:
        case RandomizedResponse(probability, outcomes):
            truth = arb(probability)
            lie = (1 - truth) / (outcomes - 1)
            rest = [lie] * (outcomes - 2)
            return [truth, lie, *rest], [lie, truth, *rest]
        case PureDP(epsilon):
            likely = 1 / (1 + (-arb(epsilon)).exp())
            return [likely, 1 - likely], [1 - likely, likely]
        case DiscreteLaplace(scale, m):
            b = arb(scale)
            tail, point = 1 / (1 + (-1 / b).exp()), (1 / (2 * b)).tanh()
            q = [tail, *(point * (-x / b).exp() for x in range(1, m)), tail * (-m / b).exp()]
            return q[::-1], q
        case FinitePair(p, q):
            return [arb(x) / sum(map(arb, p)) for x in p], [arb(x) / sum(map(arb, q)) for x in q]
        case DiscreteGaussian(scale, m):
            s, reach = arb(scale), int(17 * scale) + 35 * m
            weight = [(-(arb(x) ** 2) / (2 * s * s)).exp() for x in range(-reach, reach)]
            moved = [(-((arb(x) - m) ** 2) / (2 * s * s)).exp() for x in range(-reach, reach)]
            total = sum(weight, arb(0))
            return [x / total for x in moved], [x / total for x in weight]
    raise LookupError(mechanism)


def laplace_moment(scale: float, order) -> arb:
    """(order - 1) times the divergence of Laplace noise, as a ball."""
    a, b = arb(order), arb(scale)
    return (a / (2 * a - 1) * ((a - 1) / b).exp() + (a - 1) / (2 * a - 1) * (-a / b).exp()).log()


def unsampled(rng: random.Random) -> Verdict:
    order = 1.0 + log_uniform(rng, 1e-6, 1e4)
    if rng.random() < 0.5:
        scale = log_uniform(rng, 0.01, 1000.0)
        return compared(
            "Laplace",
            renyi_curve(Laplace(scale), Relation.REMOVE).at(order),
            lambda: laplace_moment(scale, order) / (arb(order) - 1),
            f"scale={scale!r} order={order!r}",
        )
    level = log_uniform(rng, 1e-4, 20.0)

    def largest_two_point_divergence() -> arb:
        e0, s = arb(level), arb(order) - 1
        c = (-s * e0).exp()
        a = c + (1 - c) / (1 - (-e0).exp())
        y = s * a / ((s + 1) * (1 - c) * (-e0).exp() / (1 - (-e0).exp()))
        return y.log() + (a / (s + 1)).log() / s

    published = renyi_curve(ExponentialMechanism(level), Relation.REMOVE).at(order)
    return compared(
        "exponential mechanism", published, largest_two_point_divergence, f"level={level!r} order={order!r}"
    )


def sampled_exponential(rng: random.Random) -> Verdict:
    """The largest divergence of two outcomes with losses t and t - level on a sample; there is one peak in t."""
    level, rate, order = log_uniform(rng, 1e-4, 20.0), log_uniform(rng, 1e-9, 1.0), 1.0 + log_uniform(rng, 1e-6, 1e4)
    relation, adding = direction(rng)

    def divergence(z: float) -> arb:
        e0, share = arb(level), 1 / (1 + (-arb(z)).exp())
        top, gap = e0 * share, e0 * (1 - share)
        likely = (1 - (-gap).exp()) / (1 - (-e0).exp())
        p = [likely, 1 - likely]
        q = [p[0] * (-top).exp(), p[1] * gap.exp()]
        return reference.finite(p, q, order, rate, adding=adding)

    reach = 20.0 + math.log(order) + max(math.log(level), 0.0)
    published = renyi_curve(ExponentialMechanism(level).on(Poisson(rate)), relation).at(order)
    return compared(
        "sampled exponential mechanism",
        published,
        lambda: _highest(divergence, -reach, reach, 1e-7),
        f"level={level!r} rate={rate!r} order={order!r} {relation.value}",
        bits=160 + int(-3.0 * math.log2(min(rate * level, 1.0))),  # or the climb would not see the peak
    )


def general_sums(rng: random.Random) -> Verdict:
    """Sampled Laplace at integer orders, where the sum is exact; the tau forms, which bound it from above."""
    order, rate = round(log_uniform(rng, 4, 400)), log_uniform(rng, 1e-9, 0.99)
    laplace = rng.random() < 0.5
    scale = log_uniform(rng, 0.1, 30.0)
    mechanism = Laplace(scale) if laplace else Gaussian(scale)

    def moment(k: int) -> arb:
        return laplace_moment(scale, k) if laplace else arb(k) * (k - 1) / (2 * arb(scale) * arb(scale))

    value = partial(reference.binomial_sum, order, rate, moment)
    point = f"{mechanism} rate={rate!r} order={order}"
    if rng.random() < 0.4:
        published = renyi_curve(mechanism.on(Poisson(rate)), Relation.REMOVE).at(float(order))
        return compared(f"sampled {type(mechanism).__name__} at an integer", published, value, point)
    curve = renyi_curve(mechanism, Relation.REMOVE)
    tau = rng.randint(2, order // 2)
    theorem = rng.choice([zhu_wang.theorem_11, zhu_wang.theorem_11_appendix, zhu_wang.theorem_20])
    bound = theorem(order, rate=rate, tau=tau, curve=curve)
    name = f"tau form {theorem.__name__}"
    return compared(name, bound * (1 + 1e-12), value, f"{point} tau={tau}", exact=False)


def conversions(rng: random.Random) -> Verdict:
    """delta at one order against the best binary pair that the divergence allows, which attains the optimum."""
    order, divergence = 1.0 + log_uniform(rng, 1e-3, 300.0), log_uniform(rng, 1e-6, 5.0)
    epsilon = divergence * rng.uniform(0.3, 3.0) + rng.uniform(0.0, 2.0) / math.sqrt(order)
    log_published = conversion.optimal_log_delta_upper(order, divergence, epsilon)
    if log_published < -600.0:
        return conversions(rng)  # a delta that hardly fits into a float: another point
    published = math.exp(log_published)
    point = f"order={order!r} divergence={divergence!r} epsilon={epsilon!r}"
    if epsilon <= divergence - math.log1p(1.0 / (order - 1.0)):
        return compared("conversion", published, lambda: 1 - (arb(epsilon) - arb(divergence)).exp(), point)
    climb = partial(_largest_failure, order, divergence, epsilon, published)
    # The climb itself needs some digits, or it would stop short of the best pair.
    return compared("conversion", published, climb, point, bits=250 + int(-3.0 * math.log2(published)))


def _largest_failure(order: float, divergence: float, epsilon: float, guess: float) -> arb:
    """Any feasible pair bounds the optimum from below: climb to the best x2 = e^-b, which is about 1 - P[bad event]."""
    s = order - 1.0
    a, bound, level = arb(order), ((arb(order) - 1) * arb(divergence)).exp(), arb(epsilon).exp()

    def failure(log_b: float) -> arb:
        return _binary_pair(a, bound, level, (-arb(math.exp(log_b))).exp())

    centre = math.log(guess) + 0.5 * math.log1p(s)
    return _highest(failure, centre - 12.0, min(centre + 12.0, math.log(700.0 / s)), 1e-6)


def _highest(value: Callable[[float], arb], low: float, high: float, step: float) -> arb:
    """The peak of a function with one peak by golden section, to a square of the last step; zeros lie to its right."""
    golden = 0.5 * (math.sqrt(5.0) - 1.0)
    x, y = high - golden * (high - low), low + golden * (high - low)
    f, g = value(x), value(y)
    while high - low > step:
        if f > g or (f == 0 and g == 0):
            high, y, g = y, x, f
            x = high - golden * (high - low)
            f = value(x)
        else:
            low, x, f = x, y, g
            y = low + golden * (high - low)
            g = value(y)
    return f.max(g)


def _binary_pair(order: arb, bound: arb, level: arb, x2: arb) -> arb:
    """p - level q of the binary pair with ratios x1 and x2 whose moment of this order just stays within the bound."""

    def pair(x1: arb) -> tuple[arb, arb]:
        q = (1 - x2) / (x1 - x2)
        return q * (x1.log() * order).exp() + (1 - q) * (x2.log() * order).exp(), q * (x1 - level)

    low = level
    if not pair(low)[0] < bound:
        return arb(0)
    high = low * 2
    while pair(high)[0] < bound:
        low, high = high, high * high
    for _ in range(100):
        middle = (low * high).sqrt().mid()
        low, high = (middle, high) if pair(middle)[0] < bound else (low, middle)
    return pair(low)[1]


KINDS: tuple[tuple[Callable[[random.Random], Verdict], int], ...] = (
    (sampled_gaussian, GAUSSIAN_POINTS),
    (finite_mechanism, OTHER_POINTS * 5 // 10),
    (unsampled, OTHER_POINTS // 10),
    (sampled_exponential, OTHER_POINTS // 10),
    (general_sums, OTHER_POINTS * 2 // 10),
    (conversions, OTHER_POINTS // 10),
)


def chunks(seed: int, share: float) -> Iterator[tuple[int, int, int, int]]:
    """(kind, chunk, count, seed): pieces of work that depend on the seed alone."""
    for kind, (_, total) in enumerate(KINDS):
        wanted = max(1, round(total * share))
        for index in range(0, wanted, CHUNK):
            yield kind, index, min(CHUNK, wanted - index), seed


def work(task: tuple[int, int, int, int]) -> list[Verdict]:
    kind, index, count, seed = task
    rng = random.Random(f"{seed}/{kind}/{index}")
    return [KINDS[kind][0](rng) for _ in range(count)]


def summary(verdicts: list[Verdict]) -> dict[str, object]:
    by_kind: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        by_kind[verdict.kind].append(verdict)
    return {
        "points": len(verdicts),
        "failures": [verdict._asdict() for verdict in verdicts if verdict.bad][:50],
        "kinds": {
            kind: {
                "points": len(group),
                "exact": group[0].exact,
                "closest to the truth": min(v.excess for v in group),
                "farthest above": max(v.excess for v in group),
                "worst point": max(group, key=lambda v: v.excess).point,
            }
            for kind, group in sorted(by_kind.items())
        },
    }


def run(seed: int, share: float, processes: int) -> dict[str, object]:
    tasks = list(chunks(seed, share))
    verdicts: list[Verdict] = []
    if processes == 1:
        for task in tasks:
            verdicts += work(task)
    else:
        with Pool(processes) as pool:
            for done, batch in enumerate(pool.imap_unordered(work, tasks), 1):
                verdicts += batch
                print(f"\r{done}/{len(tasks)}", end="", file=sys.stderr, flush=True)
    return summary(verdicts)


def origin() -> dict[str, object]:
    """The code that was asked, before anything is asked: it may go on changing meanwhile."""
    commit, changes = (
        subprocess.run(["git", *command], capture_output=True, text=True, check=True).stdout.strip()
        for command in (["rev-parse", "HEAD"], ["status", "--porcelain", "--", "src", "tests"])
    )
    if changes:
        commit += CHANGED
    versions = {name: importlib.metadata.version(name) for name in ("renyi", "numpy", "scipy", "python-flint")}
    return {"commit": commit, "versions": versions}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=20261116)
    parser.add_argument("--share", type=float, default=1.0)
    arguments = parser.parse_args()
    started, code = time.time(), origin()
    result = run(arguments.seed, arguments.share, processes=2)
    before = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}
    document = {**code, "seed": arguments.seed, **result, "accountants": before.get("accountants", {})}
    RESULT.write_text(json.dumps(document, indent=1, default=float) + "\n", encoding="utf-8")
    failures = result["failures"]
    print(f"\n{result['points']} points in {time.time() - started:.0f} s, {len(failures)} failures", file=sys.stderr)  # type: ignore[arg-type]
    return 1 if failures else 0


if __name__ == "__main__":
    np.seterr(all="ignore")
    sys.exit(main())
