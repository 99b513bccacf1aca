"""An event as independent steps, each a law with its count: what methods compose. Made once per question and relation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache, partial

import numpy as np

from renyi.composing.composition import Composition, composition
from renyi.composing.event_laws import dominating_pair, renyi_curve
from renyi.composing.one_draw.one_draw_law import one_draw_law
from renyi.composing.search.search_pair import search_pair
from renyi.errors import ConvergenceError
from renyi.events.event import Event
from renyi.events.nodes import Sampled, Tuned, atoms
from renyi.events.trials import Trials
from renyi.laws.curves.curve import RenyiCurve
from renyi.laws.dots.dots import excess
from renyi.laws.interval import Interval
from renyi.laws.pair import Counted, DominatingPair
from renyi.laws.pairs.curve_pair import CurvePair
from renyi.laws.relation import Relation
from renyi.numerics.rounding import ULP, float_above, sum_above
from renyi.numerics.work import share

_MOST_EXACT_SUMMANDS = 64
"""Unlike steps whose largest losses are added as fractions; with more of them the common denominator would be huge."""

_SEARCH_SHARE = 0.75
"""The share of a question's work that the law of one search may take: where it does not suffice, a curve is left."""

_SEARCH_COARSER = 2.0
"""Of the lattice on which a searched run is composed: it adds 2e-5 to the variance of the loss, and 0.1 % to an epsilon."""


@dataclass(frozen=True)
class Steps:
    """Pairs with their counts, whose product dominates the run for one relation.

    ``counted_below`` are the pairs below (``laws.pair`` defines *attained* and *below*), for which lower ends hold: the same
    pairs where these are attained, others where only a law below is known, no entry for a step without one. ``renyi``
    gives the Renyi curves that bound the whole, where there are any.
    """

    counted: tuple[Counted, ...]
    counted_below: tuple[Counted, ...]
    renyi: Callable[[], tuple[RenyiCurve, ...]] | None = field(default=None, compare=False)

    @classmethod
    def of(cls, counted: tuple[Counted, ...]) -> Steps:
        """Steps whose pairs are attained."""
        return cls(counted, counted)

    @cached_property
    def below(self) -> Steps | None:
        """The steps that give lower ends: these themselves, where they are attained; None where one has no law below."""
        if self.counted_below is self.counted:
            return self
        return Steps.of(self.counted_below) if len(self.counted_below) == len(self.counted) else None

    @cached_property
    def count(self) -> int:
        """The number of all steps."""
        return sum(count for _, count in self.counted)

    @cached_property
    def infinite_mass(self) -> Interval:
        """The probability that some step has an infinite loss."""
        return any_infinite(self.counted)

    @cached_property
    def largest_loss(self) -> Interval:
        """The sum of the largest losses, whose errors add.

        It is added without rounding, and rounded outwards once: two losses of 1/2 are 1, so that a target which they meet
        exactly is met.
        """
        pairs = self.counted
        if any(math.isinf(pair.max_loss) for pair, _ in pairs):
            return Interval(math.inf, math.inf)
        error = sum_above((pair.loss_error, count) for pair, count in pairs)
        if math.isinf(error):
            return Interval(0.0, math.inf)
        few = len(pairs) <= _MOST_EXACT_SUMMANDS
        losses = ((pair.exact_max_loss if few else Fraction(pair.max_loss), count) for pair, count in pairs)
        value = sum((count * loss for loss, count in losses), start=Fraction(0))
        lower, upper = -float_above(Fraction(error) - value), float_above(value + Fraction(error))
        # A pair that stands for a group may have been rounded up itself, by less than this.
        slack = 0.0 if self.count == 1 else 4.0 * ULP
        return Interval(max(0.0, lower * (1.0 - slack)), max(0.0, upper))

    @cached_property
    def transform(self) -> Composition | None:
        """The Laplace transform of the whole loss, where every pair has one."""
        transforms = [(pair.transform, count) for pair, count in self.counted]
        known = [(transform, count) for transform, count in transforms if transform is not None]
        return composition(known, self.infinite_mass.upper) if len(known) == len(transforms) else None

    @cached_property
    def informative(self) -> Steps:
        """The steps that reveal anything at all: two laws are equal where the profile is 0 at 0."""

        def reveal(counted: tuple[Counted, ...]) -> tuple[Counted, ...]:
            # Not "> -inf": if losses overflow, the excess is NaN, and such a step reveals everything.
            return tuple((pair, n) for pair, n in counted if n > 0 and excess(pair, np.zeros(1))[0] != -math.inf)

        counted = reveal(self.counted)
        if len(counted) == len(self.counted):
            return self
        return Steps(counted, counted if self.counted_below is self.counted else reveal(self.counted_below))

    def parts(self) -> Iterator[Steps]:
        """Smaller runs inside this one: those with a transform, each step with its count, and one of each."""
        smooth = tuple(one for one in self.counted if one[0].transform is not None)
        if 1 < len(smooth) < len(self.counted):
            yield Steps.of(smooth)
        if len(self.counted) > 1:
            for one in self.counted:
                yield Steps.of((one,))
        for pair, count in self.counted:
            if count > 1:
                yield Steps.of(((pair, 1),))


