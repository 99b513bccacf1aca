"""How large an event, and the JSON of one, may be: what is refused, how soon, and what still works."""

from __future__ import annotations

import copy
import json
import pickle
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import renyi
from renyi import (
    Composed,
    Event,
    Gaussian,
    Grouped,
    InvalidInput,
    Laplace,
    MalformedEvent,
    Mechanism,
    NotSerialisable,
    Poisson,
    PrivacyError,
    PureDP,
    Repeated,
    Tuned,
)
from renyi.events import extent, limits
from renyi.events.limits import MOST_BRACKETS, MOST_CHARACTERS, MOST_DIGITS, MOST_NESTED, MOST_OBJECTS
from tests.counting import calls

DOCS = Path(__file__).resolve().parents[2] / "docs"

GAUSSIAN = '{"kind": "mechanism", "name": "gaussian", "version": 1, "parameters": {"noise_multiplier": %s}}'


def enveloped(event: str) -> str:
    return f'{{"format": "renyi-event", "version": 1, "event": {event}}}'


def composed(parts: list[str]) -> str:
    return enveloped('{"kind": "composed", "events": [' + ", ".join(parts) + "]}")


def walked(event: Event) -> None:
    """Every walk over an event that needs stack."""
    assert repr(event) == repr(copy.deepcopy(event))
    assert hash(event) == hash(pickle.loads(pickle.dumps(event)))
    assert renyi.from_json(event.to_json()) == event


NESTINGS = {
    "sums": lambda inner, step: Composed((inner, Gaussian(2.0 + step))),
    "repetitions": lambda inner, step: Repeated(inner, 1 + step % 2),
    "groups": lambda inner, step: Grouped(inner, 1 + step % 2),
    "searches of one run": lambda inner, step: Tuned(inner, 1.0),
    "the same twice": lambda inner, step: Repeated(Composed((inner, inner)), 1),
}


@pytest.mark.parametrize("name", NESTINGS)
def test_nesting_that_says_nothing_may_be_of_any_depth(name):
    event: Event = Gaussian(1.0)
    for step in range(400):
        event = NESTINGS[name](event, step)
    walked(event)


@pytest.mark.parametrize("sum_inside", [False, True])
def test_searches_are_nested_up_to_a_documented_depth(sum_inside):
    event: Event = Gaussian(1.0)
    for step in range(MOST_NESTED):
        event = Tuned(Composed((event, event, Laplace(1.0 + step))) if sum_inside else event, 2.0)
    walked(event)
    with pytest.raises(InvalidInput, match=f"at most {MOST_NESTED} deep; got {MOST_NESTED + 1}"):
        Tuned(event, 2.0)
    assert Composed((event, Gaussian(1.0))) == event + Gaussian(1.0)


def test_counts_inside_counts_are_bounded_when_the_event_is_built():
    large = Gaussian(1.0) * 10**200
    with pytest.raises(InvalidInput, match="1e300 releases"):
        Repeated(large, 10**200)
    with pytest.raises(InvalidInput, match="1e300 releases"):
        Composed((large * 10**100, Gaussian(1.0)))
    with pytest.raises(InvalidInput, match="1e300"):
        large * 10**100 + Gaussian(1.0)
    with pytest.raises(InvalidInput, match="1e300 records"):
        Grouped(Repeated(Grouped(Gaussian(1.0), 10**200), 3), 10**200)
    with pytest.raises(InvalidInput, match="1e300"):
        Grouped(Gaussian(1.0), 10**301)
    assert (large.on(Poisson(0.5)) * 10**200).canonical() == Repeated(large.on(Poisson(0.5)), 10**200)


def test_integers_of_thousands_of_digits_are_refused_without_printing_them():
    for number in (10**5000, -(10**5000)):
        for build in (Gaussian, PureDP, Gaussian(1.0).__mul__, lambda size: Grouped(Gaussian(1.0), size)):
            with pytest.raises(InvalidInput, match="must be") as refusal:
                build(number)
            assert len(str(refusal.value)) < 200


def summed(parts: list[Event]) -> Event:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def test_two_thousand_unlike_events_are_summed_one_by_one():
    """Each sum costs what is added, not what is there: four times as many take four times as many calls, not sixteen."""
    parts: list[Event] = [Gaussian(1.0 + number / 2000) * (1 + number % 3) for number in range(2000)]
    assert calls(lambda: summed(parts)) < 6 * calls(lambda: summed(parts[:500]))
    total = summed(parts)
    assert total == Composed(tuple(parts)) == sum(parts)
    assert repr(total) == repr(Composed(tuple(reversed(parts))).canonical())
    walked(total)


