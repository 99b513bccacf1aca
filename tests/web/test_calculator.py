"""The calculator's numbers are those of the library and of the command, to the last digit."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from html import unescape

import pytest
from typer.testing import CliRunner

import renyi
from renyi import Gaussian, Laplace, Poisson, WithoutReplacement
from renyi.cli.main import app
from renyi.errors import InvalidInput
from renyi.events.mechanism import MECHANISMS
from renyi.events.sampling import SAMPLINGS
from renyi.web import app as pages
from renyi.web.answers import published
from renyi.web.answers.answer import answer
from renyi.web.form import Form
from renyi.web.runs import asked, releases
from renyi.web.same import source
from tests import examples
from tests.web import agreement

RUN = Gaussian(1.1).on(Poisson(256 / 60_000)) * 14_063


def command(line):
    result = CliRunner().invoke(app, shlex.split(line)[1:])
    assert result.exit_code in (0, 5), result.output
    return result.stdout.strip()


def run_python(program, capsys):
    capsys.readouterr()
    exec(compile(program, "the same in Python", "exec"), {})
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("form", "program"),
    [
        (form, number == 0)
        for number, form in enumerate(agreement.random_forms(1000 if examples.FULL else 7, examples.SEED))
    ],
    ids=lambda one: one.query() if isinstance(one, Form) else "",
)
def test_page_library_and_command_agree_to_the_last_digit(page, form, program):
    html = page.get(f"/answer?{form.query()}").text
    assert agreement.disagreement(form, html, program=program) is None


def test_the_campaign_of_agreement_found_none():
    found = json.loads(agreement.RESULT.read_text(encoding="utf-8"))
    assert (found["runs"], found["of which as programs"], found["disagreements"]) == (1000, 20, [])


def test_the_first_page_shows_the_readmes_number(page):
    found = page.get("/")
    assert found.status_code == 200
    assert "ε ≤ <output>2.38169</output>" in found.text
    exact = renyi.guarantee(RUN, delta=1e-5).epsilon
    assert f'data-exact="{exact.upper!r}"' in found.text
    assert f'data-exact="{exact.lower!r}"' in found.text
    assert str(renyi.guarantee(RUN, delta=1e-5)) in unescape(found.text)


def test_mu_and_odds_are_those_of_the_library(ask):
    mu = renyi.gdp(RUN, delta=1e-5)
    assert f"μ ≤ <output>{mu.to_dict()['mu']['upper']:.6g}"[:14] in ask("/mu").text
    odds = unescape(ask("/odds").text)
    for sentence in renyi.statement(RUN, delta=1e-5).odds.sentences("records")[:2]:
        assert sentence in odds
    assert odds.count('class="person found"') == 5  # 4.02, so that the fifth is filled in part
    assert odds.count('class="person"') == 95


def test_the_page_does_not_wait_for_what_takes_long(page, ask, monkeypatch):
    monkeypatch.setattr(pages, "_SOON", 0.0)
    found = page.get("/?noise=2")
    for name in ("odds", "mu"):
        assert f'<a href="/{name}?noise=2">Wait for it</a>' in found.text
        assert f'id="{name}"' in found.text
        alone = ask(f"/{name}", noise="2")
        assert "Back to the run" in alone.text
        part = page.get(f"/{name}?noise=2", headers={"hx-request": "true"}).text
        assert part.strip() in alone.text
        assert "<html" not in part
    assert found.text.count('hx-trigger="load, input') == 2


def test_published_figures_are_ticks_in_order_and_each_says_where_it_is_from(ask):
    figures = [one.epsilon for one in published.PUBLISHED]
    assert figures == sorted(figures)
    assert all(re.search(r"20\d\d", one.source) for one in published.PUBLISHED)
    text = ask(noise="2").text
    assert text.count('class="known"') == len(figures)
    for one in published.PUBLISHED:
        assert f'<td class="figure">{one.epsilon:g}</td>' in text
        assert one.source in unescape(text)
    found = published.axis(1.0)
    assert found["at"] == 0.5
    assert [tick["at"] for tick in found["decades"]] == pytest.approx([0.0, 0.25, 0.5, 0.75, 1.0])
    assert (published.axis(1e-9)["at"], published.axis(1e9)["at"]) == (0.0, 1.0)
    assert published.axis(0.0) is published.axis(float("inf")) is None
    assert "axis-of-epsilon" not in ask(noise="0").text


SOLVED = {
    "noise": "renyi.calibrate(lambda x: Gaussian(x).on(Poisson(0.01)) * 1000, epsilon=2.0, delta=1e-5)",
    "steps": "renyi.calibrate(lambda n: Gaussian(1.1).on(Poisson(0.01)) * int(n), epsilon=2.0, delta=1e-5, integer=True)",
    "rate": "renyi.calibrate(lambda q: Gaussian(1.1).on(Poisson(q)) * 1000, epsilon=2.0, delta=1e-5)",
}


@pytest.mark.parametrize("name", SOLVED)
def test_what_is_solved_for_is_what_the_library_finds(name, capsys):
    form = Form(solve=name, by="rate", rate="0.01", steps="1000")
    found = answer(form)
    value = eval(SOLVED[name], {"renyi": renyi, "Gaussian": Gaussian, "Poisson": Poisson})
    assert float(found["solved"]["value"]) == value
    first, sentence = run_python(found["python"], capsys)
    assert float(first) == value
    assert sentence == found["sentence"]
    if name != "rate":
        assert float(command(found["shell"])) == value
    assert float(found["upper"]) <= 2.0


def test_a_batch_size_is_found_whose_epochs_fit_and_the_next_do_not():
    found = answer(Form(solve="rate"))
    batch = int(found["solved"]["value"])
    assert float(found["exact"]["upper"]) <= 2.0
    assert float(answer(Form(batch=str(batch)))["exact"]["upper"]) == float(found["exact"]["upper"])
    assert float(answer(Form(batch=str(batch + 1)))["exact"]["upper"]) > 2.0


LINES = {
    "laplace:noise_multiplier=10 times 3": Laplace(10.0) * 3,
    "gaussian:noise_multiplier=2 on without_replacement:batch=256,dataset=60000 times 1e2": (
        Gaussian(2.0).on(WithoutReplacement(256, 60_000)) * 100
    ),
    "gaussian:noise_multiplier=2 + laplace:noise_multiplier=1e+1 on poisson:rate=1/100": (
        (Gaussian(2.0) + Laplace(10.0)).on(Poisson(0.01))
    ),
    "# a remark\n\nlaplace:noise_multiplier=4\nlaplace:noise_multiplier=5": Laplace(4.0) + Laplace(5.0),
}


@pytest.mark.parametrize("line", LINES)
def test_lines_of_further_releases(line):
    assert releases(line).canonical() == LINES[line].canonical()
    assert asked(Form(noise="", more=line)).run.canonical() == LINES[line].canonical()
    assert asked(Form(more=line)).run.canonical() == (RUN + LINES[line]).canonical()


def test_a_composition_is_the_same_in_python_and_in_the_shell(capsys):
    found = answer(Form(by="rate", rate="0.01", steps="100", more="laplace:noise_multiplier=10 times 3", delta="1e-6"))
    assert run_python(found["python"], capsys) == [found["sentence"]]
    printf, _, renyi_command = found["shell"].partition("|\n")
    result = CliRunner().invoke(app, shlex.split(renyi_command)[1:], input=shlex.split(printf)[2])
    assert result.stdout.strip() == found["upper"]


EVENTS = [
    *(one for name in MECHANISMS.names() for one in MECHANISMS.get(name).examples()),
    *(Laplace(2.0).on(one) for name in SAMPLINGS.names() for one in SAMPLINGS.get(name).examples()),
    *examples.EVENTS,
]


def test_the_source_of_an_event_is_the_event():
    written = 0
    for event in EVENTS:
        try:
            event.to_json()
        except renyi.NotSerialisable:
            continue
        assert eval(source(event), {"renyi": renyi}) == event
        written += "from_json" not in source(event)
    assert written > 30


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"noise": "x"}, "'x' is not a number"),
        ({"noise": "nan"}, "noise_multiplier must be"),
        ({"noise": ""}, "say what was released"),
        ({"delta": ""}, "delta is empty"),
        ({"delta": "2"}, "delta must be"),
        ({"epochs": "-1"}, "must be >= 0"),
        ({"by": "rate", "steps": "1.5"}, "not a whole number"),
        ({"by": "rate", "rate": "2"}, "rate must be"),
        ({"by": "rate", "rate": "1e999999999"}, "not a number"),
        ({"by": "else"}, "one of rate, sizes"),
        ({"solve": "everything"}, "one of epsilon, delta"),
        ({"adjacency": "friends"}, "adjacency must be"),
        ({"more": "laplac:noise_multiplier=1"}, "Did you mean 'laplace'"),
        ({"more": "laplace:noise_multiplier=1 times many"}, "not a whole number"),
        ({"more": "laplace:noise_multiplier=1 on tuesdays"}, "unknown sampling"),
        ({"more": "\n".join(["laplace:noise_multiplier=1"] * 201)}, "at most 200 lines"),
        ({"event": "{}"}, "format"),
        ({"event": "[" * 4000}, "nested"),
        ({"event": RUN.to_json(), "more": "laplace:noise_multiplier=1"}, "whole run"),
        ({"event": RUN.to_json(), "solve": "noise"}, "has all its figures"),
        ({"noise": "", "more": "laplace:noise_multiplier=1", "solve": "steps"}, "give the noise multiplier"),
        ({"solve": "noise", "by": "rate", "rate": "0"}, "nothing is released"),
        ({"noise": "1" * 61}, "60 characters"),
        ({"nothing": "1"}, "there is no field 'nothing'"),
        ({"more": "<script>alert(1)</script>"}, "<script>"),
    ],
)
def test_bad_input_is_refused_in_words_on_the_page(ask, fields, words):
    found = ask(**fields)
    assert found.status_code == 422
    assert "No answer" in found.text
    assert words in unescape(found.text)
    assert "<script" not in found.text
    assert ask("/", **fields).status_code == 422


def test_a_field_that_is_given_twice_or_garbled_is_refused(page):
    assert "given twice" in page.get("/answer?noise=1&noise=2").text
    assert page.get("/answer?noise=%ff").status_code == 422
    assert page.get("/answer?" + "&".join(f"a{k}=1" for k in range(100))).status_code == 422


def test_a_form_and_its_address_are_the_same():
    form = Form(noise="2", more="laplace:noise_multiplier=10", beside="noise=3&delta=1e-6")
    from urllib.parse import parse_qsl

    assert Form.of(parse_qsl(form.query(), keep_blank_values=True)) == form
    assert Form().query() == ""
    with pytest.raises(InvalidInput, match="characters"):
        Form(more="a" * 12_001)


def test_a_delta_above_one_over_the_records_is_remarked(ask):
    assert "above 1/n = 1.66667e-05" in ask("/answer", delta="0.01").text
    assert "above 1/n" not in ask("/answer", delta="0.01", by="rate").text
    assert "above 1/n" not in ask("/answer", delta="0.01", noise="", more="laplace:noise_multiplier=1").text


def test_a_run_without_noise_promises_nothing_and_says_so(ask):
    found = ask(noise="0")
    assert found.status_code == 200
    assert "has no upper end" in found.text
    assert "promises nothing" in found.text
    assert "safe to publish" in ask().text
    for nothing in ({"noise": "0"}, {"delta": "1"}, {"noise": "0", "solve": "delta"}):
        assert "safe to publish" not in ask(**nothing).text
    assert ask("/", noise="0").status_code == 200


@pytest.mark.parametrize("kind", ["sentence", "text", "markdown", "html", "json", "yaml", "model-card"])
def test_statements_are_those_of_the_library(ask, kind):
    found = ask("/statement", form=kind, noise="3", by="rate", rate="1", steps="1")
    assert found.status_code == 200
    assert "attachment" in found.headers["content-disposition"]
    made = renyi.statement(Gaussian(3.0), delta=1e-5)
    written = {"sentence": str, "text": type(made).to_text, "json": type(made).to_json}
    if kind in written:
        assert found.text.strip() == written[kind](made).strip()


def test_a_statement_in_no_known_form_is_refused(ask):
    assert ask("/statement", form="pdf").status_code == 422
    assert ask("/statement", form="html", noise="x").status_code == 422


def test_the_event_goes_out_and_comes_back(ask):
    text = ask("/event.json", more="laplace:noise_multiplier=10").text
    assert renyi.from_json(text) == (RUN + Laplace(10.0)).canonical()
    assert answer(Form(event=text))["upper"] == answer(Form(more="laplace:noise_multiplier=10"))["upper"]
    filed = renyi.guarantee(RUN, delta=1e-5).to_json()
    assert answer(Form(event=filed))["upper"] == "2.38169"


def test_a_worker_answers_like_the_library_and_ends_with_its_input():
    lines = '["answer", {"noise": "2"}]\n["answer", {"noise": "x"}]\n'
    done = subprocess.run(
        [sys.executable, "-P", "-m", "renyi.web.working"], input=lines, capture_output=True, text=True, check=True
    )
    ready, first, second = done.stdout.splitlines()
    assert ready == "ready"
    assert answer(Form(noise="2"))["sentence"] in first
    assert re.search(r'"refused": "\'x\' is not a number', second)
