"""A callback ends a run: at a budget, or for reasons of its own."""

from __future__ import annotations

from dataclasses import dataclass

from renyi.errors import InvalidInput
from renyi.ledger import Filter, Price
from renyi.signatures import Taught
from renyi.training.callbacks.moment import Moment
from renyi.training.planning.plan import Plan
from renyi.training.recording.record import Record


@dataclass(frozen=True, slots=True)
class Stop:
    """What a callback returns to end the run, as ``run.stop(data_independent=...)`` does.

    A stop that depends on anything computed from the data, a validation loss for instance, costs the whole plan: the steps that
    were left out tell of it. Declare ``data_independent`` if it was fixed before the run began: a number of steps, a time.
    """

    data_independent: bool = False


class StopWithin(metaclass=Taught):
    """Ends a run before the first step that a budget does not admit: ``Run(..., callback=StopWithin(budget))``.

    The budget, and what is spent of it before (``spent``), are fixed before the run begins. It pays for the events of the plan
    alone, which are public too, so the number of steps is known beforehand: ``steps(plan)``. Therefore the stop is declared
    data-independent, and the guarantee of the run is that of the steps that were released. What the budget has spent then is
    ``spent + budget.price(run.record.event)``.
    """

    def __init__(self, budget: Filter, *, spent: Price | None = None) -> None:
        if not isinstance(budget, Filter):
            raise InvalidInput(f"StopWithin takes a budget, such as Filter(epsilon=2.0, delta=1e-5); got {budget!r}.")
        self._budget = budget
        self._spent = budget.nothing if spent is None else spent

    def __call__(self, moment: Moment) -> Stop | None:
        """Whether the run ends with this release."""
        return self.before(moment.record)

    def before(self, record: Record) -> Stop | None:
        """Whether the run ends before its next step."""
        plan, done = record.plan, record.steps
        if plan.adjacency is not self._budget.adjacency:
            raise InvalidInput(
                f"the plan is for {plan.adjacency.value} neighbours and the budget for {self._budget.adjacency.value}. "
                "Make both for the same: Filter(..., adjacency=plan.adjacency)."
            )
        if done == plan.steps or self._budget.admits(self._spent, self._budget.price(plan.events(0, done + 1))):
            return None
        return Stop(data_independent=True)

    def steps(self, plan: Plan) -> int:
        """How many steps of a plan the budget admits."""
        fits, exceeds = 0, plan.steps + 1
        while exceeds - fits > 1:  # the price rises with the number of steps
            middle = (fits + exceeds) // 2
            if self._budget.admits(self._spent, self._budget.price(plan.events(0, middle))):
                fits = middle
            else:
                exceeds = middle
        return fits
