"""The full answer: its sentence, its table, its document that can be filed and read back."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import re

import pytest

import renyi
from renyi import (
    Adjacency,
    Composed,
    Gaussian,
    Grouped,
    Guarantee,
    Interval,
    InvalidInput,
    Laplace,
    MalformedEvent,
    Poisson,
    PrivacyError,
    PureDP,
    RandomAllocation,
    Shuffled,
    Tuned,
)
from renyi.events.document import checksum
from renyi.events.mechanism import MECHANISMS
from renyi.events.sampling import SAMPLINGS
from renyi.events.words import MOST_PARTS, described, filled
from renyi.numerics.printing import rounded_down, rounded_up

STEP = Gaussian(1.1).on(Poisson(256 / 60_000))
RUN = STEP * 14_063


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (RUN, "14,063 steps of Gaussian noise (multiplier 1.1) on Poisson samples of rate 0.00426667"),
        (STEP, "1 step of Gaussian noise (multiplier 1.1) on Poisson samples of rate 0.00426667"),
        (Laplace(10.0) * 3, "3 releases of Laplace noise (multiplier 10)"),
        (Composed(()), "nothing"),
        (
            (Gaussian(1.0) + Laplace(2.0) * 2).on(Poisson(0.01)) * 10,
            "10 steps of Gaussian noise (multiplier 1) and 2 releases of Laplace noise (multiplier 2) together on Poisson "
            "samples of rate 0.01",
        ),
        (
            Gaussian(1.0).on(RandomAllocation(1000)) * 2,
            "2 epochs of Gaussian noise (multiplier 1) with each record in 1 random step of 1,000",
        ),
        (Tuned(Gaussian(4.0), mean=10), "the best of about 10 secret runs of Gaussian noise (multiplier 4)"),
        (
            Grouped(Laplace(4.0).on(Poisson(0.5)), 3),
            "1 step of Laplace noise (multiplier 4) on Poisson samples of rate 0.5, for groups of 3 records",
        ),
    ],
    ids=str,
)
def test_an_event_in_words(event, words):
    assert described(event) == words


def test_of_a_long_composition_the_first_parts_are_named_and_the_others_counted():
    words = described(Composed(tuple(Gaussian(float(noise)) * 2 for noise in range(10, 50))))
    assert words.count("Gaussian noise") == MOST_PARTS
    assert words.endswith("and 68 other releases of 34 kinds")


def test_a_mechanism_without_words_is_called_by_its_name():
    @dataclasses.dataclass(frozen=True)
    class Nameless(PureDP):
        words = ""

    try:
        assert filled(Nameless(0.5)).startswith("nameless (epsilon 0.5")
    finally:
        del MECHANISMS._classes["nameless"]


OURS = [
    cls
    for registry in (MECHANISMS, SAMPLINGS)
    for cls in map(registry.get, registry.names())
    if cls.__module__.startswith("renyi.")
]


@pytest.mark.parametrize("cls", OURS, ids=lambda cls: cls.__name__)
def test_every_mechanism_and_sampling_states_its_assumptions_and_has_words(cls):
    assert cls.assumptions
    assert cls.words
    assert all("{" not in filled(one) for one in cls.examples())


def test_the_sentence_names_the_run_the_neighbours_and_the_library():
    assert str(renyi.guarantee(RUN, delta=1e-5)) == (
        "14,063 steps of Gaussian noise (multiplier 1.1) on Poisson samples of rate 0.00426667 are (2.38169, 1e-05)-"
        "differentially private for one record added or removed; both ends agree, by exact composition (contour integration), "
        f"renyi {renyi.__version__}."
    )
    replaced = renyi.guarantee(Gaussian(1.0), delta=1e-5, adjacency=Adjacency.REPLACE_ONE)
    assert str(replaced).startswith(
        "Gaussian noise (multiplier 1) is (9.99726, 1e-05)-differentially private for one record replaced"
    )


def test_a_bound_says_how_far_from_the_truth_it_may_be():
    shuffled = renyi.guarantee(Gaussian(1.0).on(Shuffled(10)), delta=1e-6, adjacency=Adjacency.ZERO_OUT)
    (least,) = re.findall(r"an upper bound \(the least epsilon is at least ([0-9.]+)\)", str(shuffled))
    assert 0.0 < float(least) <= shuffled.epsilon.lower
    search = renyi.guarantee(Tuned(Gaussian(4.0), mean=10), delta=1e-6)
    assert "; an upper bound, by" in str(search)


def test_a_group_stands_where_the_record_stood():
    text = str(renyi.guarantee(Grouped(RUN, 4), delta=1e-5))
    assert "for a group of 4 records added or removed" in text
    assert "for groups of" not in text
    mixed = Grouped(Laplace(4.0), 4) + Laplace(9.0).on(Poisson(0.1))
    assert "for one record added or removed" in str(renyi.guarantee(mixed, delta=1e-5))


def test_an_infinite_answer_is_a_sentence_of_its_own():
    text = str(renyi.guarantee(Gaussian(0.0), delta=1e-5))
    assert text.startswith("Gaussian noise (multiplier 0) has no finite epsilon at delta 1e-05 for one record")
    assert "(inf" not in text


def test_a_question_about_delta_keeps_what_was_given_apart_from_what_was_found():
    found = renyi.guarantee(RUN, epsilon=2.0)
    assert found.epsilon == Interval(2.0, 2.0)
    assert found.answer.lower <= found.answer.upper == found.delta
    document = found.to_dict()
    assert document["question"] == "delta"
    assert document["epsilon"] == 2.0
    assert document["delta"] == {"lower": found.answer.lower, "upper": found.answer.upper}
    asked = renyi.guarantee(RUN, delta=1e-5).to_dict()
    assert asked["question"] == "epsilon"
    assert asked["delta"] == 1e-5


@pytest.mark.parametrize(
    "event",
    [
        RUN,
        Gaussian(0.0),
        Composed(()),
        Grouped(RUN, 2),
        Tuned(Laplace(1.0), mean=3.0),
        renyi.FinitePair((0.5, 0.5), (0.9, 0.1)) * 3,
    ],
    ids=described,
)
@pytest.mark.parametrize(
    "question", [{"delta": 1e-6}, {"epsilon": 1.5}, {"epsilon": math.inf}, {"delta": 0.0}], ids=str
)
def test_what_was_filed_is_read_back(event, question):
    found = renyi.guarantee(event, **question)
    back = Guarantee.from_json(found.to_json())
    assert back == found
    assert back.date == found.date
    assert renyi.from_json(json.dumps(found.to_dict()["event"])) == event


def test_a_filed_guarantee_has_a_version_and_a_date():
    found = renyi.guarantee(RUN, delta=1e-5)
    document = found.to_dict()
    assert (document["format"], document["version"], document["library"]) == ("renyi-guarantee", 1, renyi.__version__)
    assert document["date"] == found.date.isoformat()


def test_a_guarantee_of_another_day_is_equal():
    found = renyi.guarantee(RUN, delta=1e-5)
    assert dataclasses.replace(found, date=found.date.replace(2020, 2, 29)) == found


def signed(**changes):
    """A document with other fields and the checksum that fits them."""
    document = {**renyi.guarantee(RUN, delta=1e-5)._document(), **changes}
    return json.dumps({**document, "sha256": checksum(document)})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (renyi.guarantee(RUN, delta=1e-5).to_json().replace("2.38", "1.38", 1), "checksum"),
        (renyi.guarantee(RUN, delta=1e-5).to_json()[:-40], "not valid JSON"),
        (RUN.to_json(), "format 'renyi-guarantee'"),
        ("[]", "format 'renyi-guarantee'"),
        ("[" * 10_000, "at most"),
        (signed(version=2), "version 1; got version 2"),
        (signed(sentence="Everything is private."), "contradict"),
        (signed(epsilon={"lower": 0.0, "upper": 0.1}), "contradict"),
        (signed(epsilon={"lower": 3.0, "upper": 0.1}), "lower <= upper"),
        (signed(epsilon=[1]), "wrong one"),
        (signed(date="yesterday"), "wrong one"),
        (signed(relation="sideways"), "wrong one"),
        (signed(unit=7), "text is wanted"),
        (signed(delta=-1), ">= 0"),
        (signed(event={"format": "renyi-event", "version": 1, "event": {"kind": "os.system"}}), "kind of mechanism"),
    ],
    ids=lambda value: value[:20],
)
def test_what_was_altered_is_refused_with_the_reason(text, reason):
    with pytest.raises(renyi.PrivacyError, match=re.escape(reason)):
        Guarantee.from_json(text)


def test_every_missing_field_is_noticed():
    whole = renyi.guarantee(RUN, delta=1e-5)._document()
    for name in whole:
        document = {key: value for key, value in whole.items() if key != name}
        with pytest.raises(MalformedEvent):
            Guarantee.from_json(json.dumps({**document, "sha256": checksum(document)}))


def test_a_notebook_shows_a_small_table():
    text = renyi.guarantee(RUN, delta=1e-5)._repr_html_()
    assert text.count("<tr>") == 7
    assert "14,063 steps" in text
    assert "&#x27;" in text  # escaped


def test_a_notebook_is_told_in_words_that_nothing_is_promised():
    text = renyi.guarantee(Gaussian(0.0), delta=1e-5)._repr_html_()
    assert "<th>epsilon</th><td>no finite epsilon</td>" in text


@pytest.mark.parametrize("value", [0.0, 1e-5, 0.1, 1.2345678, 123456.7, 5e-324, 1.7e308, math.inf, 2.3816855])
def test_printed_numbers_are_rounded_to_the_safe_side(value):
    assert float(rounded_down(value)) <= value <= float(rounded_up(value))
    if 0.0 < value < math.inf:
        assert float(rounded_up(value)) - float(rounded_down(value)) <= max(1.01e-5 * value, 5e-324)


def test_a_guarantee_names_a_certificate_that_was_checked_again():
    run = Gaussian(2.0) * 10
    plain, proof = renyi.guarantee(run, delta=1e-5), renyi.certify(run, delta=1e-5)
    certified = plain.certified(proof)
    assert str(certified) == f"{plain} Certified: {proof.words()}."
    assert hashlib.sha256(proof.to_json().encode()).hexdigest() in certified._repr_html_()
    assert certified.answer == plain.answer
    assert Guarantee.from_json(certified.to_json()) == certified
    assert renyi.statement(certified).certificate == proof.words()


def test_a_certificate_of_something_else_or_of_nothing_is_not_named():
    run = Gaussian(2.0) * 10
    plain, proof = renyi.guarantee(run, delta=1e-5), renyi.certify(run, delta=1e-5)
    for other in (
        renyi.guarantee(Gaussian(2.0) * 11, delta=1e-5),
        renyi.guarantee(run, delta=1e-6),
        renyi.guarantee(run, epsilon=proof.epsilon),
        renyi.guarantee(run, delta=1e-5, adjacency=renyi.Adjacency.ZERO_OUT),
    ):
        with pytest.raises(InvalidInput, match="another event, delta or adjacency"):
            other.certified(proof)
    with pytest.raises(PrivacyError, match="is not proved"):
        plain.certified(dataclasses.replace(proof, epsilon=0.9 * proof.epsilon))