def any_infinite(counted: tuple[Counted, ...]) -> Interval:
    """The probability that some of these independent pairs has an infinite loss."""
    masses = [(pair.infinite_mass, count) for pair, count in counted]
    if any(mass >= 1.0 for mass, _ in masses):
        return Interval(1.0, 1.0)
    value = 0.0 - math.expm1(math.fsum(count * math.log1p(-mass) for mass, count in masses))
    if value == 0.0:
        return Interval(0.0, 0.0)
    error = 2e-15 + max(pair.mass_error for pair, _ in counted)
    return Interval(value * (1.0 - error), min(value * (1.0 + error), 1.0))


@lru_cache(maxsize=16)  # accountants, relations and several deltas ask for the same steps
def event_steps(event: Event, relation: Relation) -> Steps:
    """The steps of a canonical event. All that is known by Renyi curves only becomes one step, with the sum of the curves."""
    above: list[Counted] = []
    below: list[Counted] = []
    curves: list[tuple[RenyiCurve, RenyiCurve]] = []
    for atom, count in _in_blocks(event):
        upper, lower = _laws(atom, relation)
        if upper is None:
            curves.append((renyi_curve(atom, relation) * count, renyi_curve(atom, relation.opposite) * count))
            continue
        _add(above, upper, count)
        if lower is not None:
            _add(below, lower, count)
    if curves:
        forward, backward = zip(*curves, strict=True)
        above.append((CurvePair(RenyiCurve.sum(forward), RenyiCurve.sum(backward)), 1))
    counted, counted_below = tuple(above), () if _is_dominated(event) else tuple(below)
    return Steps(counted, counted if counted_below == counted else counted_below, partial(_curves, event, relation))


def _in_blocks(event: Event) -> Iterator[tuple[Event, int]]:
    """The atoms of an event with their counts; a draw that is only known to cost less than several others is those."""
    for atom, count in atoms(event, 1):
        if not isinstance(atom, Sampled) or not (blocks := atom.sampling.blocks()):
            yield atom, count
            continue
        for block, times in blocks:
            for part, number in atoms(Sampled(atom.event, block).canonical(), 1):
                yield part, number * times * count


def _is_dominated(event: Event) -> bool:
    """Whether some atom is only known to cost less than others: then lower ends of those do not hold."""
    return any(isinstance(atom, Sampled) and atom.sampling.blocks() for atom, _ in atoms(event, 1))


def _curves(event: Event, relation: Relation) -> tuple[RenyiCurve, ...]:
    """The curve of a relation, and that of the opposite one where it bounds both."""
    own, opposite = renyi_curve(event, relation), renyi_curve(event, relation.opposite)
    return (own, opposite) if opposite.covers_opposite and opposite is not own else (own,)


def _add(counted: list[Counted], pair: DominatingPair, count: int) -> None:
    """Append a step, or multiply it into one whose product with it is again a pair of a known kind."""
    product = pair.repeated(count)
    if product is None:
        counted.append((pair, count))
        return
    for index, (other, times) in enumerate(counted):
        if type(other) is not type(product) or times != 1:
            continue
        both = other.composed(product)
        if both is None:
            break  # if one pair of this type cannot be merged, none can
        counted[index] = both, 1
        return
    counted.append((product, 1))


def _laws(atom: Event, relation: Relation) -> tuple[DominatingPair | None, DominatingPair | None]:
    """The pair that dominates one atom, and the pair below it; None where it is not known."""
    if isinstance(atom, Tuned):
        return _search(atom, relation), None
    pair = dominating_pair(atom, relation)
    if pair is None and isinstance(atom, Sampled):
        above = atom.sampling.pair(_OneDraw(atom.event, upper=True), relation)
        below = None if above is None else atom.sampling.pair(_OneDraw(atom.event, upper=False), relation)
        return above, None if below is None else below.below()
    return pair, None if pair is None else pair.below()


def _search(atom: Tuned, relation: Relation) -> DominatingPair | None:
    """The pair of the best of several runs, None where it cannot be found."""
    with share(_SEARCH_SHARE), np.errstate(all="ignore"):
        try:
            run, opposite = _run_pair(atom.event, relation), _run_pair(atom.event, relation.opposite)
            return search_pair(run, opposite, Trials.of(atom.mean, atom.shape))
        except (ConvergenceError, ArithmeticError, ValueError, IndexError):
            return None  # too much work, or losses beyond what floats hold: then only the curve is left


def _run_pair(event: Event, relation: Relation) -> DominatingPair:
    """One pair above a whole run: that of its only step, or the product of all of them, at all levels at once."""
    steps = event_steps(event, relation)
    if len(steps.counted) == 1 == steps.counted[0][1]:
        return steps.counted[0][0]
    return one_draw_law(steps.counted, True, _SEARCH_COARSER)


@dataclass(frozen=True, slots=True)
class _OneDraw:
    """The laws of several releases on one draw: their product is put on a lattice, so that it can be sampled as one pair."""

    event: Event
    upper: bool

    def renyi(self, relation: Relation) -> RenyiCurve:
        return renyi_curve(self.event, relation)

    def pair(self, relation: Relation) -> DominatingPair | None:
        steps = event_steps(self.event, relation)
        if any(isinstance(pair, CurvePair) for pair, _ in steps.counted) or not (self.upper or steps.below):
            return None
        counted = steps.counted if self.upper else steps.counted_below
        with np.errstate(all="ignore"):
            try:
                return one_draw_law(counted, self.upper)
            except (ConvergenceError, ArithmeticError, ValueError, IndexError):
                return None  # too much work, or losses beyond what floats hold: then only the curve is left
