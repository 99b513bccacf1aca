"""One look at a batch: whether the data of one unit reach another unit's gradient, and whether gradients are clipped rightly.

A gradient clipped to C bounds the influence of its own unit only if the other units' gradients do not depend on it. What
cannot be seen in types or shapes is seen by trying: beside others, beside altered ones, alone and padded differently, a unit
must keep its loss and its gradient; and the clipped sums must be those of a plain loop over the units.
"""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from renyi.errors import PrivacyError
from renyi.training.checks import culprit
from renyi.training.checks.admission import unscaled
from renyi.training.checks.buffers import FrozenBuffers, restored
from renyi.training.checks.companions import KINDS, Companions
from renyi.training.checks.comparison import Comparison, Difference, Losses, Seen, Setting
from renyi.training.checks.loop import Measure, beside_a_loop
from renyi.training.clipping.reading.composite import eager
from renyi.training.errors import ClippingError, Coupled, LeakError, Misclipped, Unrepeatable
from renyi.training.feeding.tickets import Ticket
from renyi.training.feeding.units import Rows, longer, tensors
from renyi.training.recording.findings import Looks

ROUNDS_OF_RANDOM_LOSSES = 3
"""How often units are compared if the losses are random, so that what they do at random is met; all but once without
gradients, which takes a third of the time."""

FLOOR = 1e-2
"""Share of the largest gradient: units with a smaller one are weighed as if theirs were as large."""

PADDED, MOST_LOADED = 4, 32
"""Units that are tried with other padding, the shortest of those that are loaded again."""


DOES_NOT_RUN_IN_FLOAT64 = "small differences: the model does not run in float64, where they would be told from rounding"


