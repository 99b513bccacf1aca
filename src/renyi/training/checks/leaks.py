"""Ways in which the data of one unit reach another unit's gradient, or leave without noise.

A gradient clipped to C bounds the influence of its own unit only if the other units' gradients do not depend on it. What
cannot be seen in types or shapes is seen by trying: put others beside a few units, altered ones too, and the losses and
gradients of those few must stay as they were.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from torch import Tensor, nn

from renyi.training.checks import buffers, culprit
from renyi.training.checks.batch_mates import KINDS, BatchMates, splits
from renyi.training.checks.quiet import without_dropout
from renyi.training.checks.trial import Seen, Trial, weights
from renyi.training.checks.two_sample_test import told_apart
from renyi.training.clipping.rounding import Precision, Rounding
from renyi.training.errors import ClippingError, LeakError

FEW = 8  # units that are tried

Losses = Callable[[nn.Module, Any], Tensor]
Places = tuple[int, ...]


def check(model: nn.Module, losses: Losses, batch: Any, units: int, choice: random.Random) -> None:
    """Raise if the loss or gradient of a unit depends on the others in its batch, or if the forward pass writes buffers.

    Both runs of a comparison start from one random state, so that dropout draws the same mask at the same place; the next
    comparison starts from another, so that what happens at random is met sooner or later. The caller keeps its random
    state, and the buffers.
    """
    trial, precision = Trial(model, losses), Precision(model)
    mates = BatchMates(batch, units, choice.sample(range(units), min(units, FEW)), choice)
    before = buffers.versions(model)
    with precision:
        first = trial.run(mates.together(), len(mates), choice.getrandbits(63))
    buffers.expect_unchanged(model, before)
    damaged = [place for place in range(len(mates)) if not first.losses[place].isfinite()]
    if len(mates) - len(damaged) > 1:  # in a loop they would spoil the gradients of the others
        mates.drop(damaged)
    if len(mates) > 1:
        lengths = trial.lengths(mates.together(), len(mates), choice.getrandbits(63))
        comparison = _Comparison(trial, mates, choice, lengths)
        comparison.repeated(precision.same_size())
        comparison.beside_others(splits(len(mates)), KINDS, precision.same_size())
        buffers.expect_unchanged(model, before)
        with without_dropout(model):
            comparison.alone(precision.other_size(trial.device))
    if units > FEW:  # what happens in large batches only; one comparison, as it costs two steps
        half = tuple(sorted(choice.sample(range(units), units // 2)))
        everyone = BatchMates(batch, units, range(units), choice)
        _Comparison(trial, everyone, choice, None).beside_others([half], ["altered"], precision.same_size())


class _Comparison:
    """The same units, run again and again; `lengths` of their gradients, if known, make them count alike."""

    def __init__(self, trial: Trial, mates: BatchMates, choice: random.Random, lengths: Sequence[float] | None) -> None:
        self._trial, self._mates, self._choice = trial, mates, choice
        self._units = len(mates)
        self._together = mates.together()
        self._everyone = tuple(range(self._units))
        signs = [choice.choice((-1.0, 1.0)) for _ in self._everyone]
        self._weights = signs if lengths is None else weights(lengths, signs)
        self._length = None if lengths is None else 1.0

    def repeated(self, rounding: Rounding) -> None:
        """Run the units twice in the same mates."""
        self._expect_repeatable(*self._base(self._everyone), self._everyone, rounding)

    def beside_others(self, some: Iterable[Places], kinds: Sequence[str], rounding: Rounding) -> None:
        """Keep some units at their places, and put others, or altered ones, at the other places."""
        for kept in some:
            seed, base = self._base(kept)
            for number, kind in enumerate(kinds):
                if number > 0 and base.drew:  # other random numbers, so that what they decide is met sooner or later
                    seed, base = self._base(kept)
                tried = self._tried(kept, kind, seed)
                if tried is None:
                    continue
                batch, found = tried
                moved = base.moved(found, kept, rounding)
                if moved or self._turned(base, found, rounding):
                    self._expect_repeatable(seed, base, kept, rounding)
                    place = moved[0] if moved else kept[0]
                    self._refuse(place, (batch, self._units, place), seed, rounding, moved=bool(moved))

    def alone(self, rounding: Rounding) -> None:
        """Compare units in mates with the same units alone: number by number, or by their laws if they are random."""
        seed, base = self._base(self._everyone)
        if base.drew:
            self._alone_at_random()
            return
        losses, total = base.losses.clone(), None
        for place in self._everyone:
            found = self._run_alone(place, seed)
            losses[place] = found.losses[0]
            if found.gradient is not None:
                total = found.gradient if total is None else [a + b for a, b in zip(total, found.gradient, strict=True)]
        apart = Seen(losses, total, drew=False)
        moved = base.moved(apart, self._everyone, rounding)
        if moved or self._turned(base, apart, rounding):
            place = moved[0] if moved else 0
            self._refuse(place, (self._mates.alone(place), 1, 0), seed, rounding, moved=bool(moved))

    def _alone_at_random(self) -> None:
        """One unit, run many times alone and as often in mates: one law gives samples that are alike."""
        place = self._choice.choice(self._everyone)
        number = told_apart(
            lambda: self._trial.run(self._together, self._units, self._seed(), self._weighted((place,))).numbers(place),
            lambda: self._run_alone(place, self._seed()).numbers(0),
        )
        if number is not None:
            raise LeakError((culprit.BY_SIZE, culprit.GRADIENT)[number])

    def _base(self, kept: Places) -> tuple[int, Seen]:
        """A run of the units as they came, from a random state of its own."""
        seed = self._seed()
        return seed, self._trial.run(self._together, self._units, seed, self._weighted(kept))

    def _tried(self, kept: Places, kind: str, seed: int) -> tuple[Any, Seen] | None:
        """A run with others around; None if the model refuses those, as it may."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                batch = self._mates.around(kept, kind)
                return batch, self._trial.run(batch, self._units, seed, self._weighted(kept))
            except Exception:
                return None

    def _run_alone(self, place: int, seed: int) -> Seen:
        try:
            return self._trial.run(self._mates.alone(place), 1, seed, [self._weights[place]])
        except Exception as error:
            raise ClippingError(
                f"the model fails on a batch of a single unit ({error}), and Poisson sampling draws such batches."
            ) from error

    def _turned(self, base: Seen, found: Seen, rounding: Rounding) -> bool:
        return base.turned(found, rounding, length=base.length() if self._length is None else self._length)

    def _weighted(self, kept: Places) -> list[float]:
        return [weight if place in kept else 0.0 for place, weight in enumerate(self._weights)]

    def _expect_repeatable(self, seed: int, base: Seen, kept: Places, rounding: Rounding) -> None:
        again = self._trial.run(self._together, self._units, seed, self._weighted(kept))
        if base.moved(again, self._everyone, rounding) or self._turned(base, again, rounding):
            raise ClippingError(
                "the losses differ between two runs from the same torch random state, so nothing can be compared. "
                "Draw all randomness inside the model from torch, and carry nothing over from one call to the next (running "
                "averages, counters): what a later step would see of it carries no noise."
            )

    def _refuse(self, place: int, other: culprit.Setting, seed: int, rounding: Rounding, *, moved: bool) -> NoReturn:
        if not moved:
            raise LeakError(culprit.GRADIENT)
        raise LeakError(culprit.find(self._trial, (self._together, self._units, place), other, seed, rounding))

    def _seed(self) -> int:
        return self._choice.getrandbits(63)
