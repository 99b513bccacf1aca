"""True certificates pass, false ones do not, and copies of the checker that lack a check accept one of these."""

from __future__ import annotations

import ast
import json
import math
import subprocess
import sys
import traceback

import pytest
from flint import acb, arb, ctx

import renyi
from renyi import (
    TCDP,
    ZCDP,
    Adjacency,
    DiscreteGaussian,
    DiscreteLaplace,
    Exact,
    FinitePair,
    FromDensities,
    FromRenyi,
    Gaussian,
    GaussianDP,
    Laplace,
    Poisson,
    PrivacyError,
    RandomizedResponse,
    Rdp,
    UnsupportedError,
    WithoutReplacement,
    certify,
)
from renyi.certificates import Certificate, CertificateRefused, checker
from renyi.events.mechanism import MECHANISMS
from tests.certificates import false, hostile

TIGHT = [
    (Gaussian(3.0), 1e-6, "add-or-remove"),
    (Gaussian(1.5) * 40, 1e-12, "replace-one"),
    (Gaussian(11.0).on(Poisson(0.007)) * 100_000, 2.4e-7, "add-or-remove"),
    (Laplace(2.0) * 20, 1e-6, "zero-out"),
    (Laplace(1.0), 1e-6, "add-or-remove"),
    (RandomizedResponse(0.75).on(Poisson(0.1)) * 50 + RandomizedResponse(0.4, 5), 1e-6, "add-or-remove"),
    (FinitePair((0.5, 0.5, 0.0), (0.3, 0.3, 0.4)).on(Poisson(0.2)) * 10, 1e-6, "add-or-remove"),
    (DiscreteLaplace(3.0, 2) * 5 + Gaussian(4.0), 1e-6, "replace-one"),
    (GaussianDP(0.5) + Laplace(5.0) * 3, 1e-5, "add-or-remove"),
]
BY_ORDER = [
    (Gaussian(1.3) * 7, 1e-5, "replace-one"),
    (Gaussian(1.1).on(Poisson(0.01)) * 1000, 1e-5, "add-or-remove"),
    (Laplace(3.0) * 30, 1e-6, "add-or-remove"),
    (RandomizedResponse(0.6, 3) * 40, 1e-5, "zero-out"),
    (RandomizedResponse(0.6).on(Poisson(0.1)) * 40, 1e-5, "zero-out"),
    (ZCDP(0.01, 0.001) * 10 + Laplace(5.0), 1e-6, "add-or-remove"),
    (TCDP(0.01, 12.0) * 10, 1e-6, "add-or-remove"),
    (DiscreteLaplace(4.0, 2) * 12, 1e-6, "replace-one"),
    (DiscreteGaussian(5.0) * 10, 1e-6, "add-or-remove"),
    ((Gaussian(2.0) + Laplace(3.0)).on(Poisson(0.01)) * 100, 1e-6, "add-or-remove"),
]


@pytest.mark.parametrize(("event", "delta", "neighbours"), TIGHT, ids=repr)
def test_a_tight_certificate_lies_a_ten_thousandth_above_the_truth_at_most(event, delta, neighbours):
    made = certify(event, delta=delta, adjacency=neighbours)
    truth = Exact().epsilon(event, delta=delta, adjacency=Adjacency(neighbours))
    assert made.route == "contour"
    assert truth.lower <= made.epsilon <= truth.lower * (1.0 + 1e-4)


@pytest.mark.parametrize(("event", "delta", "neighbours"), BY_ORDER, ids=repr)
def test_a_certificate_by_one_order_is_no_higher_than_the_renyi_accountant(event, delta, neighbours):
    made = certify(event, delta=delta, adjacency=neighbours, route="renyi")
    accounted = Rdp().epsilon(event, delta=delta, adjacency=Adjacency(neighbours)).upper
    assert made.route == "renyi"
    assert made.epsilon <= accounted + 1e-9


