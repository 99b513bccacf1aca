"""Every form of a statement: as it was looked at, complete, safe to parse, with numbers on the safe side."""

from __future__ import annotations

import html
import json
import math
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
import yaml
from huggingface_hub import ModelCard
from jsonschema import Draft202012Validator

import renyi
from renyi import Adjacency, Gaussian, Grouped, Interval, Laplace, Poisson, Statement
from renyi.report import schema
from renyi.report.forms.markdown import escaped
from tests.report.cases import CASES, FORMS, GOLDEN, RUN, full, page, promised, written

ITEMS = [
    "unit",
    "adjacency",
    "data_covered",
    "data_not_covered",
    "epsilon",
    "gdp",
    "risk",
    "sampler_run",
    "sampler_accounted",
    "method",
    "composition",
    "search",
    "other_runs",
    "noise",
    "clipping",
    "steps",
    "assumptions",
    "record",
    "references",
    "certificate",
    "audit",
]
REGISTRY = {
    "basic": "name data_curators description intended_use data_product_type data_product_region data_product_sector "
    "publication_date",
    "dp_variant": "variant_name data_domain unprotected_quantities",
    "privacy_loss": "privacy_unit privacy_unit_details number_of_privacy_units privacy_parameters privacy_parameters_details",
    "deployment_model": "model_name model_name_details trust_assumptions actors release_type release_type_details "
    "data_source_type data_source_type_details access_type access_type_details",
    "implementation": "preprocessing_and_hyperparameter_tuning mechanisms composition post_processing justification utility "
    "additional_information",
    "administrative": "evidence_sources status registry_authors tier",
}
"""The fields of the registry's template, github.com/opendp/deployments-registry-data at 057e5d8; it takes no others."""


@pytest.mark.parametrize("form", [*FORMS, "html"])
@pytest.mark.parametrize("case", CASES)
def test_a_form_is_as_it_was_looked_at(case, form):
    assert written(case, form) == (GOLDEN / f"{case}.{form}").read_text(encoding="utf-8")


@pytest.mark.parametrize("case", CASES)
def test_every_item_stands_in_every_form_or_is_said_to_be_absent(case):
    made = CASES[case]()
    assert [item.name for item in made.items()] == ITEMS
    absent = {item.name for item in made.items() if not item.known}
    assert (
        absent
        == {
            "full": {"search"},
            "shuffled": {"data_covered", "data_not_covered", "gdp", "search", "other_runs", "clipping", "record"}
            | {"certificate", "audit"},
            "leaked": {"data_covered", "data_not_covered", "gdp", "risk", "other_runs", "clipping"}
            | {"certificate", "audit"},
        }[case]
    )
    document = yaml.safe_load(made.to_yaml())
    filed = "\n".join(text for text in leaves(document) if isinstance(text, str))
    spaced = " ".join(made.to_text().split())
    shown, markdown, card = page(case), made.to_markdown(), made.to_model_card()
    for item in made.items():
        for line in item.said:
            assert line
            assert line in spaced
            assert escaped(line) in markdown
            assert escaped(line) in card
            assert html.escape(line) in shown
            assert line in filed
    for warning in made.warnings():
        assert warning in spaced
        assert warning in str(made)
        assert warning in filed
        assert escaped(warning) in markdown
        assert html.escape(warning) in shown


def leaves(values):
    if isinstance(values, dict):
        return [leaf for value in values.values() for leaf in leaves(value)]
    return [leaf for value in values for leaf in leaves(value)] if isinstance(values, list) else [values]


@pytest.mark.parametrize("case", CASES)
def test_the_json_validates_and_is_read_back(case):
    Draft202012Validator.check_schema(schema())
    made = CASES[case]()
    Draft202012Validator(schema()).validate(json.loads(made.to_json()))
    assert Statement.from_json(made.to_json()) == made
    assert Statement.from_json(made.to_json().encode()) == made
    assert renyi.from_json(json.dumps(made.to_dict()["guarantee"]["event"])) == made.guarantee.event.canonical()


