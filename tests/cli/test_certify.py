"""``renyi certify`` and ``renyi verify``, from the command line to the exit code."""

from __future__ import annotations

import hashlib
import json

import pytest
from typer.testing import CliRunner

import renyi
from renyi.certificates import Certificate
from renyi.cli.main import app

RUN = ["--noise-multiplier", "2", "--steps", "10", "--delta", "1e-5"]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("certificates") / "made.json"
    done = CliRunner().invoke(app, ["certify", *RUN, "--out", str(path)])
    assert done.exit_code == 0, done.output
    return path


def test_a_certificate_is_written_and_verified(file):
    truth = renyi.Exact().epsilon(renyi.Gaussian(2.0) * 10, delta=1e-5)
    done = CliRunner().invoke(app, ["verify", str(file)])
    assert done.exit_code == 0
    assert truth.lower <= float(done.stdout) <= truth.lower * (1.0 + 1e-4)
    assert "Proved: 10 releases of Gaussian noise" in done.stderr
    event = json.loads(file.read_text(encoding="utf-8"))["event"]["event"]
    assert f"The event is {json.dumps(event)}" in " ".join(done.stderr.split())


def test_without_a_file_it_is_printed_and_read_from_standard_input():
    made = CliRunner().invoke(app, ["certify", *RUN, "--route", "renyi"])
    assert json.loads(made.stdout)["relations"]["remove"]["route"] == "renyi"
    done = CliRunner().invoke(app, ["verify", "-", "--bits", "200", "--json"], input=made.stdout)
    assert done.exit_code == 0
    assert json.loads(done.stdout) == json.loads(made.stdout)


def test_exit_codes(file, tmp_path):
    altered = tmp_path / "altered.json"
    document = json.loads(file.read_text(encoding="utf-8"))
    altered.write_text(json.dumps({**document, "epsilon": 0.99 * document["epsilon"]}), encoding="utf-8")
    done = CliRunner().invoke(app, ["verify", str(altered)])
    assert (done.exit_code, done.stdout) == (9, "")
    assert "the certificate is refused" in done.stderr
    missing = CliRunner().invoke(app, ["verify", str(tmp_path / "missing.json")])
    assert missing.exit_code == 2
    sampled = ["--noise-multiplier", "2", "--sampling", "without_replacement:batch=2,dataset=60", "--steps", "10"]
    unsupported = CliRunner().invoke(app, ["certify", *sampled, "--delta", "1e-5", "--adjacency", "replace-one"])
    assert unsupported.exit_code == 3
    assert "Tight certificates cover" in unsupported.stderr


def test_the_hash_that_is_filed_is_that_of_the_file(tmp_path):
    path = tmp_path / "made.json"
    made = CliRunner().invoke(app, ["certify", *RUN, "--out", str(path)])
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert digest in made.stderr
    assert digest in CliRunner().invoke(app, ["verify", str(path)]).stderr
    shown = CliRunner().invoke(app, ["certify", *RUN]).stdout
    assert shown.encode() == path.read_bytes()
    assert f"whose SHA-256 is {digest}" in Certificate.from_json(path.read_text()).words()


@pytest.mark.parametrize("what", ["a statement", "a guarantee", "an event"])
def test_another_document_of_ours_is_called_by_its_name(what, tmp_path):
    event, path = renyi.Gaussian(2.0) * 10, tmp_path / "other.json"
    answer = renyi.guarantee(event, delta=1e-5)
    made = {"a statement": renyi.statement(answer), "a guarantee": answer, "an event": event}[what]
    path.write_text(made.to_json(), encoding="utf-8")
    done = CliRunner().invoke(app, ["verify", str(path)])
    assert (done.exit_code, done.stdout) == (9, "")
    assert f"this is {what} and no certificate" in done.stderr
