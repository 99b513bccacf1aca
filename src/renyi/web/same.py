"""The same question in Python and in the shell: texts that give the very number that the page shows."""

from __future__ import annotations

import dataclasses
import enum
import math
import shlex

import renyi
from renyi.cli import options
from renyi.events import Composed, Event, Grouped, Mechanism, Repeated, Sampled, Sampling
from renyi.laws.relation import Adjacency
from renyi.web.form import By, Form, Solve
from renyi.web.runs import Asked, Unknown

_LONGEST_SOURCE = 2_000
"""Characters of an event that are written as Python; a longer one is read from its JSON."""

_TARGETS = {Solve.NOISE: "noise", Solve.STEPS: "steps"}


def in_python(form: Form, question: Asked, found: Event) -> str:
    """A program that prints the page's sentence; where a figure was found, one that finds it too if it is short to say."""
    adjacency = _adjacency(form.neighbours, "adjacency=renyi.Adjacency.{}")
    given = "epsilon" if form.solved is Solve.DELTA else "delta"
    target = f"{given}={options.number(form.epsilon if given == 'epsilon' else form.delta)!r}"
    lines = ["import renyi", ""]
    if isinstance(question.run, Unknown) and (maker := _maker(form)):
        names = f"{target}, epsilon={options.number(form.epsilon)!r}{adjacency}"
        lines += [f"def run(x):\n    return {maker}\n", f"found = renyi.calibrate(run, {names}{_bounds(question.run)})"]
        lines += ["print(found)", f"print(renyi.guarantee(run(found), {target}{adjacency}))"]
        return "\n".join(lines) + "\n"
    text = source(found)
    if len(text) > _LONGEST_SOURCE:
        text = f"renyi.from_json({found.to_json()!r})"
    return "\n".join([*lines, f"run = {text}", f"print(renyi.guarantee(run, {target}{adjacency}))"]) + "\n"


def _maker(form: Form) -> str | None:
    """The run as a function of the figure that was left open; None if it has further releases, or a batch size is found."""
    if form.more or (form.solved is Solve.RATE and form.described_by is By.SIZES):
        return None
    if form.described_by is By.RATE:
        drawn, steps = options.fraction(form.rate), options.whole(form.steps) if form.solved is not Solve.STEPS else 1
    else:
        plan = options.schedule(
            None,
            1 if form.solved is Solve.STEPS else None,
            None if form.solved is Solve.STEPS else options.fraction(form.epochs),
            options.whole(form.batch),
            options.whole(form.dataset),
        )
        drawn, steps = None, plan.steps
        rate = 1.0 if plan.sampling is None else plan.sampling.rate  # type: ignore[attr-defined]
    rate = float(drawn) if drawn is not None else rate
    match form.solved:
        case Solve.NOISE:
            return f"{_gaussian('x', rate)} * {steps}"
        case Solve.STEPS:
            return f"{_gaussian(repr(options.number(form.noise)), rate)} * int(x)"
        case Solve.RATE:
            return f"{_gaussian(repr(options.number(form.noise)), 'x')} * {steps}"
    return None


def _gaussian(noise: str, rate: float | str) -> str:
    drawn = "" if rate == 1.0 else f".on(renyi.Poisson({rate}))"
    return f"renyi.Gaussian({noise}){drawn}"


def _bounds(unknown: Unknown) -> str:
    low = "" if unknown.low is None else f", low={unknown.low!r}"
    high = "" if unknown.high is None else f", high={unknown.high!r}"
    return f"{low}{high}{', integer=True' if unknown.whole else ''}"


def in_shell(form: Form, question: Asked, found: Event) -> str:
    """A command that prints the page's number."""
    adjacency = _adjacency(form.neighbours, " --adjacency {}", by_value=True)
    solved = form.solved
    if isinstance(question.run, Unknown) and not form.more and solved in _TARGETS:
        target = f"--epsilon {_quoted(form.epsilon)} --delta {_quoted(form.delta)}"
        described = _described(form, noise=solved is not Solve.NOISE, length=solved is not Solve.STEPS)
        return f"renyi {_TARGETS[solved]} {target}{described}{adjacency}"
    command, given = (
        ("delta", f"--epsilon {_quoted(form.epsilon)}")
        if solved is Solve.DELTA
        else ("epsilon", f"--delta {_quoted(form.delta)}")
    )
    if question.alone is not None:
        return f"renyi {command}{_described(form)} {given}{adjacency}"
    return f"printf %s {shlex.quote(found.to_json())} |\n  renyi {command} --event - {given}{adjacency}"


def _described(form: Form, *, noise: bool = True, length: bool = True) -> str:
    parts = [f" --noise-multiplier {_quoted(form.noise)}"] if noise else []
    if form.described_by is By.RATE:
        parts += [f" --rate {_quoted(form.rate)}", f" --steps {_quoted(form.steps)}" if length else ""]
    else:
        parts += [f" --batch-size {_quoted(form.batch)} --dataset-size {_quoted(form.dataset)}"]
        parts += [f" --epochs {_quoted(form.epochs)}"] if length else []
    return "".join(parts)


def _quoted(text: str) -> str:
    return shlex.quote(text.replace(" ", ""))


def _adjacency(chosen: Adjacency, template: str, *, by_value: bool = False) -> str:
    if chosen is Adjacency.ADD_OR_REMOVE:
        return ""
    text = template.format(chosen.value if by_value else chosen.name)
    return text if by_value else f", {text}"


def source(event: Event) -> str:
    """An event as a Python expression; one with parts that are none of ours is read from its JSON.

    >>> from renyi import Gaussian, Poisson
    >>> source(Gaussian(1.1).on(Poisson(0.01)) * 1000)
    'renyi.Gaussian(1.1).on(renyi.Poisson(0.01)) * 1000'
    """
    match event:
        case Mechanism() if _is_ours(event):
            return _value(event)
        case Sampled(inner, sampling) if _is_ours(sampling):
            return f"{_tight(inner)}.on({_value(sampling)})"
        case Repeated(inner, count):
            return f"{_tight(inner)} * {count}"
        case Composed(parts):
            return f"renyi.Composed(({', '.join(map(source, parts))},))" if parts else "renyi.Composed(())"
        case Grouped(inner, size):
            return f"renyi.Grouped({source(inner)}, {size})"
    return f"renyi.from_json({event.to_json()!r})"


def _tight(event: Event) -> str:
    return f"({source(event)})" if isinstance(event, Repeated) else source(event)


def _is_ours(one: Mechanism | Sampling) -> bool:
    return getattr(renyi, type(one).__name__, None) is type(one)


def _value(one: Mechanism | Sampling) -> str:
    """A mechanism or sampling; parameters at their defaults are left out."""
    values = {
        field.name: getattr(one, field.name)
        for field in dataclasses.fields(one)  # type: ignore[arg-type]
        if getattr(one, field.name) != field.default
    }
    named = [f"{name}={_written(value)}" for name, value in values.items()]
    return f"renyi.{type(one).__name__}({_written(*values.values()) if len(values) == 1 else ', '.join(named)})"


def _written(value: object) -> str:
    match value:
        case enum.Enum():
            return f"renyi.{type(value).__name__}.{value.name}"
        case tuple():
            return f"({''.join(f'{_written(each)}, ' for each in value)})"
        case float() if math.isinf(value):
            return f"float({str(value)!r})"
    return repr(value)