@dataclass(frozen=True)
class Plain(Mechanism):
    """Checks nothing, so that 1 and 1.0 are equal but print differently."""

    name = "test_plain"
    size: float

    @classmethod
    def examples(cls) -> tuple[Plain, ...]:
        return (cls(1.0),)


@dataclass(frozen=True, repr=False)
class Alike(Plain):
    """Prints alike whatever its size."""

    name = "test_alike"

    def __repr__(self) -> str:
        return "Alike"


@dataclass(frozen=True)
class Trusting(Plain):
    """Takes its size for a number."""

    name = "test_trusting"

    def __post_init__(self) -> None:
        if self.size < 1.0:
            raise InvalidInput("size must be at least 1")


def test_a_sum_grows_as_if_it_were_composed_at_once():
    alike, plain = [Alike(1.0), Alike(2.0)], [Plain(1), Plain(1.0)]
    parts = [*alike, plain[0], Laplace(2.0), alike[1], plain[1], Gaussian(1.0) * 2, *alike]
    for stop in range(2, len(parts) + 1):
        assert sum(parts[:stop]) == Composed(tuple(parts[:stop]))
    assert sum(parts) == Alike(1.0) * 2 + Alike(2.0) * 3 + Plain(1.0) * 2 + Laplace(2.0) + Gaussian(1.0) * 2


def test_too_many_unlike_events_are_refused(monkeypatch):
    """With smaller limits, for the sake of time."""
    monkeypatch.setattr(extent, "MOST_EVENTS", 200)
    monkeypatch.setattr(extent, "LARGEST_UNSORTED", 20)
    some = Composed(tuple(PureDP(1.0 + number) for number in range(90)))
    assert Composed((some, some, some)) == Repeated(some, 3)
    with pytest.raises(InvalidInput, match="at most 200 others; got 2"):
        Composed((some, Gaussian(1.0), Tuned(some, 2.0), Tuned(some, 3.0)))
    with pytest.raises(InvalidInput, match="at most 200 others; got 201"):
        sum(PureDP(1.0 + number) for number in range(200))
    assert sum(PureDP(1.0 + number % 90) for number in range(2000)).to_json()


LARGE = {
    "characters": (" " * (MOST_CHARACTERS + 1), "3,000,000 characters"),
    "27 MB of releases": (composed([GAUSSIAN % "1.0"] * 280_000), "3,000,000 characters"),
    "objects": (enveloped("[" + "{}, " * MOST_OBJECTS + "{}]"), "50,000 objects"),
    "brackets": (enveloped("[" * MOST_BRACKETS + "]" * MOST_BRACKETS), f"{MOST_BRACKETS} deep"),
    "a million brackets": ("[" * 1_000_000, f"{MOST_BRACKETS} deep; got 1,000,000"),
    "repetitions": (enveloped('{"kind": "repeated", "count": 1, "event": ' * 500 + GAUSSIAN % 1.0 + "}" * 500), "deep"),
    "digits": (enveloped(GAUSSIAN % ("1" * (MOST_DIGITS + 1))), f"{MOST_DIGITS} digits"),
    "a million digits": (enveloped(GAUSSIAN % ("1" * 1_000_000)), f"{MOST_DIGITS} digits"),
    "decimals": (enveloped(GAUSSIAN % ("0." + "3" * 1_000_000)), f"{MOST_DIGITS} digits"),
    "an exponent": (enveloped(GAUSSIAN % ("1e" + "9" * 1_000_000)), f"{MOST_DIGITS} digits"),
    "the last of many is wrong": (composed([GAUSSIAN % "1.0"] * 10_000 + [GAUSSIAN % "-1.0"]), "did a sign slip in"),
    "the last of many is none": (composed([GAUSSIAN % "1.0"] * 10_000 + ["1"]), "an event is an object"),
    "a million numbers": (enveloped(GAUSSIAN % ("[" + "1, " * 900_000 + "1]")), "noise_multiplier must be"),
    "backslashes": ('"' + "\\" * 2_000_001, "not valid JSON"),
    "quotes": ('"\\' * 1_000_000, "not valid JSON"),
    "a long name": (enveloped(GAUSSIAN % 1.0).replace("gaussian", "g" * 2_000_000), "unknown mechanism"),
    "many fields": (
        enveloped("{" + ", ".join(f'"a{number}": 1' for number in range(200_000)) + "}"),
        "an event is an object",
    ),
    "many parameters": (enveloped(GAUSSIAN % 1.0).replace("{", "{" + '"a": 1, "b": 2, ' * 3), "a field is given twice"),
}


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("as_bytes", [False, True])
def test_large_documents_are_refused_in_few_words(name, as_bytes):
    """They are so long that reading them in quadratic time would take hours; `make hostile` counts the seconds."""
    text, words = LARGE[name]
    document = text.encode() if as_bytes else text
    with pytest.raises(InvalidInput, match=f"(?i){re.escape(words)}") as refusal:
        renyi.from_json(document)
    assert len(str(refusal.value)) < 1500
    str(refusal.value).encode()  # and it can be printed


