"""The algebra of events: canonical form, equality, hashing, JSON, the builder, the registry."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import renyi
from renyi import (
    Builder,
    Composed,
    Gaussian,
    InvalidInput,
    Laplace,
    Mechanism,
    NotSerialisable,
    Poisson,
    RandomizedResponse,
    Repeated,
    Sampled,
)
from renyi.events.nodes import NOTHING
from tests.counting import calls

a, b, c = Gaussian(1.0), Laplace(2.0), RandomizedResponse(0.75)


def test_equal_parts_merge_with_counts():
    assert a + a == a * 2
    assert (a + b) * 3 == b * 3 + a * 3
    assert a + b + a == a * 2 + b
    assert Composed((a, Composed((b, Repeated(a, 2))))) == b + a * 3
    assert Repeated(Repeated(a, 2), 3) == a * 6
    assert 3 * a == a * 3


def test_one_and_none():
    assert Repeated(a, 1) == a
    assert a == Repeated(a, 1)
    assert hash(Repeated(a, 1)) == hash(a)
    assert a * 0 == NOTHING == Composed(()) == (b + c) * 0
    assert a * 0 + b == b
    assert Sampled(a * 0, Poisson(0.1)) == NOTHING


def test_one_draw_is_not_two():
    s = Poisson(0.1)
    assert (a + b).on(s) != a.on(s) + b.on(s)
    assert (a + b).on(s) == (b + a).on(s)
    assert (a * 2).on(s) != a.on(s) * 2


def test_different_events_differ():
    assert a != b
    assert a * 2 != a * 3
    assert a.on(Poisson(0.1)) != a.on(Poisson(0.2))
    assert a != "gaussian"
    assert a * 2 != "gaussian"
    assert Gaussian(0.0) == Gaussian(-0.0)
    assert len({a, a * 1, Repeated(a, 1), a + a, a * 2}) == 2


leaves = st.sampled_from([a, b, c, Gaussian(0.5), a.on(Poisson(0.1)), b.on(Poisson(0.1)), (a + b).on(Poisson(0.2))])
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(lambda parts: Composed(tuple(parts))),
        st.tuples(inner, st.integers(0, 5)).map(lambda pair: Repeated(*pair)),
    ),
    max_leaves=12,
)


def census(event, times=1, into=None):
    """The multiset of leaves, counted by a plain walk."""
    into = {} if into is None else into
    match event:
        case Repeated(inner, count):
            census(inner, times * count, into)
        case Composed(parts):
            for part in parts:
                census(part, times, into)
        case _:
            into[event] = into.get(event, 0) + times
    return {leaf: count for leaf, count in into.items() if count}


@settings(max_examples=200)
@given(trees, trees)
def test_equality_is_equality_of_leaf_counts(first, second):
    assert (first == second) == (census(first) == census(second))
    assert census(first.canonical()) == census(first)
    assert first.canonical().canonical() is first.canonical()
    if first == second:
        assert hash(first) == hash(second)
        assert repr(first.canonical()) == repr(second.canonical())


@settings(max_examples=200)
@given(trees)
def test_json_both_ways(event):
    text = event.to_json()
    assert renyi.from_json(text) == event
    assert renyi.from_json(text.encode()).to_json() == text


def test_json_as_documented():
    run = Gaussian(1.1).on(Poisson(rate=0.01)) * 10
    assert json.loads(run.to_json()) == {
        "format": "renyi-event",
        "version": 1,
        "event": {
            "kind": "repeated",
            "count": 10,
            "event": {
                "kind": "sampled",
                "sampling": {"name": "poisson", "version": 1, "parameters": {"rate": 0.01}},
                "event": {
                    "kind": "mechanism",
                    "name": "gaussian",
                    "version": 1,
                    "parameters": {"noise_multiplier": 1.1},
                },
            },
        },
    }


def test_a_parameter_with_a_default_may_be_left_out_of_json():
    document = json.loads(RandomizedResponse(0.7).to_json())
    del document["event"]["parameters"]["outcomes"]
    assert renyi.from_json(json.dumps(document)) == RandomizedResponse(0.7)


def test_an_event_that_holds_code_says_so():
    @dataclass(frozen=True)
    class HoldsCode(Mechanism):
        name = "test_callable"
        function: object

        @classmethod
        def examples(cls):
            return (cls(abs),)

    with pytest.raises(NotSerialisable, match="table of numbers"):
        HoldsCode(abs).to_json()


def test_a_taken_name_is_refused():
    with pytest.raises(InvalidInput, match="taken by"):

        @dataclass(frozen=True)
        class Gaussian(Mechanism):  # the same name as the library's own
            @classmethod
            def examples(cls):
                return ()


def test_names_of_installed_packages_are_found_without_importing_by_name(monkeypatch):
    """Entry points of the group are loaded as a whole when a name is unknown; the name itself is never imported."""
    import importlib.metadata

    from renyi.events import registry

    loaded = []

    class Point:
        def load(self):
            loaded.append("all of the group")

    fresh = registry.Registry("mechanism", "renyi.mechanisms")
    monkeypatch.setattr(
        importlib.metadata, "entry_points", lambda group: [Point()] if group == "renyi.mechanisms" else []
    )
    with pytest.raises(renyi.MalformedEvent, match="unknown mechanism"):
        fresh.get("os.path")
    assert loaded == ["all of the group"]


def grown(count):
    builder = Builder()
    step = Gaussian(1.0).on(Poisson(0.01))
    for _ in range(count):
        builder.add(step)
    return builder.build()


def unlike(count):
    builder = Builder()
    for i in range(count):
        builder.add(Gaussian(1.0 + i / 7).on(Poisson(0.01)))
    return builder.build()


def test_many_appended_steps_build_the_run():
    assert grown(100_000) == Gaussian(1.0).on(Poisson(0.01)) * 100_000


@pytest.mark.parametrize("again", [lambda step: step, lambda _: Gaussian(1.0).on(Poisson(0.01))])
def test_a_run_that_grows_step_by_step_is_the_run(again):
    """By the very same event, or by one that equals it; what was there before does not change."""
    step = Gaussian(1.0).on(Poisson(0.01))
    runs = [step]
    for _ in range(20):
        runs.append(runs[-1] + again(step))
    for count, run in enumerate(runs, start=1):
        assert run == step * count == Repeated(step, count)
        assert hash(run) == hash(step * count)
        assert run.to_json() == (step * count).to_json()
    assert runs[-1].canonical() is runs[-1]
    assert pickle.loads(pickle.dumps(runs[-1])) == runs[-1]
    assert (runs[-1] + b) + again(step) == b + step * 22
    assert runs[-1] + (a * 2).on(Poisson(0.01)) != step * 22


def test_a_step_that_is_added_takes_no_work_beyond_its_count():
    step = Gaussian(1.0).on(Poisson(0.01))
    run = step * 2
    assert calls(lambda: run + step) < 10


@pytest.mark.parametrize("build", [grown, unlike])
def test_building_takes_linear_work(build):
    """Eight times as many parts take eight times as many calls, not sixty-four times."""
    assert calls(lambda: build(8 * 500)) < 10 * calls(lambda: build(500))


def test_a_thousand_unlike_events_are_accounted():
    assert len(unlike(1_000).events) == 1_000
    assert 0 < renyi.epsilon(unlike(50), delta=1e-6) < 10
