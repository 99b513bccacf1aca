"""What every method of composition is: steps and a question in, an interval that holds the truth out, or a refusal."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

from renyi.composing.common.accuracy import FAINTEST_DELTA
from renyi.composing.question import Question
from renyi.composing.steps import Steps
from renyi.errors import ConvergenceError, PrivacyError
from renyi.laws.interval import Interval

REFUSALS = (ConvergenceError, ArithmeticError, ValueError, IndexError)
"""How a method says that it cannot answer: too much work (``TooLarge`` is a ``ConvergenceError``), no convergence, or numbers
beyond what floats hold. See ``check_refusal``."""


def check_refusal(error: Exception) -> None:
    """Re-raise an error that is no refusal: one about the input, such as a failing user function, belongs to the caller."""
    if isinstance(error, PrivacyError) and not isinstance(error, (ConvergenceError, ArithmeticError)):
        raise error


_FAR_APART = 1.05
"""A ratio of the ends above which they are not close: well beyond the widths that methods aim at."""

EXACT_WIDTH = 1e-11
"""Intervals narrower than this, relatively, are final: rounding alone is as large."""


@dataclass(frozen=True, slots=True)
class Found:
    """What is known of an answer so far.

    ``words`` name the method that found the upper end. ``answered`` says that a method has composed the steps, and not only
    bounded the answer: no other one composes them then, but some may narrow the interval. ``tilt`` is where a contour found its
    saddle: a good first guess for the law of another relation. ``settled_width`` is the relative width at which this method's
    interval is final.
    """

    interval: Interval
    words: str
    answered: bool = True
    settled_width: float = EXACT_WIDTH
    tilt: float | None = None

    @classmethod
    def bound(cls, interval: Interval, tilt: float | None = None) -> Found:
        """What holds of every composition of these steps, whatever method composes them."""
        return cls(interval, "no method", answered=False, tilt=tilt)

    @property
    def is_settled(self) -> bool:
        """Whether the ends are so close that no other method could improve the upper one."""
        lower, upper = self.interval.lower, self.interval.upper
        return lower == upper or upper - lower <= self.settled_width * upper < float("inf")

    @property
    def is_close(self) -> bool:
        """Whether the ends are so close that a better lower end is not sought for."""
        return self.interval.upper <= max(_FAR_APART * self.interval.lower, FAINTEST_DELTA)

    def narrowed(self, other: Found) -> Found:
        """The intersection of two valid intervals; if rounding leaves them disjoint in the last digit, the upper end wins."""
        upper = min(self.interval.upper, other.interval.upper)
        lower = min(max(self.interval.lower, other.interval.lower), upper)
        improves = other.answered and (not self.answered or other.interval.upper < self.interval.upper)
        better = other if improves else self
        tilt = self.tilt if other.tilt is None else other.tilt
        return replace(better, interval=Interval(lower, upper), tilt=tilt)

    def with_lower(self, lower: float) -> Found:
        """The same upper end with another lower one."""
        upper = self.interval.upper
        return replace(self, interval=Interval(min(lower, upper), upper))


class Method(ABC):
    """One way of composing. Stateless: a method is a value that accountants put in a list."""

    words: ClassVar[str]
    """What a guarantee calls it."""

    def covers(self, steps: Steps, question: Question, known: Found) -> bool:
        """Whether it is worth asking, given what is known already."""
        return True

    @abstractmethod
    def answer(self, steps: Steps, question: Question, known: Found) -> Found:
        """An interval that holds the answer for these steps; raises one of ``REFUSALS`` where it cannot say."""

    def rules_out(self, steps: Steps, question: Question, bound: float, tilt: float | None) -> bool:
        """Whether a cheap check shows that the answer is at most ``bound``, the upper end of another relation."""
        return False
