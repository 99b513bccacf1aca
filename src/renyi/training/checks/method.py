"""How a run clips, and what its looks cost and saw, in words, for the owner of the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Method:
    """What ``run.method()`` tells: for every parameter how its per-unit gradients are found, and what the looks were.

    ``clipping`` is "rules", or the slower way that the whole model takes and its reason. ``layers`` is empty before the first
    step. ``looks`` were taken so far, each comparing ``units`` units one by one; ``steps_per_look`` is what one costs, in
    processor time of a step without; ``doubts`` is how many comparisons float64 had to decide; ``unexamined`` says what a look
    could not look at.

    Doubts, what a model refused, a fall back to a slower way and the cost depend on the data, without noise: like a private
    statistic, they are for the owner only. Whether a unit is finite is not among them.
    """

    clipping: str
    layers: Mapping[str, str]
    looks: int
    units: int
    steps_per_look: float | None
    doubts: int
    unexamined: tuple[str, ...]

    def __str__(self) -> str:
        cost = "" if self.steps_per_look is None else f", each as long as {self.steps_per_look:.1f} steps"
        return "\n".join(
            (
                f"clipping: {self.clipping}",
                *(f"  {name}: {how}" for name, how in self.layers.items()),
                f"looks: {self.looks}, at {self.units} units{cost}; {self.doubts} comparisons were decided in float64",
                *(f"  not examined: {what}" for what in self.unexamined),
                "  never compared: gradients that are not finite",
            )
        )
