"""Which plans may compete under one price: those of which every step tells less than the same step of the plan that is priced.

A search is priced for one run, so no candidate's run may reveal more than that one. Two plans are compared step by step,
because at one step post-processing makes the release of one from that of the other, for add-or-remove and zero-out
neighbours:

- more noise: add the difference, which is independent Gaussian noise;
- a smaller rate q' of the same Gaussian: a sample at rate q stands for the pair (1 - q) P + q P' against P; keep its output
  with probability q'/q, else draw one from P, and it stands for (1 - q') P + q' P' against P;
- no noisy count, where the priced plan has one, and fewer steps: leave out the rest.

Post-processing of each step is post-processing of all of them together, and a choice among candidates that is drawn
beforehand, without data, reveals at most what the worst of them does: divergences of mixtures with known choices are
averages. Two plans that no such chain connects (a larger rate with more noise) may have the same epsilon at one delta, and
yet none covers the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat

from renyi.training.planning.clip import AdaptiveClip
from renyi.training.planning.plan import Plan
from renyi.training.planning.schedule import Schedule


def what_exceeds(plan: Plan, priced: Plan) -> str | None:
    """In words, what of a plan is not covered by the plan that is priced; nothing if all of it is."""
    if (plan.unit, plan.adjacency) != (priced.unit, priced.adjacency):
        return (
            f"it protects each {plan.unit!r} under {plan.adjacency.value} neighbours, the priced plan each {priced.unit!r} "
            f"under {priced.adjacency.value}"
        )
    if plan.steps > priced.steps:
        return f"it takes {plan.steps} steps, the priced plan {priced.steps}"
    if plan.sampling.rate > priced.sampling.rate:
        return f"it draws at rate {plan.sampling.rate:g}, the priced plan at {priced.sampling.rate:g}"
    for step, (mine, theirs) in enumerate(zip(_noises(plan, plan.steps), _noises(priced, plan.steps), strict=True)):
        if mine < theirs:
            return f"at step {step} its noise multiplier is {mine:.6g}, that of the priced plan {theirs:.6g}"
    if isinstance(plan.clip, AdaptiveClip):
        if not isinstance(priced.clip, AdaptiveClip):
            return "its clipping is adaptive, which releases a count at every step, and that of the priced plan is not"
        if plan.clip.count_noise_multiplier < priced.clip.count_noise_multiplier:
            return (
                f"its counts have a noise multiplier of {plan.clip.count_noise_multiplier:g}, those of the priced plan one of "
                f"{priced.clip.count_noise_multiplier:g}"
            )
    return None


def _noises(plan: Plan, steps: int) -> Iterator[float]:
    """The noise multipliers of the first steps."""
    schedule = plan.noise_schedule or Schedule.pieces((1, 1.0))
    for count, factor in schedule.between(0, steps):
        yield from repeat(plan.noise_multiplier * factor, count)
