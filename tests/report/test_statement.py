"""What a statement is made from, both numbers where samplers differ, and documents that are refused."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace

import pytest
from typer.testing import CliRunner

import renyi
from renyi import Gaussian, Guarantee, InvalidInput, Laplace, MalformedEvent, Poisson, PrivacyError, Shuffled, Statement
from renyi.cli.main import app
from renyi.events.document import checksum
from renyi.numerics.printing import rounded_up
from renyi.report.shuffling import shuffled as on_shuffled_batches
from renyi.report.statement import LONGEST_TEXT, Ran
from tests.report.cases import RUN, full, leaked

STEP = Gaussian(1.1).on(Poisson(0.01))


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def test_shuffled_batches_get_their_own_number_and_a_warning():
    made = renyi.statement(RUN, delta=1e-5, ran="shuffled")
    accounted = renyi.guarantee(RUN, delta=1e-5)
    assert made.accounted.epsilon == accounted.epsilon
    upper = renyi.guarantee(Gaussian(1.1).on(Shuffled(234)) * 61, delta=1e-5, adjacency="zero-out").epsilon.upper
    lower = renyi.guarantee(Gaussian(1.1).on(Shuffled(235)) * 59, delta=1e-5, adjacency="zero-out").epsilon.lower
    assert (made.guarantee.epsilon.lower, made.guarantee.epsilon.upper) == (lower, upper)
    assert lower > accounted.epsilon.upper
    (warning,) = made.warnings()
    assert "2.38169" in warning
    assert "WARNING" in str(made)


@pytest.mark.parametrize(("rate", "steps"), [(0.01, 1000), (1 / 3, 10), (0.3, 7), (0.9, 5), (1.0, 4), (0.001, 10)])
def test_epochs_of_shuffled_batches_are_rounded_to_the_safe_sides(rate, steps):
    most, least = on_shuffled_batches(Gaussian(2.0).on(Poisson(rate)) * steps)
    upper = renyi.guarantee(most, delta=1e-5, adjacency="zero-out").epsilon
    lower = renyi.guarantee(least, delta=1e-5, adjacency="zero-out").epsilon
    assert lower.lower <= upper.lower * (1 + 1e-9)
    epochs = steps * rate
    whole = renyi.epsilon(Gaussian(2.0) * math.ceil(epochs - 1e-9), delta=1e-5, adjacency="zero-out")
    assert upper.upper >= whole * (1 - 1e-9)


def test_the_same_event_is_no_other_sampler_and_another_one_is():
    assert renyi.statement(STEP * 10, delta=1e-5, ran=STEP * 10).accounted is None
    assert renyi.statement(STEP * 10, delta=1e-5).ran is Ran.NOT_STATED
    assert renyi.statement(STEP * 10, delta=1e-5, ran=STEP * 20).accounted is not None


class Study:
    def guarantee(self):
        return renyi.guarantee(STEP * 10, delta=1e-5)


def test_anything_that_can_be_asked_for_its_guarantee_is_a_subject():
    expected = Study().guarantee()
    for subject in (Study(), expected):
        assert renyi.statement(subject).guarantee == expected


def test_a_training_record_says_what_is_on_record(tmp_path):
    from renyi.training import AdaptiveClip, Plan, replay
    from renyi.training.planning.clip import FlatClip, LayerClip
    from renyi.training.recording import record as lines
    from renyi.training.recording.findings import Looks
    from tests.training.test_replay import written

    plan = Plan(
        sampling=Poisson(0.1), steps=2, clip=AdaptiveClip(1.0, 4.0), delta=1e-5, expected_batch=10, noise_multiplier=2.0
    )
    rows = [
        lines.begun(plan, private=True, looks=Looks(parameters=23, units=8)),
        lines.released(plan, plan.hash, 0, bound=1.0),
    ]
    made = renyi.statement(replay(written(tmp_path / "run.jsonl", rows)), data_covered="rows")
    assert made.guarantee.unit == "example"
    assert made.ran is Ran.RECORDED
    assert "begins at 1" in made.clipping
    assert "no leak was found" in made.record
    assert any("1 of 2 planned steps" in line for line in made.record)
    assert made.odds is not None
    assert Statement.from_json(made.to_json()) == made
    shown = run("report", "--journal", tmp_path / "run.jsonl", "--form", "sentence")
    assert shown.exit_code == 0
    assert str(made.guarantee) in shown.stdout
    leak = lines.leaking(release=2, last_clean=0, what="batch norm.")
    seeded = {**rows[0], "private": False}
    bad = renyi.statement(replay(written(tmp_path / "bad.jsonl", [seeded, rows[1], leak])))
    assert (bad.gdp, bad.odds, bad.private) == (None, None, False)
    assert bad.guarantee.epsilon.upper == math.inf
    assert any("LEAK FOUND" in line for line in bad.record)
    assert len(bad.warnings()) == 2
    assert run("report", "--journal", tmp_path / "bad.jsonl").exit_code == 5
    with pytest.raises(InvalidInput, match="drew its own batches"):
        renyi.statement(replay(tmp_path / "run.jsonl"), ran="shuffled")
    assert "norm 1" in FlatClip(1.0).words()
    assert "head to 1" in LayerClip((("head", 1.0),)).words()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: renyi.statement(RUN), "delta"),
        (lambda: renyi.statement(3), "guarantee, an event"),
        (lambda: renyi.statement(Study), "guarantee, an event"),
        (lambda: renyi.statement(Study(), delta=1e-5), "its own"),
        (lambda: renyi.statement(STEP, delta=1e-5, ran="poisson"), "shuffled"),
        (lambda: renyi.statement(STEP, delta=1e-5, unit=" "), "unit"),
        (lambda: renyi.statement(STEP, delta=1e-5, data_covered=""), "data_covered"),
        (lambda: renyi.statement(STEP, delta=1e-5, other_runs="x" * (LONGEST_TEXT + 1)), "other_runs"),
        (
            lambda: renyi.statement(STEP, delta=1e-5, audit="an attack found nothing"),
            r"audit is one of renyi\.training",
        ),
        (lambda: renyi.statement(STEP, delta=1e-5, certificate="proved, see my thesis"), r"Certificate\.from_json"),
        (lambda: renyi.statement(STEP, delta=1e-5, covered="x"), "covered"),
        (lambda: renyi.statement(Laplace(1.0), delta=1e-5, ran="shuffled"), "ran=Gaussian"),
    ],
)
def test_a_wrong_call_is_answered(call, words):
    with pytest.raises(PrivacyError, match=words):
        call()


GOOD = full().to_dict()


def sealed(**changes):
    """A document with other fields and the checksum that fits them."""
    document = {**{name: value for name, value in GOOD.items() if name != "sha256"}, **changes}
    return json.dumps({**document, "sha256": checksum(document)})


REFUSED = {
    "altered": (full().to_json().replace("0.5862", "0.1862", 1), "checksum"),
    "another version": (sealed(version=2), "version 1"),
    "version true": (sealed(version=True), "version 1"),
    "another format": (sealed(format="renyi-event"), "renyi-statement"),
    "a list": ("[]", "renyi-statement"),
    "empty": ("", "cannot be read"),
    "oversized": (" " * 3_000_001, "at most 3,000,000"),
    "deep": ("[" * 100_000, "nested"),
    "a long number": (sealed().replace("1e-05", "1" * 500), "digits"),
    "a mu that its items do not state": (sealed(gdp={**GOOD["gdp"], "regret": 0.5}), "contradict"),
    "an extra field": (sealed(extra=1), "contradict"),
    "a field less": (json.dumps({k: v for k, v in GOOD.items() if k != "audit"}), "checksum"),
    "no guarantee": (sealed(guarantee={}), "guarantee"),
    "a guarantee that was altered": (sealed(guarantee={**GOOD["guarantee"], "method": "mine"}), "checksum"),
}


@pytest.mark.parametrize(("text", "words"), REFUSED.values(), ids=REFUSED)
def test_a_document_that_is_not_as_it_was_written_is_refused(text, words, tmp_path):
    with pytest.raises(InvalidInput, match=words):
        Statement.from_json(text)
    path = tmp_path / "statement.json"
    path.write_text(text, encoding="utf-8")
    shown = run("report", "--filed", path)
    assert shown.exit_code == 2
    assert not shown.stdout


def test_a_statement_that_was_cut_off_is_refused():
    text = full().to_json()
    for end in range(0, len(text) - 1, 97):
        with pytest.raises(MalformedEvent):
            Statement.from_json(text[:end])


@pytest.mark.parametrize("junk", [None, 3, -1.0, "x", [], [1], {}, {"mu": 1}, True], ids=repr)
@pytest.mark.parametrize("field", [name for name in GOOD if name != "sha256"])
def test_junk_in_any_field_is_refused_or_is_the_statement_that_it_says(field, junk):
    text = sealed(**{field: junk})
    try:
        made = Statement.from_json(text)
    except PrivacyError:
        return
    assert json.loads(made.to_json()) == json.loads(text)


def test_nothing_is_imported_because_a_file_names_it():
    inner = {"kind": "mechanism", "name": "antigravity", "version": 1, "parameters": {}}
    event = {**GOOD["guarantee"]["event"], "event": inner}
    guarantee = {name: value for name, value in GOOD["guarantee"].items() if name != "sha256"} | {"event": event}
    guarantee["sha256"] = checksum(guarantee)
    with pytest.raises(PrivacyError, match="antigravity"):
        Statement.from_json(sealed(guarantee=guarantee))
    assert "antigravity" not in sys.modules


ARGUMENTS = ("--noise-multiplier", "1.1", "--rate", "0.01", "--steps", "10")


def test_shuffled_epochs_of_the_command_stay_as_they_were_given():
    sizes = ("--noise-multiplier", "1.1", "--batch-size", "256", "--dataset-size", "60000", "--delta", "1e-5")
    event = renyi.Gaussian(1.1).on(renyi.Shuffled(235)) * 60
    ends = renyi.guarantee(event, delta=1e-5, adjacency="zero-out").epsilon
    shown = json.loads(run("report", *sizes, "--epochs", "60", "--ran", "shuffled", "--json").stdout)
    assert renyi.Guarantee.from_json(json.dumps(shown["guarantee"])).epsilon == ends
    parts = run("report", *sizes, "--epochs", "1.5", "--ran", "shuffled", "--form", "sentence")
    assert "2 epochs" in parts.stdout


@pytest.mark.parametrize("form", ["sentence", "text", "markdown", "json", "yaml", "model-card"])
def test_the_command_writes_every_form(form, tmp_path):
    shown = run("report", *ARGUMENTS, "--delta", "1e-5", "--form", form, "--unit", "person")
    assert shown.exit_code == 0, shown.output
    assert "one person added or removed" in shown.stdout
    out = tmp_path / "out"
    assert run("report", *ARGUMENTS, "--delta", "1e-5", "--form", form, "--unit", "person", "--out", out).exit_code == 0
    assert out.read_text(encoding="utf-8").rstrip("\n") == shown.stdout.rstrip("\n")


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("a.html", "<!doctype html>"),
        ("a.JSON", "{"),
        ("a.md", "# Privacy statement"),
        ("a.yml", "# Written by renyi"),
        ("a", "Privacy"),
    ],
)
def test_the_suffix_of_the_file_chooses_the_form(name, begins, tmp_path):
    assert run("report", *ARGUMENTS, "--delta", "1e-5", "--out", tmp_path / name).exit_code == 0
    assert (tmp_path / name).read_text(encoding="utf-8").startswith(begins)


@pytest.mark.parametrize("wrong", [["a.pdf"], ["a.docx", "--form", "text"], ["a.html", "--form", "json"]])
def test_a_suffix_that_no_form_has_or_another_form_is_refused(wrong, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused = run("report", *ARGUMENTS, "--delta", "1e-5", "--out", *wrong)
    assert refused.exit_code == 2
    assert ".html (html), " in refused.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_command_reads_what_was_filed(tmp_path):
    path = tmp_path / "filed.json"
    path.write_text(full().to_json(), encoding="utf-8")
    assert run("report", "--filed", path).stdout == full().to_text()
    assert run("report", "--filed", path, "--unit", "person").exit_code == 2
    assert run("report", "--filed", path, "--delta", "1e-5").exit_code == 2
    path.write_text(leaked().to_json(), encoding="utf-8")
    assert run("report", "--filed", path).exit_code == 5
    answer = renyi.guarantee(STEP, delta=1e-5)
    path.write_text(answer.to_json(), encoding="utf-8")
    filed = json.loads(run("report", "--filed", path, "--json").stdout)
    assert Guarantee.from_json(json.dumps(filed["guarantee"])) == answer
    path.write_text((STEP * 20).to_json(), encoding="utf-8")
    assert "WARNING" in run("report", *ARGUMENTS, "--delta", "1e-5", "--ran", path, "--form", "sentence").stdout
    assert run("report", *ARGUMENTS).exit_code == 2
    assert run("report", "--filed", tmp_path / "none.json").exit_code == 2
    assert run("report", *ARGUMENTS, "--delta", "1e-5", "--out", tmp_path).exit_code == 2


def test_the_command_checks_a_certificate_and_prints_its_number(tmp_path):
    path, asked = tmp_path / "made.json", ["--noise-multiplier", "2", "--steps", "10", "--delta", "1e-5"]
    assert run("certify", *asked, "--out", path).exit_code == 0
    proved = rounded_up(renyi.certificates.Certificate.from_json(path.read_bytes()).epsilon)
    shown = run("report", *asked, "--certificate", path)
    assert shown.exit_code == 0, shown.output
    assert f"epsilon {proved} at delta 1e-05 is proved in ball arithmetic" in " ".join(shown.stdout.split())
    document = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**document, "epsilon": 0.99 * document["epsilon"]}), encoding="utf-8")
    assert run("report", *asked, "--certificate", path).exit_code == 9
    assert run("report", *asked, "--certificate", tmp_path / "none.json").exit_code == 2


def test_a_certificate_is_checked_and_its_number_is_printed():
    run = Gaussian(2.0) * 10
    made = renyi.certify(run, delta=1e-5)
    stated = renyi.statement(run, delta=1e-5, certificate=made)
    item = next(item for item in stated.items() if item.name == "certificate")
    assert item.known
    assert f"epsilon {rounded_up(made.epsilon)} at delta 1e-05 is proved in ball arithmetic" in item.said[0]
    assert f"epsilon {rounded_up(made.epsilon)} at delta" in stated.to_text()
    assert f"Certified: epsilon {rounded_up(made.epsilon)} at delta 1e-05 is proved" in str(stated)
    assert item.said == (stated.guarantee.certificate,)
    assert renyi.Statement.from_json(stated.to_json()) == stated
    with pytest.raises(renyi.InvalidInput, match="another event, delta or adjacency"):
        renyi.statement(run, delta=1e-6, certificate=made)
    with pytest.raises(renyi.InvalidInput, match="refused"):
        renyi.statement(run, delta=1e-5, certificate=replace(made, epsilon=0.99 * made.epsilon))
