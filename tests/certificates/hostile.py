"""Texts that are no certificates, from somebody who wants the checker to fail."""

from __future__ import annotations

import json

from renyi import Gaussian
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


def _sampled(depth):
    event = json.loads(Gaussian(1.0).to_json())["event"]
    sampling = {"name": "poisson", "version": 1, "parameters": {"rate": 0.1}}
    for _ in range(depth):
        event = {"kind": "sampled", "sampling": sampling, "event": event}
    return event


WRONG = {
    "relations__nodes": [10**9, 10**400, 0, -1, 1.5, True, "7", None],
    "relations__tilt": [1e300, 0, -1.0, "1", None, [1.0], True],
    "relations__step": [0, -1.0, None],
    "relations__blur": [-1e-9, None],
    "relations__route": ["", "magic", None, []],
    "relations": [None, [], {}, ["remove", "add"], {"remove": None, "add": None}],
    "delta": [0.0, -1.0, "1", None, True],
    "epsilon": [-1.0, None, {}],
    "adjacency": ["", "everybody", None, [], {}],
    "version": [2, None, "1"],
    "event": [None, [], {}, {"format": "renyi-event", "version": 1, "event": None}],
    "event__event": [
        [],
        {"kind": "composed", "events": [json.loads(Gaussian(1.0).to_json())["event"]] * 1000},
        {"kind": "repeated", "count": 10**18, "event": json.loads(Gaussian(1.0).to_json())["event"]},
        {"kind": "mechanism", "name": [], "version": 1, "parameters": {}},
        {"kind": "mechanism", "name": "gaussian", "version": 1, "parameters": []},
        {"kind": "mechanism", "name": "gaussian", "version": 1, "parameters": {"noise_multiplier": 0}},
        {
            "kind": "mechanism",
            "name": "discrete_laplace",
            "version": 1,
            "parameters": {"scale": 1.0, "sensitivity": 10**9},
        },
        _sampled(30),
    ],
}


def texts() -> dict[str, str | bytes]:
    """All of them, with their names."""
    made = {
        f"{path}: {number}": json.dumps(false.edited("steps", **{path: value}))
        for path, values in WRONG.items()
        for number, value in enumerate(values)
    }
    return {**HOSTILE, **made, "too much work": json.dumps(much_work())}


def much_work() -> dict:
    """Fifty parts, a long line: each number is allowed, and all together are too much."""
    parts = [json.loads(Gaussian(1.0 + k).to_json())["event"] for k in range(50)]
    sampling = {"name": "poisson", "version": 1, "parameters": {"rate": 0.1}}
    event = {
        "kind": "composed",
        "events": [{"kind": "sampled", "sampling": sampling, "event": part} for part in parts],
    }
    return false.edited("steps", event__event=event, relations__nodes=checker.MOST_NODES)
