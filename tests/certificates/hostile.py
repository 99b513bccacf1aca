"""Texts that are no certificates, from somebody who wants the checker to fail."""

from __future__ import annotations

import json

from renyi import Adjacency, FinitePair
from renyi.certificates import checker
from tests.certificates import false

HOSTILE = {
    "nothing": "",
    "not text": b"\xff\xfe",
    "an array": "[]",
    "deep": "[" * 250_000,
    "huge": " " * 10**7,
    "NaN": '{"epsilon": NaN}',
    "a million digits": '{"epsilon": 1' + "0" * 10**6 + "}",
    "many digits": '{"epsilon": 1' + "0" * 10**5 + "}",
    "twice": '{"epsilon": 1, "epsilon": 2}',
}


def _mechanism(name: str, version: int = 1, **parameters: object) -> dict:
    return {"kind": "mechanism", "name": name, "version": version, "parameters": parameters}


def _sampled(event: dict, depth: int = 1, rate: float = 0.1, version: int = 1, **others: object) -> dict:
    sampling = {"name": "poisson", "version": version, "parameters": {"rate": rate, **others}}
    for _ in range(depth):
        event = {"kind": "sampled", "sampling": sampling, "event": event}
    return event


def _composed(*events: dict) -> dict:
    return {"kind": "composed", "events": list(events)}


def _repeated(count: int, event: dict) -> dict:
    return {"kind": "repeated", "count": count, "event": event}


NOISE = _mechanism("gaussian", noise_multiplier=1.0)
BOTH = {"adjacency": "add-or-remove"}

WRONG = {
    "relations__nodes": [10**9, 10**400, 0, -1, 1.5, True, "7", None],
    "relations__tilt": [1e300, 0, -1.0, "1", None, [1.0], True],
    "relations__step": [0, -1.0, None],
    "relations__blur": [-1e-9, None],
    "relations__route": ["", "magic", None, []],
    "relations": [None, [], {}, ["remove", "add"], {"remove": None, "add": None}],
    "delta": [0.0, 1.0, 1, 2.0, -1.0, "1", None, True],
    "epsilon": [-1.0, None, {}],
    "adjacency": ["", "everybody", None, [], {}],
    "version": [2, None, "1", True, 1.0],
    "event": [None, [], {}, {"format": "renyi-event", "version": 1, "event": None}],
    "event__version": [2, True, 1.0],
    "event__count": [10],
    "event__event": [
        [],
        {"kind": "tuned"},
        {**NOISE, "count": 10},
        {**NOISE, "version": 1.0},
        {**NOISE, "parameters": {"noise_multiplier": 1.0, "mu": 1.0}},
        {**_sampled(NOISE), "count": 10},
        {**_composed(NOISE), "count": 10},
        {**_repeated(2, NOISE), "events": [NOISE]},
        _sampled(NOISE, batch=7),
        _sampled(NOISE, version=True),
        _composed(*[NOISE] * 1000),
        _composed(_composed(*[NOISE] * 30), _composed(*[NOISE] * 30)),
        _repeated(10**18, NOISE),
        _repeated(10**15, _repeated(2, NOISE)),
        _mechanism([]),
        {"kind": "mechanism", "name": "gaussian", "version": 1, "parameters": []},
        _mechanism("gaussian", noise_multiplier=0),
        _mechanism("gaussian", version=2, noise_multiplier=1.0),
        _mechanism("discrete_laplace", scale=1.0, sensitivity=10**9),
        _mechanism("randomized_response", probability=1.0, outcomes=2),
        _mechanism("randomized_response", probability=0.75, outcomes=1),
        _mechanism("finite_pair", p=[0.5, 0.4], q=[0.5, 0.5], **BOTH),
        _mechanism("finite_pair", p=[0.5, 0.5], q=[0.5, 0.25, 0.25], **BOTH),
        _mechanism("finite_pair", p=[0.5, 0.5], q=[1.0, 0.0], **BOTH),
        _mechanism("zcdp", xi=0.0, rho=0.1, **BOTH),
        _mechanism("approximate_dp", epsilon=0.1, delta=1e-9, **BOTH),
        _sampled(NOISE, depth=30),
        _sampled(NOISE, rate=1.5),
        _sampled(_mechanism("gaussian", noise_multiplier=1e-9)),
        _sampled(_mechanism("gaussian", noise_multiplier=0.002)),
    ],
    "unknown": [1],
    "relations__unknown": [1],
}
"""Fields of the certificate of some steps, and values that none may have."""

WRONG_BY_ORDER = {
    "relations__route": ["magic", "contour", None],
    "relations__order": [1.0, 2.5, 0.0, 2000.0, 1e300, None, "2"],
    "relations__low": [-1e7, "0", 10.0],
    "relations__high": [-1e7, None],
    "relations__unknown": [1],
}
"""Fields of a certificate by one order of releases on samples."""


def texts() -> dict[str, str | bytes]:
    """All of them, with their names."""
    made = {
        f"{name}, {path}: {number}": json.dumps(false.edited(name, **{path: value}))
        for name, wrong in (("steps", WRONG), ("drawn", WRONG_BY_ORDER))
        for path, values in wrong.items()
        for number, value in enumerate(values)
    }
    others = {
        "one-sided": one_sided(),
        "long": long_rule(),
        "too much work": much_work(),
        "many cheap parts": many_cheap_parts(),
    }
    return {**HOSTILE, **made, **{name: json.dumps(document) for name, document in others.items()}}


def one_sided() -> dict:
    """A pair of which the reverse is another one, for neighbours that can be exchanged."""
    pair = FinitePair((0.5, 0.3, 0.2), (0.3, 0.3, 0.4), adjacency=Adjacency.REPLACE_ONE)
    return false.with_event("replaced", pair)


def long_rule() -> dict:
    """Steps with so little noise that both ends of a rule are allowed and their sum is not, for a record that is added."""
    document = false.edited("steps", event__event=_sampled(_mechanism("gaussian", noise_multiplier=0.02)))
    return {**document, "relations": dict(reversed(document["relations"].items()))}


def much_work() -> dict:
    """Fifty parts and a long line: each number is allowed, and all together are too much."""
    parts = [_sampled(_mechanism("gaussian", noise_multiplier=1.0 + k)) for k in range(50)]
    return false.edited("steps", event__event=_composed(*parts), relations__nodes=checker.MOST_NODES)


def many_cheap_parts() -> dict:
    """Fifty parts whose terms are cheap, at more than a million points in all."""
    parts = [_mechanism("laplace", noise_multiplier=1.0 + k) for k in range(50)]
    return false.edited("answers", event__event=_composed(*parts), relations__nodes=checker.MOST_NODES)
