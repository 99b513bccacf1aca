"""Every law that the grid composes, above or below, against the profile of its pair, on random runs.

A wrong law hides where another relation, or another part, decides; here it does not. The runs are the same each time: of a
product on one draw with outcomes of Q alone, held at losses of 1e15, the profile itself is not known to eight digits.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from renyi.composing.common.grid_source import lattice_law, sources_of
from renyi.composing.compose import WORK
from renyi.composing.grid.grid import _cut
from renyi.composing.grid.plan import planned
from renyi.composing.grid.saddle import found_saddle
from renyi.composing.question import DeltaAt, EpsilonAt
from renyi.composing.steps import event_steps
from renyi.errors import TooLarge
from renyi.laws.dots.dots import LossMasses, upper_masses
from renyi.laws.pair import DominatingPair
from renyi.laws.pairs.curve_pair import CurvePair
from renyi.numerics.logspace import log_sum_exp
from renyi.numerics.work import allowance
from renyi.sampling.random_allocation.pair import AllocationPair
from tests.soundness import exact_campaign, random_events

ROUNDING = 1e-8  # of a profile: products on one draw have masses that are 1 to ten digits
FARTHEST = 600.0  # further left a profile is 1
FAINT = -650.0  # log of what is not compared: masses underflow


def laws(
    question: exact_campaign.Question, rng: np.random.Generator
) -> Iterator[tuple[DominatingPair, LossMasses, bool]]:
    """Each pair with the masses that the grid makes of it for a question, and whether they are above."""
    event = random_events.event_of(question.terms).canonical()
    asked = EpsilonAt(question.delta) if question.delta else DeltaAt(question.epsilon or 0.0)
    for relation in question.adjacency.relations:
        try:
            with allowance(WORK):
                steps = event_steps(event, relation).informative
        except TooLarge:  # a question about it is answered in another way
            continue
        for pairs, upper in ((steps.counted, True), (steps.below.counted if steps.below else (), False)):
            if not pairs:
                continue
            sources = sources_of(pairs)
            coarse = [lattice_law(upper_masses(points), source.count, 0.0) for source, points in _cut(sources, asked)]
            try:
                saddle = found_saddle(coarse, asked)
                plan = planned(sources, asked, saddle, 10.0 ** rng.uniform(-5.0, -0.5)) if saddle else None
            except ArithmeticError:  # the grid then says that it knows nothing
                continue
            if plan is not None:
                yield from ((pair, one, upper) for (pair, _), one in zip(pairs, plan.laws(upper)[0], strict=True))


def log_profile(masses: LossMasses, levels: np.ndarray) -> np.ndarray:
    finite = log_sum_exp(masses.log_p + np.log(-np.expm1(-np.maximum(masses.x - levels[:, None], 0.0))))
    return np.logaddexp(finite, np.log(masses.infinite))


@pytest.mark.parametrize("part", range(4))
def test_laws_enclose_their_profiles(part):
    seed = 20261121
    rng = np.random.default_rng([seed, part])
    compared = 0
    with np.errstate(all="ignore"):
        for number in range(20 * part, 20 * (part + 1)):
            question = exact_campaign.point(seed, number)
            for pair, masses, upper in laws(question, rng):
                # Of what is known by bounds, chords may lie below the bound between their ends, and still above the truth.
                if isinstance(pair, (CurvePair, AllocationPair)) or not masses.x.size:
                    continue
                low, high = float(masses.x[0]), float(masses.x[-1])
                near = rng.choice(masses.x, 40)
                beside = near + rng.uniform(-1.0, 1.0, 40) * (high - low) / masses.x.size
                around = rng.uniform(1.1 * low - 0.1 * high, 1.1 * high - 0.1 * low, 30)
                levels = np.clip(np.concatenate([near, beside, around]), -FARTHEST, FARTHEST)
                truth = np.minimum((pair.finite or pair).log_profile(levels), 0.0)
                found = log_profile(masses, levels)
                seen = np.maximum(truth, found) > FAINT
                slack = ROUNDING + 1e-12 * np.abs(truth)
                wrong = seen & ((found < truth - slack) if upper else (found > truth + slack))
                assert not wrong.any(), f"seed {seed}, number {number}: {question}; {pair}, {levels[wrong]}"
                compared += 1
    assert compared > 20