@pytest.mark.parametrize("name", false.ORIGINALS)
def test_true_certificates_pass_at_three_precisions_and_are_read_back(name):
    made = false.original(name)
    for bits in (96, 128, 200):
        made.verify(bits)
    again = Certificate.from_json(made.to_json())
    assert again == made
    assert str(made.epsilon) in str(again)


@pytest.mark.parametrize("make", false.FALSE, ids=lambda make: make.__name__)
def test_false_certificates_are_refused(make):
    with pytest.raises(checker.Refused):
        checker.verify(json.dumps(make()))


@pytest.mark.parametrize("name", false.MUTANTS)
def test_a_checker_without_one_of_its_checks_accepts_a_false_certificate(name):
    old, new, make = false.MUTANTS[name]
    text = json.dumps(make())
    false.mutant(old, new).verify(text)
    with pytest.raises(checker.Refused):
        checker.verify(text)


ALTERED = {
    "a larger epsilon": lambda: false.edited("steps", epsilon=lambda x: 1.01 * x),
    "a larger delta": lambda: false.edited("steps", delta=lambda x: 1.01 * x),
    "a longer line": lambda: false.edited("steps", relations__nodes=lambda x: x + 1),
    "more noise": lambda: false.with_event("steps", Gaussian(8.1).on(Poisson(0.2)) * 50),
    "a lower rate": lambda: false.with_event("steps", Gaussian(8.0).on(Poisson(0.19)) * 50),
    "one step fewer": lambda: false.with_event("steps", Gaussian(8.0).on(Poisson(0.2)) * 49),
}


@pytest.mark.parametrize("name", ALTERED)
def test_what_is_altered_and_still_true_is_still_proved(name):
    """A certificate proves what it says; that it is the one that was issued, its hash tells."""
    checker.verify(json.dumps(ALTERED[name]()))


def test_cumulants_of_the_checker_are_the_binomial_sum_at_integer_orders():
    ctx.prec = 128
    event = json.loads(Gaussian(0.8).on(Poisson(0.03)).to_json())["event"]
    ((law, _),) = checker.laws(event, "remove", "add-or-remove")
    q, noise = arb(0.03), arb(0.8)
    for order in (2, 5, 20):
        terms = (
            math.comb(order, k) * q**k * (1 - q) ** (order - k) * (k * (k - 1) / (2 * noise**2)).exp()
            for k in range(order + 1)
        )
        found, wanted = law.moment(arb(order - 1)), sum(terms, arb(0))
        assert found.overlaps(wanted)
        assert found.rad() < found * 1e-30


@pytest.mark.parametrize("relation", ["remove", "add"])
@pytest.mark.parametrize(("noise", "rate"), [(0.6, 0.3), (1.1, 0.01), (5.0, 0.9)])
def test_moments_on_a_line_are_those_of_an_adaptive_integral(noise, rate, relation):
    """The integral runs along the real line, where the powers turn; the checker's rule runs beside it."""
    ctx.prec = 96
    event = json.loads(Gaussian(noise).on(Poisson(rate)).to_json())["event"]
    ((law, _),) = checker.laws(event, relation, "add-or-remove")
    tilt, step, q, g = arb(2.25), arb(7), acb(rate), 1 / acb(noise)
    for j, found in enumerate(law.line(tilt, step, 3)):
        t = acb(tilt, j * step)
        power = t + 1 if relation == "remove" else -t

        def integrand(u, analytic, power=power):
            return (power * (1 - q + q * (g * u - g * g / 2).exp()).log(analytic) - u * u / 2).exp()

        pieces = range(-24, 36, 4)
        parts = (acb.integral(integrand, acb(a), acb(a + 4), abs_tol=arb(2) ** -80) for a in pieces)
        wanted = sum(parts, acb(0)) / (2 * arb.pi()).sqrt()
        assert abs(found - wanted) < 1e-18
        assert max(found.real.rad(), found.imag.rad()) < 1e-18


def begun(*_):
    """Stands for work that must not be begun."""
    raise AssertionError("work was begun")


