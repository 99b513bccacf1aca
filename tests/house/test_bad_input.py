"""Bad input gives one family of errors that teach, and never a number."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import renyi
from renyi import (
    Builder,
    CalibrationError,
    Composed,
    Gaussian,
    InvalidInput,
    Laplace,
    MalformedEvent,
    Poisson,
    PrivacyError,
    RandomizedResponse,
    Repeated,
    Sampled,
)

RUN = Gaussian(1.0).on(Poisson(0.01)) * 10
NOT_NUMBERS = [
    math.nan,
    math.inf,
    -math.inf,
    -1.0,
    "1",
    None,
    True,
    [1.0],
    np.array([1.0, 2.0]),
    1j,
    10**309,
    Decimal(1),
    len,
]


def refused(function, *words):
    with pytest.raises(InvalidInput) as caught:
        function()
    text = str(caught.value)
    assert len(text) > 20
    for word in words:
        assert word in text
    return text


@pytest.mark.parametrize("value", NOT_NUMBERS, ids=repr)
def test_noise(value):
    refused(lambda: Gaussian(value), "noise_multiplier", "finite number >= 0")
    refused(lambda: Laplace(value), "noise_multiplier")


@pytest.mark.parametrize("value", [*NOT_NUMBERS, 1.0000001, 2], ids=repr)
def test_probability_and_rate(value):
    refused(lambda: RandomizedResponse(value), "probability", "[0, 1]")
    refused(lambda: Poisson(value), "rate", "[0, 1]")
    refused(lambda: renyi.noise_multiplier(epsilon=1, delta=1e-5, rate=value), "rate")


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -1e-9, 1.0000001, 2, "1e-5", None, True, [], [[]], ["a"], [0.1, None], 1j], ids=repr
)
def test_delta(value):
    refused(lambda: renyi.epsilon(RUN, delta=value), "delta", "[0, 1)")


@pytest.mark.parametrize("value", [math.nan, -math.inf, -1e-9, "2", None, True, [], [1.0, math.nan]], ids=repr)
def test_epsilon(value):
    refused(lambda: renyi.delta(RUN, epsilon=value), "epsilon", ">= 0")


@pytest.mark.parametrize("value", [math.nan, 0.999, 0, -1, "2", None, True, [], [2, 0.5], [2, math.nan]], ids=repr)
def test_order(value):
    refused(lambda: renyi.divergence(RUN, order=value), "order", "[1, inf]")


@pytest.mark.parametrize("value", [1.5, -1, 2.0, math.nan, "3", None, True, [1], Fraction(3)], ids=repr)
def test_count(value):
    refused(lambda: RUN * value, "count", "integer")
    refused(lambda: Repeated(RUN, value), "count", "integer")
    refused(lambda: Builder().add(RUN, value), "count", "integer")


@pytest.mark.parametrize("value", [1, 0, 2.0, -1, None], ids=repr)
def test_outcomes(value):
    refused(lambda: RandomizedResponse(0.5, outcomes=value), "outcomes", "integer >= 2")


def test_numbers_that_no_float_can_hold():
    huge = 10**400
    refused(lambda: Gaussian(1.0) * huge, "count")
    refused(lambda: Gaussian(1.0) * 10**200 * 10**200, "count")
    refused(lambda: RandomizedResponse(0.5, outcomes=huge), "outcomes")
    refused(lambda: renyi.delta(RUN, epsilon=huge), "epsilon")
    refused(lambda: renyi.divergence(RUN, order=huge), "order")
    refused(lambda: renyi.calibrate(Gaussian(1.0), epsilon=1.0, delta=1e-5), "function")


def test_a_whole_float_count_is_told_what_to_write():
    refused(lambda: RUN * 1e4, "Write 10000.")


@pytest.mark.parametrize("value", [None, 1.0, "gaussian", Poisson(0.1), {RUN}], ids=repr)
def test_what_is_not_an_event(value):
    refused(lambda: renyi.epsilon(value, delta=1e-5), "event")
    refused(lambda: renyi.guarantee(value, delta=1e-5), "event")
    refused(lambda: renyi.divergence(value, order=2), "event")
    refused(lambda: Sampled(value, Poisson(0.1)), "event")
    refused(lambda: Builder().add(value), "events")
    refused(lambda: Composed((RUN, value)), "events")
    if value is not None:
        with pytest.raises((TypeError, InvalidInput)):
            RUN + value


def test_sampling_is_by_a_sampling_and_only_once():
    refused(lambda: Gaussian(1.0).on(0.01), "Poisson(rate=0.01)")
    refused(lambda: Gaussian(1.0).on(Poisson(0.1)).on(Poisson(0.1)), "free of sampling", "(a + b).on(s)")
    refused(lambda: (RUN + Gaussian(1.0)).on(Poisson(0.1)), "free of sampling")


def test_adjacency_and_accountant():
    refused(lambda: renyi.epsilon(RUN, delta=1e-5, adjacency="near"), "add-or-remove", "replace-one")
    assert renyi.epsilon(RUN, delta=1e-5, adjacency="zero-out") == renyi.epsilon(RUN, delta=1e-5)
    refused(lambda: renyi.epsilon(RUN, delta=1e-5, accountant="rdp"), "renyi.Rdp()")
    refused(lambda: renyi.guarantee(RUN), "either delta or epsilon")
    refused(lambda: renyi.guarantee(RUN, delta=1e-5, epsilon=1.0), "either delta or epsilon")


GOOD = json.loads(RUN.to_json())


def changed(**changes):
    return json.dumps({**GOOD, **changes})


def mechanism(**changes):
    inner = {"kind": "mechanism", "name": "gaussian", "version": 1, "parameters": {"noise_multiplier": 1.0}}
    return changed(event={**inner, **changes})


MALFORMED = {
    "empty": "",
    "not JSON": "{",
    "number": "3",
    "null": "null",
    "NaN": mechanism(parameters={"noise_multiplier": math.nan}),
    "infinity": mechanism(parameters={"noise_multiplier": math.inf}),
    "another format": changed(format="something"),
    "later version": changed(version=2),
    "version true": changed(version=True),
    "missing version": json.dumps({k: v for k, v in GOOD.items() if k != "version"}),
    "extra field": changed(extra=1),
    "unknown kind": changed(event={"kind": "magic"}),
    "event is a list": changed(event=[]),
    "unknown mechanism": mechanism(name="os.system"),
    "mechanism name is a number": mechanism(name=3),
    "mechanism of a later version": mechanism(version=7),
    "unknown parameter": mechanism(parameters={"noise_multiplier": 1.0, "sigma": 2}),
    "missing parameter": mechanism(parameters={}),
    "parameters are a list": mechanism(parameters=[1.0]),
    "negative noise": mechanism(parameters={"noise_multiplier": -1}),
    "text for a number": mechanism(parameters={"noise_multiplier": "1"}),
    "list for a number": mechanism(parameters={"noise_multiplier": [1]}),
    "fractional count": changed(event={"kind": "repeated", "count": 1.5, "event": GOOD["event"]}),
    "negative count": changed(event={"kind": "repeated", "count": -1, "event": GOOD["event"]}),
    "a field twice": RUN.to_json().replace('"count": 10', '"count": 10, "count": 20'),
    "events is an object": changed(event={"kind": "composed", "events": {}}),
    "sampling unknown": changed(
        event={"kind": "sampled", "sampling": {"name": "x", "version": 1, "parameters": {}}, "event": GOOD["event"]}
    ),
    "deep": '{"format": "renyi-event", "version": 1, "event": '
    + '{"kind": "repeated", "count": 1, "event": ' * 50_000
    + "{}"
    + "}" * 50_001,
}


@pytest.mark.parametrize("text", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_json(text):
    refused(lambda: renyi.from_json(text))


@pytest.mark.parametrize("text", [None, 3, {}, GOOD], ids=repr)
def test_json_is_text(text):
    with pytest.raises(MalformedEvent):
        renyi.from_json(text)


def test_the_edges_that_are_meant_give_numbers():
    assert renyi.epsilon(Gaussian(0), delta=1e-5) == math.inf
    assert renyi.epsilon(Gaussian(0).on(Poisson(0.1)), delta=1e-5) == math.inf
    assert renyi.epsilon(Laplace(0).on(Poisson(0.1)) * 3, delta=1e-5) == math.inf
    assert renyi.epsilon(RandomizedResponse(1), delta=1e-5) == math.inf
    assert renyi.epsilon(RandomizedResponse(0.5), delta=0) == 0.0
    assert renyi.epsilon(Gaussian(1) * 0, delta=0) == 0.0
    assert renyi.epsilon(Gaussian(1).on(Poisson(0)), delta=0) == 0.0
    assert renyi.epsilon(Gaussian(1), delta=0) == math.inf
    assert renyi.epsilon(Gaussian(Fraction(3, 2)), delta=np.float64(1e-5)) == renyi.epsilon(Gaussian(1.5), delta=1e-5)


def test_calibration_without_a_solution():
    with pytest.raises(CalibrationError, match="no value meets"):
        renyi.noise_multiplier(epsilon=1.0, delta=0.0)
    refused(lambda: renyi.calibrate(lambda s: Gaussian(s), epsilon=1.0, delta=1e-5, low=2.0, high=1.0), "low")
    refused(lambda: renyi.calibrate(lambda s: s, epsilon=1.0, delta=1e-5), "event")


def test_one_family():
    assert issubclass(InvalidInput, PrivacyError)
    assert issubclass(InvalidInput, ValueError)
