"""The full answer: what is promised, for whom, by which theorem."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, localcontext
from typing import Any

from renyi.events.event import Event
from renyi.events.mechanism import Mechanism
from renyi.events.nodes import Composed, Grouped, Repeated, Sampled, Tuned
from renyi.events.sampling import Sampling
from renyi.events.serial import to_dict
from renyi.laws.interval import Interval
from renyi.laws.relation import Adjacency, Relation


@dataclass(frozen=True, slots=True)
class Guarantee:
    """An event is (epsilon.upper, delta)-differentially private for an adjacency, and for no epsilon below epsilon.lower.

    The lower end is a statement about the worst neighbours; where a part stands for all mechanisms of a level (``PureDP``,
    ``ApproximateDP``), about the worst of these mechanisms. The upper end takes the ``assumptions`` for granted: among them,
    that curves and densities which the user gave are right.
    """

    epsilon: Interval
    delta: float
    adjacency: Adjacency
    event: Event
    method: str
    relation: Relation
    order: float | None
    assumptions: tuple[str, ...]
    references: tuple[str, ...]

    def __str__(self) -> str:
        at = f" at order {self.order:.6g}" if self.order is not None else ""
        return (
            f"({rounded_up(self.epsilon.upper)}, {rounded_up(self.delta)})-differentially private for {self.adjacency.value} "
            f"neighbours, by {self.method}{at}; the relation that decides is {self.relation.value}."
        )

    def to_dict(self) -> dict[str, Any]:
        """The same for machines. An infinite number is the string "inf", because JSON has none."""
        return {
            "epsilon": {"lower": _number(self.epsilon.lower), "upper": _number(self.epsilon.upper)},
            "delta": self.delta,
            "adjacency": self.adjacency.value,
            "method": self.method,
            "relation": self.relation.value,
            "order": None if self.order is None else _number(self.order),
            "assumptions": list(self.assumptions),
            "references": list(self.references),
            "event": to_dict(self.event),
        }


def guarantee_of(
    event: Event,
    delta: float,
    adjacency: Adjacency,
    epsilon: Interval,
    method: str,
    relation: Relation,
    order: float | None,
) -> Guarantee:
    """A guarantee with the assumptions and references of everything the event consists of."""
    parts = tuple(_parts(event))
    return Guarantee(
        epsilon=epsilon,
        delta=delta,
        adjacency=adjacency,
        event=event,
        method=method,
        relation=relation,
        order=order,
        assumptions=tuple(dict.fromkeys(text for part in parts for text in part.assumptions)),
        references=tuple(dict.fromkeys(text for part in parts for text in part.references)),
    )


def rounded_up(value: float) -> str:
    """A nonnegative number to six digits, never below the number itself."""
    text = f"{value:.6g}"
    if float(text) >= value:
        return text
    with localcontext() as context:
        context.prec, context.rounding = 6, ROUND_CEILING
        return f"{float(+Decimal(value)):.6g}"


def _parts(event: Event) -> Iterator[Mechanism | Sampling]:
    match event:
        case Mechanism():
            yield event
        case Sampled(inner, sampling):
            yield sampling
            yield from _parts(inner)
        case Repeated(inner, _) | Grouped(inner, _) | Tuned(inner, _, _):
            yield from _parts(inner)
        case Composed(events):
            for part in events:
                yield from _parts(part)


def _number(value: float) -> float | str:
    return "inf" if value == float("inf") else value