@pytest.mark.parametrize("text", hostile.HOSTILE.values(), ids=list(hostile.HOSTILE))
def test_hostile_texts_are_refused_before_anything_is_computed(text, monkeypatch):
    monkeypatch.setattr(checker, "arb", begun)
    with pytest.raises(checker.Refused):
        checker.verify(text)


def test_wrong_fields_are_refused_before_a_line_is_computed(monkeypatch):
    texts = hostile.texts()
    monkeypatch.setattr(checker, "acb_mat", begun)
    assert len(texts) > 80
    for text in texts.values():
        with pytest.raises(checker.Refused):
            checker.verify(text)


CHOSEN_HERE = {
    "the path meets a zero of r",
    "the rule is too short",
    "the rule is too coarse",
    "bits must be an integer of at least ",
}
"""Reasons that no text can give: where the rule for steps on samples lies is chosen by the checker, and then checked; the
precision is chosen by whoever calls it."""


def met(text):
    """The lines of the checker on which it refuses a text."""
    with pytest.raises(checker.Refused) as caught:
        checker.verify(text)
    refusal, lines = caught.value, set()
    while refusal is not None:
        if isinstance(refusal, checker.Refused):
            frames = [one for one in traceback.extract_tb(refusal.__traceback__) if one.name != "require"]
            lines.add(frames[-1].lineno)
        refusal = refusal.__context__
    return lines


def test_every_refusal_of_the_checker_is_met():
    texts = [*hostile.texts().values(), *(json.dumps(make()) for make in false.FALSE)]
    seen = set().union(*map(met, texts))
    for node in ast.walk(ast.parse(false.SOURCE)):
        name = getattr(node.func, "id", None) if isinstance(node, ast.Call) else None
        if name in ("require", "Refused") and ast.unparse(node) != "Refused(reason)":
            reasons = {one.value for one in ast.walk(node) if isinstance(one, ast.Constant)}
            assert seen & set(range(node.lineno, node.end_lineno + 1)) or reasons & CHOSEN_HERE, ast.unparse(node)


@pytest.mark.parametrize("make", [hostile.much_work, hostile.many_cheap_parts])
def test_too_much_work_is_counted_before_it_is_begun(make, monkeypatch):
    monkeypatch.setattr(checker, "acb", begun)
    with pytest.raises(checker.Refused, match="too much work"):
        checker.verify(json.dumps(make()))


@pytest.mark.parametrize("bits", [63, 8, 0, -128, True, 128.0, "128"])
def test_balls_of_few_bits_are_not_asked(bits):
    with pytest.raises(checker.Refused, match="bits must be"):
        checker.verify(false.original("answers").to_json(), bits)


@pytest.mark.parametrize("bits", [2, 8, 16, 24, 32])
@pytest.mark.parametrize("make", [*false.ORIGINALS, *false.FALSE], ids=lambda make: getattr(make, "__name__", make))
def test_rounding_never_helps_a_claim(make, bits, monkeypatch):
    """With far too few bits the balls are wide. They still hold the exact values, so even what is true is not proved."""
    text = false.original(make).to_json() if isinstance(make, str) else json.dumps(make())
    monkeypatch.setattr(checker, "LEAST_BITS", 2)
    with pytest.raises(checker.Refused):
        checker.verify(text, bits)


def test_what_few_bits_refuse_is_the_last_digits_of_a_claim(monkeypatch):
    """A true claim as low as 128 bits allow is not proved by 32; one that is a little higher is."""
    monkeypatch.setattr(checker, "LEAST_BITS", 2)
    checker.verify(json.dumps(false.edited("noises", epsilon=lambda x: x * (1.0 + 1e-3))), 32)


def test_an_error_of_the_numbers_is_a_refusal(monkeypatch):
    """Whatever arithmetic or the library of balls may raise on a strange file, the program that checks it refuses the file."""
    for error in (ValueError, ZeroDivisionError, OverflowError, TypeError):

        def fails(*_, error=error):
            raise error("strange")

        monkeypatch.setattr(checker, "work", fails)
        with pytest.raises(checker.Refused, match="strange"):
            checker.verify(false.original("answers").to_json())


