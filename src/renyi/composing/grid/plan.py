"""The lattices on which a composition is done: refined until the laws above and below are close at the saddle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from renyi.composing.common.accuracy import SMALLEST_EPSILON
from renyi.composing.common.grid_source import Source, denominator, fits, lattice_law, log_above, masses_below, placed
from renyi.composing.grid.law import ComposedLaw
from renyi.composing.grid.saddle import Saddle, found_saddle
from renyi.composing.question import DeltaAt, EpsilonAt, Question
from renyi.laws.dots.convex_dots import Dots
from renyi.laws.dots.dots import LossMasses, upper_masses
from renyi.laws.dots.lattice import Lattice
from renyi.numerics.lattices.tilted_fft import LatticeLaw, fast_length, moments, tail_points, tilted_sum
from renyi.numerics.rounding import ULP

_LONGEST = 300_000
"""Points of a composed law, give or take a half: some ten milliseconds of FFT, and a few megabytes."""

_MOST_POINTS = 40_000
"""Points of the law of one step: refining beyond them takes longer than composing."""


@dataclass(frozen=True, slots=True)
class LatticePlan:
    """Refined dots of every part on lattices of one step, and the saddle of their laws."""

    sources: Sequence[Source]
    dots: Sequence[Dots]
    lattices: Sequence[Lattice]
    saddle: Saddle
    error: float
    target: float
    longest: bool

    def laws(self, upper: bool) -> tuple[list[LossMasses], list[LatticeLaw], float]:
        """The masses of each part, their laws, and the step."""
        steps = [
            lattice.step / denominator(points.place) for lattice, points in zip(self.lattices, self.dots, strict=True)
        ]
        step = min(steps)
        masses, laws = [], []
        for source, points, lattice in zip(self.sources, self.dots, self.lattices, strict=True):
            if source.exact is not None and fits(source.exact, lattice):
                one = placed(source.exact, lattice)
            else:
                one = upper_masses(points) if upper else masses_below(source.pair, points, self.saddle.tilt)
            masses.append(one)
            laws.append(lattice_law(one, source.count, lattice.step / step))
        return masses, laws, step

    def answer(self, question: Question, upper: bool) -> float:
        """One end; the tilt is chosen anew as long as the answer lies elsewhere than the saddle said."""
        masses, laws, step = self.laws(upper)
        saddle, best = self.saddle, question.unknown.upper if upper else question.unknown.lower
        if not upper and all(law.x.size for law in laws):
            saddle = found_saddle(laws, question, saddle.tilt, 0.1) or saddle
        for _ in range(3):
            composed = self._composed(upper, masses, laws, step, saddle)
            if composed is None:
                return best
            found = composed.answer(question)
            best = min(best, found) if upper else max(best, found)
            if not isinstance(question, EpsilonAt) or composed.law is None or not math.isfinite(found):
                break
            new = found_saddle([law for law in laws if law.x.size], DeltaAt(found), saddle.tilt, 0.1)
            if new is None or abs(math.log(new.tilt / saddle.tilt)) < 0.2:
                break
            saddle = replace(new, log_delta=question.log_delta)
        return best

    def _composed(
        self, upper: bool, masses: Sequence[LossMasses], laws: Sequence[LatticeLaw], step: float, saddle: Saddle
    ) -> ComposedLaw | None:
        """The composed law above or below, or None where nothing is left of it."""
        log_kept = math.fsum(
            source.count * (math.log1p(-one.infinite) if one.infinite < 1.0 else -math.inf)
            for source, one in zip(self.sources, masses, strict=True)
        )
        infinite = -math.expm1(log_kept) * (1.0 + 8.0 * ULP if upper else 1.0 - 8.0 * ULP)
        laws = [law.kept(law.log_mass > -math.inf) for law in laws]
        if any(law.x.size == 0 for law in laws):
            return None if infinite == 0.0 else ComposedLaw(None, step, min(infinite, 1.0), upper, 0.0, 0.0, 0.0, 0.0)
        tilt = min(saddle.tilt, 40.0 / step)
        low, high, log_wrapped = _reach(laws, tilt, saddle, self.target)
        if (high - low) / step > 1.5 * _LONGEST:
            return None
        length = fast_length(max(int((high - low) / step) + 4, 16))
        law = tilted_sum(laws, step, tilt, low - step, length)
        support = [sum(one.count * float(one.x[end]) for one in laws) for end in (0, -1)]
        if low <= support[0] and high >= support[1]:
            log_wrapped = -math.inf
        slack = 8.0 * ULP * sum(one.count * float(np.max(np.abs(one.x))) for one in laws)
        return ComposedLaw(
            law, step, min(infinite, 1.0), upper, log_wrapped, slack, saddle.epsilon, support[1] + 0.5 * step
        )


def planned(sources: Sequence[Source], question: Question, saddle: Saddle, gap: float) -> LatticePlan:
    """Lattices whose laws above and below are about ``gap`` apart at the saddle, which moves as they are refined."""
    finest = 0.0
    longest = False
    plan = None
    for _ in range(6):
        tilt = saddle.tilt
        size = gap
        if isinstance(question, EpsilonAt):
            size = gap * max(saddle.epsilon, SMALLEST_EPSILON) * tilt
            if saddle.epsilon * tilt < 0.1 and saddle.log_delta < question.log_delta - 0.1:
                # Epsilon is about to be 0: only whether delta is that small has to be decided.
                size = max(size, 0.5 * (question.log_delta - saddle.log_delta))
        target = min(0.9 * size, 0.3)
        lattices, grids, error = _refined(sources, saddle, target, finest)
        plan = LatticePlan(sources, grids, lattices, saddle, error, target, longest)
        masses, laws, step = plan.laws(True)
        laws = [law.kept(law.log_mass > -math.inf) for law in laws]
        found = found_saddle(laws, question, tilt, 0.1) if all(law.x.size for law in laws) else None
        if found is None:
            break
        moved = abs(math.log(found.tilt / tilt)) if tilt else 0.0
        lost = sum(source.count * one.infinite for source, one in zip(sources, masses, strict=True))
        cut = lost > 0.0 and math.log(lost) > found.log_delta - 20.0 and found.log_delta < saddle.log_delta - 1.0
        saddle = found
        plan = replace(plan, saddle=saddle)
        low, high, _ = _reach(laws, min(saddle.tilt, 40.0 / step), saddle, target)
        if (high - low) / step > 1.25 * _LONGEST:
            longest = True
            finest = max(step * 1.5, 0.75 * (high - low) / _LONGEST)
        elif moved < 0.3 and not cut:
            break
    assert plan is not None
    return plan


def _reach(laws: Sequence[LatticeLaw], tilt: float, saddle: Saddle, target: float) -> tuple[float, float, float]:
    """Between which losses a tilted sum is to be held, and the logarithm of the most that the rest is worth, wrapped around.

    The payoff at the saddle is of the size of delta undone; a wrapped mass is worth at most the largest payoff.
    """
    log_pay = tilt * math.log(tilt / (1.0 + tilt)) - math.log1p(tilt)
    log_worth = max(saddle.log_delta, -2000.0) - moments(laws, tilt).log + tilt * saddle.epsilon - log_pay
    log_tail = min(log_worth, 0.0) + math.log(min(target, 1e-3)) - 10.0
    low, high = tail_points(laws, tilt, log_tail)
    return low, high, log_tail + log_pay


def _refined(
    sources: Sequence[Source], saddle: Saddle, target: float, finest: float
) -> tuple[list[Lattice], list[Dots], float]:
    """Each part's dots on its own lattice, all steps binary multiples of one base."""
    share = target / len(sources)
    windows = [_window(source, saddle, share) for source in sources]
    finest = max(finest, max(high - low for low, high in windows) * 2.0**-44)  # so that places are whole numbers
    aligned = [i for i, source in enumerate(sources) if len(source.anchors) > 1]
    base = 1.0
    main: tuple[float, ...] = ()
    if aligned:
        chosen = max(aligned, key=lambda i: sources[i].count)
        main = sources[chosen].anchors
        base = (main[-1] - main[0]) / max(sources[chosen].even, 1)
    lattices, grids, total = [], [], 0.0
    for source, (low, high) in zip(sources, windows, strict=True):
        step = base * 2.0 ** math.floor(math.log2((high - low) / 48.0 / base))
        exact = source.exact is not None and base >= finest and main == source.anchors
        if exact:
            step = base
        if step < finest:
            step *= 2.0 ** math.ceil(math.log2(finest / step))
        inside = [anchor for anchor in source.anchors if low - step <= anchor <= high + step]
        lattice = Lattice(inside[0] if inside else 0.0, step, tuple(source.anchors))
        if exact:
            lattices.append(Lattice(source.anchors[0], step))
            grids.append(lattices[-1].sampled(source.pair, source.anchors[0], source.anchors[-1]))
            continue
        points = lattice.sampled(source.pair, low, high)
        points, error = lattice.refined(
            source.pair,
            points,
            tilt=saddle.tilt,
            count=source.count,
            target=share,
            finest=finest,
            most=max(_MOST_POINTS // len(sources), 2000),
        )
        lattices.append(lattice)
        grids.append(points)
        total += error
    return lattices, grids, total


def _window(source: Source, saddle: Saddle, share: float) -> tuple[float, float]:
    """What matters of one law at the tilt: outside of it the mass may move up to the first point, or to infinity."""
    x, v, middle = source.ladder.x, source.ladder.log_v, source.ladder.middle
    # A law below starts with V = 0, from where convexity reaches far: so no tilt above 1 may cut the window short.
    log_count, tilt = math.log(source.count), min(saddle.tilt, 1.0)
    # What either law has at infinite loss stays there wherever the window ends.
    right = log_above(v[middle:], v[-1]) + log_count <= saddle.log_delta - 28.0
    high = float(x[middle:][np.argmax(right)]) if right.any() else float(x[-1])
    behind = source.log_left
    moved = log_above(behind, behind[0] if behind.size else 0.0) + (1.0 + tilt) * x[:middle]
    left = moved + math.log1p(tilt) + log_count <= math.log(1e-3 * share)
    low = float(x[:middle][np.flatnonzero(left)[-1]]) if left.any() else float(x[0])
    high, low = min(high, max(source.pair.max_loss, 1e-12)), max(low, min(-source.pair.reversed().max_loss, -1e-12))
    return low, high