def test_the_schema_refuses_what_is_no_statement():
    good = json.loads(full().to_json())
    check = Draft202012Validator(schema())
    for wrong in (
        {**good, "version": 2},
        {**good, "extra": 1},
        {**good, "items": good["items"][1:]},
        {**good, "items": good["items"][::-1]},
        {name: value for name, value in good.items() if name != "audit"},
        {**good, "guarantee": {**good["guarantee"], "adjacency": "near"}},
        {**good, "gdp": {**good["gdp"], "floor": -1}},
    ):
        assert not check.is_valid(wrong)


@pytest.mark.parametrize("case", CASES)
def test_the_registry_gets_its_own_fields_and_numbers(case):
    made = CASES[case]()
    entry = yaml.safe_load(made.to_yaml())
    assert set(entry) == {"url_slug", "deployment"}
    assert set(entry["deployment"]) == set(REGISTRY)
    for part, names in REGISTRY.items():
        assert set(entry["deployment"][part]) <= set(names.split())
    loss = entry["deployment"]["privacy_loss"]
    upper = made.guarantee.epsilon.upper
    assert loss["privacy_parameters"] == {
        **({"epsilon": pytest.approx(upper, rel=1e-5)} if upper < math.inf else {}),
        "delta": 1e-5,
    }
    assert str(made.guarantee) in loss["privacy_parameters_details"]


@pytest.mark.parametrize("case", CASES)
def test_the_hub_reads_the_metadata_of_the_model_card(case):
    made = CASES[case]()
    found = ModelCard(made.to_model_card()).data.to_dict()
    assert found["tags"] == ["differential-privacy"]
    told = found["differential_privacy"]
    assert told["delta"] == 1e-5
    assert told["epsilon"] >= made.guarantee.epsilon.upper
    assert told["epsilon_lower"] <= made.guarantee.epsilon.lower
    assert (told["unit"], told["adjacency"]) == (made.guarantee.unit, made.guarantee.adjacency.value)
    assert tuple(told.get("warnings", ())) == made.warnings()


class Parsed(HTMLParser):
    """Tags that are open, and every address that a page names."""

    EMPTY = {"meta", "br", "use", "path", "circle", "polyline"}

    def __init__(self):
        super().__init__()
        self.open, self.addresses, self.tags = [], [], set()

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.addresses += [value for name, value in attributes if name in ("src", "href", "action", "data")]
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.EMPTY:
            assert self.open.pop() == tag


@pytest.mark.parametrize("case", CASES)
def test_the_page_is_well_formed_and_needs_nothing_from_elsewhere(case):
    found, text = Parsed(), page(case)
    found.feed(text)
    assert found.open == []
    assert set(found.addresses) <= {"#person"}
    assert not found.tags & {"script", "link", "img", "iframe", "object"}
    assert "url(" not in text
    assert "@import" not in text
    assert "http" not in text.replace("http-equiv", "")
    for rule in ("prefers-color-scheme: dark", "@media print", "default-src 'none'"):
        assert rule in text


@pytest.mark.parametrize("case", CASES)
def test_a_notebook_shows_sentence_warnings_and_every_item(case):
    made = CASES[case]()
    shown = made._repr_html_()
    assert html.escape(made.said().sentence) in shown
    assert shown.count('<p class="warning">') == len(made.warnings())
    assert shown.count("<tr ") == len(made.items())
    assert "<style>" not in shown  # which would change the whole notebook


def test_curves_are_drawn_where_both_ends_are_known_and_nowhere_else():
    assert page("full").count("<polyline") == 3  # blind guessing, the best attack, the profile
    for case in ("shuffled", "leaked"):
        assert "<polyline" not in page(case)
        assert "No curves are drawn" in page(case)
    pure = renyi.statement(Laplace(5.0), delta=0.0).to_html()  # a profile that ends at delta 0
    assert pure.count("<polyline") == 3


