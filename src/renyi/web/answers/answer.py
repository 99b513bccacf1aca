"""The calculator's answer: the guarantee of the run, after the open figure was found."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from renyi.accountants import Guarantee, guarantee
from renyi.calibration import calibrate
from renyi.cli import options
from renyi.events.event import Event
from renyi.numerics.printing import rounded_down, rounded_up
from renyi.web.answers.published import axis
from renyi.web.form import By, Form, Solve
from renyi.web.runs import Asked, Unknown, asked, figure
from renyi.web.same import in_python, in_shell

LONGEST_EVENT = 60_000
"""Characters of an event's JSON that a page shows; a longer one is in the statement."""


@dataclass(frozen=True, slots=True)
class Found:
    """A form's guarantee, the question that led to it, and the value of the open figure if there was one."""

    question: Asked
    guarantee: Guarantee
    value: float | None


def found(form: Form) -> Found:
    """The guarantee of the run that a form describes; at its epsilon if delta is asked for, else at its delta."""
    question = asked(form)
    event, value = solved(form, question)
    if form.solved is Solve.DELTA:
        answer = guarantee(event, epsilon=figure(form.epsilon, "epsilon"), adjacency=form.neighbours)
    else:
        answer = guarantee(event, delta=figure(form.delta, "delta"), adjacency=form.neighbours)
    return Found(question, answer, value)


def solved(form: Form, question: Asked) -> tuple[Event, float | None]:
    """The run, and the value of the figure that was left open if there was one."""
    run = question.run
    if not isinstance(run, Unknown):
        return run, None
    value = calibrate(
        run.make,
        epsilon=figure(form.epsilon, "epsilon"),
        delta=figure(form.delta, "delta"),
        low=run.low,
        high=run.high,
        integer=run.whole,
        adjacency=form.neighbours,
    )
    return run.make(value), value


def answer(form: Form) -> dict[str, Any]:
    """Everything that the page says at once; the odds and the plots are questions of their own."""
    made = found(form)
    answer = made.guarantee
    lower, upper = answer.answer.lower, answer.answer.upper
    name = "delta" if form.solved is Solve.DELTA else "epsilon"
    json = answer.event.to_json()
    return {
        "asked": name,
        "lower": rounded_down(lower),
        "upper": rounded_up(upper),
        "exact": {"lower": repr(lower), "upper": repr(upper)},
        "epsilon": rounded_up(answer.epsilon.upper),
        "delta": rounded_up(answer.delta),
        "axis": axis(answer.epsilon.upper),
        "promises_nothing": answer.epsilon.upper == math.inf or answer.delta >= 1.0,
        "agree": rounded_up(lower) == rounded_up(upper) or upper - lower <= 1e-6 * upper,
        "neighbours": answer.adjacency.change(answer.unit),
        "sentence": str(answer),
        "method": answer.method,
        "assumptions": list(answer.assumptions),
        "references": list(answer.references),
        "notes": [*made.question.notes, *options.remarks(answer.delta, _declared(form))],
        "solved": _value(made),
        "python": in_python(form, made.question, answer.event),
        "shell": in_shell(form, made.question, answer.event),
        "event": json if len(json) <= LONGEST_EVENT else None,
    }


def _declared(form: Form) -> int | None:
    """The number of records, if the run that is asked for has one."""
    described = form.described_by is By.SIZES and not form.event and (form.noise or form.solved is Solve.NOISE)
    return options.whole(form.dataset) if described else None


def _value(made: Found) -> dict[str, str] | None:
    """The figure that was found, with all its digits: shortened it might miss the target."""
    run = made.question.run
    if made.value is None or not isinstance(run, Unknown):
        return None
    text = str(int(made.value)) if run.whole else repr(made.value)
    return {"name": run.name.replace("_", " "), "value": text, "field": run.name}