class Look:
    """Looks at batches of one model, in the caller's random state and with its buffers, both of which are put back."""

    def __init__(self, model: nn.Module, losses: Losses, choice: random.Random) -> None:
        self._model, self._choice = model, choice
        self._comparison = Comparison(model, losses, choice)
        self._few = Looks.at_model(self._comparison.parameters.values()).units
        self._left_out: list[str] = []

    @property
    def doubts(self) -> int:
        """How many comparisons had to be decided in float64."""
        return self._comparison.doubts

    @property
    def unexamined(self) -> tuple[str, ...]:
        """What could not be looked at, in words."""
        coarse = () if self._comparison.runs_in_float64 else (DOES_NOT_RUN_IN_FLOAT64,)
        return (*self._left_out, *coarse)

    def at(self, batch: Any, units: int, measure: Measure) -> None:
        """Raise if units reach each other in this batch, a forward pass writes buffers, or gradients disagree with a loop."""
        with eager(), restored(self._model) as before, torch.random.fork_rng():
            few = self._companions(batch, units, before)
            try:
                lengths, disagreeing = self._beside_a_loop(few, measure)
            except LeakError:
                self._beside_others(few, [1.0] * len(few))  # says more about the cause, if it finds it
                raise
            if len(few) > 1:
                self._beside_others(few, lengths)
            self._in_the_whole_batch(batch, units)
            if disagreeing is not None:
                raise Misclipped(
                    f"the per-unit gradients of {disagreeing} disagree with a loop over the units. Something in its module "
                    "treats units in a way that was not recognised: write it so that the unit axis is the leading one, and "
                    "report the module."
                )

    def at_company(self, batch: Any, units: int) -> None:
        """The part that needs no clipping: for a model that is about to be mapped over its units, which hides a leak."""
        with eager(), restored(self._model) as before, torch.random.fork_rng():
            few = self._companions(batch, units, before)
            if len(few) > 1:
                self._beside_others(few, [1.0] * len(few))

    def at_padding(self, ticket: Ticket) -> None:
        """Raise if a unit's loss or gradient moves with its padding, which the longest unit of the batch decides."""
        with eager(), restored(self._model), torch.random.fork_rng():
            if ticket.source.units.owned and isinstance(ticket.data, Rows):
                self._at_fillers(ticket.data)
            if ticket.source.collate.custom and ticket.units > 1:
                self._at_neighbours(ticket)

    def _companions(self, batch: Any, units: int, before: FrozenBuffers) -> Companions:
        """The units that are looked at; without those of infinite loss, which would spoil the gradients of the others."""
        few = Companions(batch, units, self._choice.sample(range(units), min(units, self._few)), self._choice)
        with unscaled():
            everyone = _everyone(few.together(), len(few), [1.0] * len(few))
            first = self._comparison.run(everyone, self._comparison.seed(), losses_only=True)
        before.expect_untouched()
        damaged = (~first.losses.isfinite()).nonzero().flatten().tolist()
        if len(few) - len(damaged) > 1:
            few.drop(damaged)
        return few

    def _beside_a_loop(self, few: Companions, measure: Measure) -> tuple[list[float], str | None]:
        """The length of every unit's gradient, and a parameter whose per-unit gradients are not those of the loop.

        On the way every unit is also tried alone: Poisson sampling draws such batches.
        """
        comparison, everyone = self._comparison, _everyone(few.together(), len(few), [1.0] * len(few))
        compared = partial(beside_a_loop, comparison, everyone, comparison.seed(), measure)
        lengths, names = [], []
        with closing(compared(rough=comparison.rough)) as units:
            for place, (seen, name) in enumerate(units):
                lengths.append(math.hypot(*seen.norms))
                names.append(name)
                if len(few) > 1:
                    self._alone(few, place, seen)
        if any(names):
            try:
                names = [name for _, name in compared(wide=True)]
            except Exception:  # whatever the model raises
                comparison.runs_in_float64 = False
                names = [name for _, name in compared(rough=True)]
        return lengths, next(filter(None, names), None)

    def _alone(self, few: Companions, place: int, seen: Seen) -> None:
        def copies(size: int) -> Setting:
            return Setting(few.copies(place, size), size, (0,), (1.0,))

        try:
            difference = self._comparison.differ(seen, copies(1), copies=copies, same_size=False)
        except PrivacyError:
            raise
        except Exception as error:
            raise ClippingError(
                f"the model fails on a batch of a single unit ({type(error).__name__}), and Poisson sampling draws such "
                "batches."
            ) from error
        self._expect_none(difference)
        if not self._comparison.repeats_at_any_size:
            self._leave_out("a unit alone: its random numbers change with the size of the batch")

    def _beside_others(self, few: Companions, lengths: Sequence[float]) -> None:
        """Keep half of the units at their places, put others, or altered ones, at the other places, and vice versa."""
        everyone = range(len(few))
        weights = [self._choice.choice((-1.0, 1.0)) / size for size in _sizes(lengths)]
        for number in range(ROUNDS_OF_RANDOM_LOSSES if self._comparison.drew else 1):
            half = set(self._choice.sample(everyone, max(1, len(few) // 2)))
            for kept in (half, set(everyone) - half):
                self._keeping(few, tuple(sorted(kept)), weights, KINDS, losses_only=number > 0)

    def _in_the_whole_batch(self, batch: Any, units: int) -> None:
        """What happens in large batches only; one comparison, as it costs two steps."""
        if units > self._few:
            half = tuple(sorted(self._choice.sample(range(units), units // 2)))
            signs = [self._choice.choice((-1.0, 1.0)) for _ in range(units)]
            self._keeping(Companions(batch, units, range(units), self._choice), half, signs, ["altered"])

    def _keeping(
        self,
        few: Companions,
        kept: tuple[int, ...],
        weights: Sequence[float],
        kinds: Sequence[str],
        *,
        losses_only: bool = False,
    ) -> None:
        comparison, mine = self._comparison, tuple(weights[place] for place in kept)
        held: list[Seen] = []  # the run that others are compared with; the last comparison lets go of its gradient
        for kind in kinds:
            if not held:
                here = Setting(few.together(), len(few), kept, mine)
                held.append(comparison.run(here, comparison.seed(), losses_only=losses_only))
            # Other random numbers for the next, so that what they decide is met sooner or later.
            last = comparison.drew or kind == kinds[-1]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    others = Setting(few.around(kept, kind), len(few), kept, mine)
                    difference = comparison.differ(held.pop() if last else held[0], others)
                except (LeakError, Unrepeatable):
                    raise
                except Exception:  # a model may refuse inputs that it was not made for
                    self._leave_out(f"units beside others that were {kind}: the model refuses such inputs")
                    continue
            self._expect_none(difference)

    def _at_fillers(self, rows: Rows) -> None:
        """Compare with the same batch where everybody has more rows that are not present."""
        units = len(rows.present)
        signs = [self._choice.choice((-1.0, 1.0)) for _ in range(units)]
        base = self._comparison.run(_everyone(rows, units, signs), self._comparison.seed())
        more = longer(rows, rows.present.shape[1] + 1)
        if self._comparison.differ(base, _everyone(more, units, signs), same_size=False):
            raise Coupled(culprit.FILLERS)

    def _at_neighbours(self, ticket: Ticket) -> None:
        """Compare the shortest units beside the longest with what they are when collated alone."""
        source, comparison = ticket.source, self._comparison
        items = source.items(MOST_LOADED)
        torch.manual_seed(comparison.seed())
        if not all(map(_equal, tensors(source.collate(items)), tensors(source.collate(items)))):
            self._leave_out("padding: what the collate function makes of a unit is random")
            return
        items.sort(key=lambda item: sum(leaf.numel() for leaf in tensors(source.collate([item]))))
        items = [*items[:PADDED], *items[-1:]]
        batch = source.collate(items)
        for place in range(min(PADDED, len(items) - 1)):
            base = comparison.run(Setting(batch, len(items), (place,), (1.0,)), comparison.seed())
            alone = Setting(source.collate([items[place]]), 1, (0,), (1.0,))
            if comparison.differ(base, alone, same_size=False):
                raise Coupled(culprit.NEIGHBOURS)

    def _expect_none(self, difference: Difference | None) -> None:
        if difference is not None:
            raise Coupled(culprit.find(self._comparison, difference))

    def _leave_out(self, what: str) -> None:
        if what not in self._left_out:
            self._left_out.append(what)


def _everyone(batch: Any, units: int, weights: Sequence[float]) -> Setting:
    return Setting(batch, units, tuple(range(units)), tuple(weights))


def _sizes(lengths: Sequence[float]) -> list[float]:
    """Lengths to divide by, so that no unit's gradient hides behind a larger one's."""
    largest = max((each for each in lengths if each < torch.inf), default=0.0)
    return [each + FLOOR * largest if 0 < each + FLOOR * largest < torch.inf else 1.0 for each in lengths]


def _equal(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and torch.equal(one, other)