def test_the_curves_of_a_page_are_drawn_without_matplotlib():
    code = (
        "import sys, renyi; renyi.statement(renyi.Gaussian(2.0), delta=1e-5).to_html(); "
        "print([m for m in ('matplotlib', 'torch', 'yaml', 'jsonschema') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_drawn_curve_is_where_the_numbers_are():
    """The trade-off curve of one Gaussian release, in the pixels of the page: f(x) = Phi(Phi^-1(1 - x) - 1/sigma)."""
    from statistics import NormalDist

    drawn = renyi.statement(Gaussian(2.0), delta=1e-5).to_html()
    points = re.findall(r'class="curve" points="([^"]+)"', drawn)[0]
    places = np.array([[float(part) for part in point.split(",")] for point in points.split()])
    rates, missed = (places[:, 0] - 80) / (560 - 14 - 80), (308 - places[:, 1]) / (308 - 12)
    normal = NormalDist()
    for rate, share in zip(rates[1:-1], missed[1:-1], strict=True):
        assert share == pytest.approx(normal.cdf(normal.inv_cdf(1 - rate) - 0.5), abs=4e-3)
    assert len(places) > 20


@pytest.mark.parametrize("seed", range(5))
def test_numbers_are_rounded_to_the_safe_side(seed):
    random = np.random.default_rng(seed)
    for _ in range(40):
        lower, upper = np.sort(random.uniform(0.0, 10.0 ** random.integers(-6, 3), 2))
        made = Statement(guarantee=promised(RUN, float(lower), float(upper)))
        (line,) = made.items()[4].said
        assert float(re.search(r"at most (\S+) at", line)[1]) >= upper
        assert float(re.search(r"at least (\S+)$", line)[1]) <= lower
        told = yaml.safe_load(made.to_yaml())["deployment"]["privacy_loss"]["privacy_parameters"]
        assert told["epsilon"] >= upper


@pytest.mark.parametrize("form", [*FORMS, "html"])
@pytest.mark.parametrize("case", CASES)
def test_epsilon_is_never_without_delta_unit_and_adjacency(case, form):
    made = CASES[case]()
    text = " ".join(written(case, form).replace("\\", "").split())
    for needed in ("1e-05", made.guarantee.adjacency.change(made.guarantee.unit)):
        assert needed in text


HOSTILE = '<script>alert(1)</script>\n---\n| `x` | ![y](http://z) *a* _b_ & "quoted" \\ : # \u202e\x1b[31m\x85 é 😀'


def test_what_an_author_writes_is_text_in_every_form():
    made = replace(full(), data_covered=HOSTILE, audit=HOSTILE, other_runs="- a: b\n  c", guarantee=full().guarantee)
    said = made.items()[2].said[0]
    assert "\x1b" not in said
    assert "\u202e" not in said
    assert "\n" not in said
    found = Parsed()
    found.feed(made.to_html())
    assert "script" not in found.tags
    entry = yaml.safe_load(made.to_yaml())
    assert entry["deployment"]["dp_variant"]["data_domain"] == said
    assert ModelCard(made.to_model_card()).data.to_dict()["tags"] == ["differential-privacy"]
    rows = [line for line in made.to_markdown().splitlines() if line.startswith("| Data covered")]
    assert len(rows) == 1
    assert len(re.findall(r"(?<!\\)\|", rows[0])) == 3
    assert not re.search(r"(?<!\\)<script", made.to_markdown())
    assert Statement.from_json(made.to_json()) == made


def test_a_group_and_several_kinds_of_parts_are_named():
    made = renyi.statement(Grouped(Gaussian(10.0), 3), delta=1e-5, unit="person")
    text = made.to_text()
    assert "a group of 3 persons" in text
    assert "groups of 3 people" in text
    many = renyi.Composed(tuple(Laplace(50.0 + k) for k in range(9))) + Gaussian(9.0).on(Poisson(0.5)) * 2
    items = {item.name: item.said for item in renyi.statement(many, delta=1e-5).items()}
    assert items["steps"] == ("9 releases without sampling; 2 steps",) or items["steps"] == (
        "2 steps; 9 releases without sampling",
    )
    assert items["noise"][-1] == "4 other mechanisms"


def test_neighbours_are_those_of_the_guarantee():
    made = renyi.statement(Gaussian(3.0), delta=1e-5, adjacency=Adjacency.REPLACE_ONE)
    assert "one record replaced by another" in str(made)
    assert made.guarantee.epsilon == renyi.guarantee(Gaussian(3.0), delta=1e-5, adjacency="replace-one").epsilon
    assert isinstance(made.guarantee.answer, Interval)