def test_the_checker_needs_nothing_of_ours(tmp_path):
    alone, made = tmp_path / "alone.py", tmp_path / "made.json"
    alone.write_text(false.SOURCE, encoding="utf-8")
    made.write_text(false.original("answers").to_json(), encoding="utf-8")
    code = (
        "import sys, runpy; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__'); "
        "print([name for name in sys.modules if name.split('.')[0] in ('renyi', 'numpy', 'scipy')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, alone, made], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.stdout.splitlines() == [
        f"proved: epsilon {false.original('answers').epsilon!r} at delta 1e-05 for add-or-remove neighbours, of",
        json.dumps(json.loads(false.ANSWERS.to_json())["event"]),
        "[]",
    ], done.stderr
    made.write_text(json.dumps(false.another_event()), encoding="utf-8")
    done = subprocess.run([sys.executable, alone, made], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "refused: remove: delta at this epsilon is not proved" in done.stderr
    for given in ([], ["missing.json"], [made, "many"], [made, "64", "64"]):
        done = subprocess.run(
            [sys.executable, alone, *given], capture_output=True, text=True, check=False, cwd=tmp_path
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert "Traceback" not in done.stderr
        assert "Usage: python checker.py FILE [BITS]" in done.stderr


@pytest.mark.parametrize(
    "event",
    [
        FromRenyi(lambda order: 0.01 * order),
        Gaussian(1.0).on(WithoutReplacement(10, 100)),
        FinitePair((0.9, 0.1), (1.0, 0.0)),
        renyi.Grouped(Gaussian(1.0).on(Poisson(0.1)), 2),
        renyi.Composed(()),
    ],
    ids=lambda event: type(event).__name__,
)
def test_what_no_route_covers_is_refused_with_what_is_possible(event):
    with pytest.raises(UnsupportedError, match="certificate"):
        certify(event, delta=1e-5)


STATED = [
    one
    for name in MECHANISMS.names()
    for one in MECHANISMS.get(name).examples()
    if isinstance(getattr(one, "adjacency", None), Adjacency) and not isinstance(one, FromDensities | FromRenyi)
]


@pytest.mark.parametrize("known", STATED, ids=repr)
@pytest.mark.parametrize("adjacency", Adjacency)
def test_what_is_known_of_some_neighbours_says_nothing_of_others(known, adjacency):
    """The exponential mechanism's range was once taken to hold for any neighbours but those of replace-one."""
    described = json.loads(known.to_json())["event"]
    for relation in checker.RELATIONS[adjacency.value]:
        if adjacency is not known.adjacency:
            with pytest.raises(checker.Refused, match=r"about other neighbours|nothing is proved"):
                checker.mechanism(described["name"], described["parameters"], relation, adjacency.value)


def test_a_line_that_would_be_too_long_to_check_gives_way_to_an_order(monkeypatch):
    run = Laplace(1.0) + Laplace(2.0)
    assert certify(run, delta=1e-5).route == "contour"
    monkeypatch.setattr(checker, "MOST_WORK", 10.0)
    assert certify(run, delta=1e-5).route == "renyi"
    with pytest.raises(UnsupportedError, match="too much work"):
        certify(run, delta=1e-5, route="contour")


def test_errors_are_of_the_family():
    made = false.original("answers")
    with pytest.raises(CertificateRefused, match="is not proved"):
        Certificate(made.event, made.adjacency, made.delta, 0.9 * made.epsilon, made.proofs).verify()
    for call in (
        lambda: certify(Gaussian(1.0), delta=0.0),
        lambda: certify(Gaussian(1.0), delta=1e-5, route="magic"),
        lambda: certify("Gaussian", delta=1e-5),
        lambda: made.verify(bits=10**9),
        lambda: Certificate.from_json("{}"),
        lambda: Certificate.from_json(made.to_json().replace('"tilt"', '"tolt"')),
    ):
        with pytest.raises(PrivacyError):
            call()
