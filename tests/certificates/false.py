"""Certificates that are true, false ones made from them, and checkers that lack a check."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from types import ModuleType

from flint import arb, ctx

import renyi
from renyi import (
    TCDP,
    FinitePair,
    Gaussian,
    Laplace,
    Poisson,
    PureDP,
    RandomizedResponse,
    certify,
)
from renyi.certificates import Certificate, checker

SOURCE = Path(checker.__file__).read_text(encoding="utf-8")

STEPS = Gaussian(8.0).on(Poisson(0.2)) * 50
ANSWERS = RandomizedResponse(0.75) * 6


@cache
def original(name: str) -> Certificate:
    """True certificates, of both routes."""
    match name:
        case "steps":
            return certify(STEPS, delta=1e-6)
        case "answers":
            return certify(ANSWERS, delta=1e-5)
        case "noises":
            return certify(Gaussian(2.0) * 10 + Laplace(3.0) * 4, delta=1e-5)
        case "order":
            return certify(TCDP(0.01, 12.0) * 10, delta=1e-6)
        case "replaced":
            return certify(Gaussian(2.0) * 10, delta=1e-5, adjacency=renyi.Adjacency.REPLACE_ONE)
        case "drawn":
            return certify(Laplace(2.0).on(Poisson(0.05)) * 100, delta=1e-6)
    raise KeyError(name)


ORIGINALS = ("steps", "answers", "noises", "order", "replaced", "drawn")


def edited(name: str, **changes: object) -> dict:
    """A true certificate with other fields; ``relations__tilt`` is the tilt of every relation."""
    document = copy.deepcopy(json.loads(original(name).to_json()))
    for path, value in changes.items():
        *way, last = path.split("__")
        places = [document]
        for step in way:
            places = [one[step] for one in places]
            if step == "relations":
                places = [proof for one in places for proof in one.values()]
        for place in places:
            place[last] = value(place[last]) if callable(value) else value
    return document


def with_event(name: str, event: renyi.Event) -> dict:
    """The numbers of one event, for another."""
    return edited(name, event=json.loads(event.to_json()))


def too_low() -> dict:
    return edited("steps", epsilon=lambda x: x - 1e-3)


def hardly_too_low() -> dict:
    return edited("steps", epsilon=lambda x: x * (1.0 - 1e-9))


def one_step_more() -> dict:
    return with_event("steps", Gaussian(8.0).on(Poisson(0.2)) * 51)


def less_noise() -> dict:
    return with_event("steps", Gaussian(8.0 * 0.999).on(Poisson(0.2)) * 50)


def delta_halved() -> dict:
    return edited("steps", delta=lambda x: x / 2.0)


def another_event() -> dict:
    return with_event("answers", RandomizedResponse(0.76) * 6)


def step_doubled() -> dict:
    return edited("steps", relations__step=lambda x: 2.0 * x)


def tilt_altered() -> dict:
    return edited("steps", relations__tilt=lambda x: 1.5 * x)


def relation_missing() -> dict:
    """The relation that costs less, without the other, at an epsilon that it proves."""
    document = edited("steps")
    del document["relations"]["remove"]
    return as_low_as_possible(document, "add")


def as_low_as_possible(document: dict, relation: str) -> dict:
    """With about the least epsilon that the line of one relation proves."""
    ctx.prec = 128
    made = checker.line(document["relations"][relation], laws(document, relation))
    while checker.line_delta(made, arb(0.999 * document["epsilon"])) <= arb(document["delta"]):
        document["epsilon"] *= 0.999
    return document


def one_relation_twice() -> dict:
    """The line of the relation that costs less, for both."""
    document = edited("steps")
    document["relations"]["remove"] = document["relations"]["add"]
    return as_low_as_possible(document, "add")


def one_order_of_a_pair() -> dict:
    """A pair of which the reverse costs more, for neighbours that can be exchanged."""
    p, q, changed = (0.5, 0.5), (0.1, 0.9), {"adjacency": "replace-one"}
    document = json.loads(certify(FinitePair(q, p) * 3, delta=1e-2).to_json())
    document = as_low_as_possible(document, "remove")
    document["event"]["event"]["event"]["parameters"] |= changed
    return {**document, **changed, "relations": {"replace": document["relations"]["remove"]}}


def step_backwards() -> dict:
    """A line whose sum is negative, and so below every delta."""
    return edited("noises", relations__step=lambda x: -x, epsilon=0.0)


def releases_taken_back() -> dict:
    """Fifty steps, and forty-nine fewer, at the epsilon of one."""
    document = json.loads(certify(Gaussian(8.0), delta=1e-6).to_json())
    one = document["event"]["event"]
    parts = [{"kind": "repeated", "count": count, "event": one} for count in (50, -49)]
    document["event"]["event"] = {"kind": "composed", "events": parts}
    return document


def laws(document: dict, relation: str) -> list:
    """The laws that the checker sees in a certificate."""
    return checker.laws(document["event"]["event"], relation, document["adjacency"])


def cut_short() -> dict:
    """A line of few nodes, and an epsilon that what is left of its sum would prove."""
    document = edited("answers")
    truth = document["epsilon"]
    for nodes in range(1, 60):
        for proof in document["relations"].values():
            proof["nodes"] = nodes
        document["epsilon"] = 0.97 * truth
        ctx.prec = 128
        proof = document["relations"]["remove"]
        line, step, _ = checker.line(proof, laws(document, "remove"))
        if checker.line_delta((line, step, arb(0)), arb(document["epsilon"])) <= arb(document["delta"]):
            return document
    raise AssertionError("no such line")


def line_left_of_zero() -> dict:
    return edited("answers", relations__tilt=-0.5, epsilon=lambda x: 0.5 * x)


def noise_added_that_is_not_there() -> dict:
    return edited("noises", relations__blur=-1.0, relations__nodes=2_000, epsilon=lambda x: 0.9 * x)


def balls_that_hold_everything() -> dict:
    """A blur so large that the sum is only known to be some number."""
    return edited("answers", relations__blur=1e299, epsilon=lambda x: 0.5 * x)


def ratios_exchanged() -> dict:
    return edited("order", relations__low=0.1, relations__high=0.0, epsilon=0.2)


def tangent_elsewhere() -> dict:
    return edited("order", epsilon=lambda x: 0.9 * x)


def order_too_large() -> dict:
    """The best order of a mechanism known up to 12, claimed for one that is known up to 3."""
    return with_event("order", TCDP(0.01, 3.0) * 10)


def order_between_integers() -> dict:
    """The moment of an integer order passed off as that of an order which is larger by almost 1, with ratios that fit it."""
    document = edited("drawn")

    for relation, proof in document["relations"].items():
        ctx.prec = 128
        parts = laws(document, relation)
        order = proof["order"] + 0.99
        moment = checker.moment(parts, arb(proof["order"] - 1))
        a, t = arb(order), arb(order) - 1
        high = float(((moment / (a * arb(document["delta"]))).log() / t).upper()) * (1.0 + 1e-9)
        x1 = arb(high).exp()
        proof.update(order=order, low=None, high=high)
        document["epsilon"] = float((x1 - x1 / a).log().upper()) * (1.0 + 1e-9)
    assert document["epsilon"] < original("drawn").epsilon
    return document


def half_the_distance() -> dict:
    """Numbers of add-or-remove neighbours for replace-one."""
    made = json.loads(certify(Gaussian(2.0) * 10, delta=1e-5).to_json())
    return {**made, "adjacency": "replace-one", "relations": {"replace": made["relations"]["remove"]}}


def samples_replaced() -> dict:
    """Steps on samples, for replace-one neighbours, of which the checker knows nothing."""
    made = edited("steps")
    return {**made, "adjacency": "replace-one", "relations": {"replace": made["relations"]["remove"]}}


def other_neighbours() -> dict:
    """What is known of add-or-remove neighbours, claimed for replace-one."""
    made = json.loads(certify(PureDP(0.5) * 3, delta=1e-5).to_json())
    return {**made, "adjacency": "replace-one", "relations": {"replace": made["relations"]["remove"]}}


def infinite_loss() -> dict:
    """An outcome that gives the record away, with the numbers of a pair that has none."""
    made = json.loads(certify(FinitePair((0.5, 0.5), (0.4, 0.6)) * 3, delta=1e-2).to_json())
    event = FinitePair((0.48, 0.48, 0.04), (0.4, 0.6, 0.0)) * 3
    return {**made, "event": json.loads(event.to_json()), "epsilon": 3.0}


def another_sampler() -> dict:
    """A sampler of one rate, too, of which the checker knows nothing."""
    document = edited("steps")
    document["event"]["event"]["event"]["sampling"]["name"] = "shuffled"
    return document


def count_in_a_sample() -> dict:
    """A field that is not read, by which one step looks like a million to whoever reads the file."""
    document = with_event("steps", Gaussian(8.0).on(Poisson(0.2)))
    document["event"]["event"]["count"] = 1_000_000
    return document


def version_true() -> dict:
    """To Python, true is equal to 1."""
    return edited("answers", version=True)


def event_of_version_1_0() -> dict:
    return edited("answers", event__version=1.0)


FALSE = (
    too_low,
    hardly_too_low,
    one_step_more,
    less_noise,
    delta_halved,
    another_event,
    step_doubled,
    tilt_altered,
    relation_missing,
    cut_short,
    line_left_of_zero,
    noise_added_that_is_not_there,
    balls_that_hold_everything,
    ratios_exchanged,
    tangent_elsewhere,
    order_too_large,
    order_between_integers,
    half_the_distance,
    samples_replaced,
    other_neighbours,
    infinite_loss,
    another_sampler,
    count_in_a_sample,
    version_true,
    event_of_version_1_0,
    one_relation_twice,
    one_order_of_a_pair,
    step_backwards,
    releases_taken_back,
)

MUTANTS = {
    "nothing is compared with delta": (
        "require(reached <= delta,",
        "require(True,",
        too_low,
    ),
    "the lower end of the ball is compared": (
        "require(reached <= delta,",
        "require(not reached > delta,",
        balls_that_hold_everything,
    ),
    "relations may be missing": (
        "set(proofs) == set(wanted)",
        "set(proofs) <= set(wanted)",
        relation_missing,
    ),
    "what is cut off of the line counts nothing": (
        "terms[1:], arb(0))) + cut",
        "terms[1:], arb(0)))",
        cut_short,
    ),
    "one half of the line is forgotten": (
        "2 * sum(terms[1:]",
        "sum(terms[1:]",
        too_low,
    ),
    "tilts may be negative": (
        'number(proof["tilt"], "tilt")',
        'number(proof["tilt"], "tilt", -1)',
        line_left_of_zero,
    ),
    "blurs may be negative": (
        'number(proof["blur"], "blur", 0)',
        'number(proof["blur"], "blur", -10)',
        noise_added_that_is_not_there,
    ),
    "the ratios may be exchanged": (
        "require(t > 0 and x1 > x2,",
        "require(t > 0,",
        ratios_exchanged,
    ),
    "the tangent may belong to another epsilon": (
        "require(epsilon.exp() >= reached,",
        "require(True,",
        tangent_elsewhere,
    ),
    "orders without a bound are let through": (
        "self.largest is None or t + 1 <= self.largest",
        "True",
        order_too_large,
    ),
    "orders of a sample are rounded down": (
        "(t + 1).unique_fmpz()",
        "(t + 1).floor().unique_fmpz()",
        order_between_integers,
    ),
    "replacing moves no further than removing": (
        'distance = 2 if relation == "replace" else 1',
        "distance = 1",
        half_the_distance,
    ),
    "neighbours may be others": (
        'given["adjacency"] == adjacency',
        "True",
        other_neighbours,
    ),
    "infinite losses are passed over": (
        "for p, q in self.masses if not p.is_zero()]",
        "for p, q in self.masses if not p.is_zero() and q > 0]",
        infinite_loss,
    ),
    "any sampler is taken for Poisson's": (
        'sampling["name"] == "poisson"',
        "True",
        another_sampler,
    ),
    "fields that are not read are passed over": (
        "set(found) == set(fields)",
        "set(found) >= set(fields)",
        count_in_a_sample,
    ),
    "a record that leaves is taken for one that comes": (
        'relation in ("add", "zero-in")\n    require(q',
        "True\n    require(q",
        one_relation_twice,
    ),
    "a pair counts one way round": (
        'relation != "replace" or symmetric',
        "True",
        one_order_of_a_pair,
    ),
    "steps may be negative": (
        'number(proof["step"], "step")',
        'number(proof["step"], "step", -10)',
        step_backwards,
    ),
    "counts may be negative": (
        "require(1 <= value",
        "require(-100 <= value",
        releases_taken_back,
    ),
    "true is a version": (
        'type(found["version"]) is int and ',
        "",
        version_true,
    ),
}
"""A check of the checker removed or turned inwards, and a false certificate that is then accepted."""


def mutant(old: str, new: str) -> ModuleType:
    """The checker with a piece of its text replaced."""
    assert old in SOURCE, old
    module = ModuleType("mutant")
    exec(compile(SOURCE.replace(old, new), "mutant", "exec"), module.__dict__)
    return module