@pytest.mark.parametrize("number", ["1e400", "-1e400", "1e309", "NaN", "Infinity", "-Infinity"])
def test_numbers_that_no_float_holds_are_not_infinite(number):
    """Infinity is a choice (a Poisson number of runs); 1e400 is a slip."""
    document = enveloped(f'{{"kind": "tuned", "mean": 2.0, "shape": {number}, "event": {GAUSSIAN % 1.0}}}')
    with pytest.raises(MalformedEvent, match='"inf"'):
        renyi.from_json(document)


def test_brackets_and_braces_in_strings_are_letters():
    named = enveloped(GAUSSIAN % 1.0).replace("gaussian", '[{\\"[' * 20_000)
    with pytest.raises(MalformedEvent, match="unknown mechanism"):
        renyi.from_json(named)


def test_parameters_that_a_class_cannot_take_are_malformed():
    text = Trusting(2.0).to_json()
    assert renyi.from_json(text) == Trusting(2.0)
    with pytest.raises(InvalidInput, match="at least 1"):
        renyi.from_json(text.replace("2.0", "0.5"))
    with pytest.raises(MalformedEvent, match="cannot have the parameters"):
        renyi.from_json(text.replace("2.0", '"two"'))


def test_unknown_names_with_broken_letters_can_be_printed():
    for text in ('{"\\ud800": 1}', enveloped('{"kind": "\\ud800"}'), enveloped('{"\\ud800": 1, "\\ud800": 2}')):
        with pytest.raises(PrivacyError) as refusal:
            renyi.from_json(text)
        str(refusal.value).encode()


def test_what_cannot_be_read_back_is_not_written():
    with pytest.raises(NotSerialisable, match="50,000 objects"):
        Composed(tuple(Gaussian(1.0 + number / 10**6) for number in range(25_001))).to_json()
    with pytest.raises(NotSerialisable, match="3,000,000 characters"):
        renyi.FromRenyi(tuple((1.0 + number / 7, 1.0 / 3.0) for number in range(100_000))).to_json()


@given(st.lists(st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)), min_size=1, max_size=8))
def test_a_finite_pair_is_read_back_as_it_was_written(rows):
    p, q = (np.array(column) + (index == 0) for index, column in enumerate(zip(*rows, strict=True)))
    q = q if q.sum() > 0.0 else p
    pair = renyi.FinitePair(tuple(p / p.sum()), tuple(q / q.sum()))
    assert renyi.FinitePair(pair.p, pair.q) == pair
    assert renyi.from_json(pair.to_json()) == pair


def test_the_deepest_event_is_written_and_read_back():
    event: Event = Gaussian(1.0)
    for step in range(MOST_NESTED):
        event = Tuned(Repeated(event, 2) + Laplace(1.0 + step), 2.0)
    event = Repeated(event, 2) + renyi.FromRenyi(((2.0, 0.1),))
    text = event.to_json()
    assert renyi.from_json(text) == event
    assert json.loads(text)["version"] == 1


def test_the_page_of_limits_has_the_numbers():
    page = (DOCS / "limits.md").read_text(encoding="utf-8")
    for name in ("MOST_NESTED", "MOST_EVENTS", "MOST_CHARACTERS", "MOST_OBJECTS", "MOST_BRACKETS", "MOST_DIGITS"):
        assert f"| {getattr(limits, name):,} |" in page, name
    assert "(limits.md)" in (DOCS / "index.md").read_text(encoding="utf-8")
