"""What every method of composition is: steps and a question in, an interval that holds the truth out, or a refusal."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

from renyi.composing.question import Question
from renyi.composing.steps import Steps
from renyi.errors import ConvergenceError, PrivacyError
from renyi.laws.interval import Interval

REFUSALS = (ConvergenceError, ArithmeticError, ValueError, IndexError)
"""How a method says that it cannot answer: too much work (``TooLarge`` is a ``ConvergenceError``), no convergence, or numbers
beyond what floats hold. See ``check_refusal``."""


def check_refusal(error: Exception) -> None:
    """Raise again what is no refusal: an error about the input, such as a user's function that fails, is for whoever asked."""
    if isinstance(error, PrivacyError) and not isinstance(error, (ConvergenceError, ArithmeticError)):
        raise error


EXACT_WIDTH = 1e-11
"""A relative width of the interval below which no other method could improve its upper end: rounding alone is as large."""


@dataclass(frozen=True, slots=True)
class Found:
    """What is known of an answer so far.

    ``words`` name the method that found the upper end. ``answered`` says that a method has composed the steps, and not only
    bounded the answer; ``closed``, that no other method needs to be asked. ``tilt`` is where a contour found its saddle: a good
    first guess for the law of another relation.
    """

    interval: Interval
    words: str
    answered: bool = True
    closed: bool = False
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

    def narrowed(self, other: Found) -> Found:
        """What two valid findings have in common; rounding may leave their intervals apart by a digit."""
        upper = min(self.interval.upper, other.interval.upper)
        lower = min(max(self.interval.lower, other.interval.lower), upper)
        improves = other.answered and (not self.answered or other.interval.upper < self.interval.upper)
        better = other if improves else self
        tilt = self.tilt if other.tilt is None else other.tilt
        return replace(better, interval=Interval(lower, upper), closed=self.closed or other.closed, tilt=tilt)

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
        """Whether it is seen at little cost that the answer does not exceed ``bound``, which another relation has reached."""
        return False
