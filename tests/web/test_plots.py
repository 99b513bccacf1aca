"""The plots' numbers are those of the library, and never on the wrong side."""

from __future__ import annotations

import math

import pytest

import renyi
from renyi import Adjacency, Gaussian, Laplace, Poisson, RandomAllocation, Shuffled, WithoutReplacement
from renyi.errors import InvalidInput
from renyi.numerics.printing import rounded_down, rounded_up
from renyi.web.answers.curves import NOTES, PANELS, curve, drawn
from renyi.web.answers.samplers import samplers
from renyi.web.form import Form, other_form
from renyi.web.layout import PLOTS

FORM = Form(by="rate", rate="0.1", steps="20", noise="2", delta="1e-5")
RUN = Gaussian(2.0).on(Poisson(0.1)) * 20
EXACT = renyi.guarantee(RUN, delta=1e-5).epsilon.upper


def lines(found):
    return {line["label"]: line for line in found["lines"]}


def test_there_is_a_note_and_a_title_for_every_plot():
    assert list(PANELS) == list(NOTES) == list(PLOTS)


def test_epsilon_by_steps():
    found = lines(curve(FORM, "steps"))
    for steps, spent in zip(found[""]["x"], found[""]["y"], strict=True):
        assert spent == renyi.epsilon(Gaussian(2.0).on(Poisson(0.1)) * int(steps), delta=1e-5)
    assert found["after 20 steps"]["y"] == (EXACT,)


def test_the_profile_lies_above_the_truth():
    found = lines(curve(FORM, "profile"))[""]
    for k in range(0, len(found["x"]), 97):
        assert found["y"][k] >= renyi.guarantee(RUN, epsilon=found["x"][k]).answer.lower


def test_the_renyi_curve_lies_above_the_truth():
    found = lines(curve(FORM, "renyi"))[""]
    for k in range(0, len(found["x"]), 211):
        assert found["y"][k] >= renyi.divergence(RUN, order=found["x"][k])


def test_the_trade_off_curve_and_what_is_read_off_it():
    found = curve(FORM, "trade-off")
    best = lines(found)["best attack"]
    risk = renyi.risk(RUN)
    for k in range(0, len(best["x"]), 9):
        assert best["y"][k] == pytest.approx(risk.false_negative_rate(best["x"][k]).lower, rel=1e-9)
        caught = 100.0 * risk.true_positive_rate(best["x"][k]).upper
        said = float(found["said"][k].split(" at most ")[1].split(" %")[0])
        assert caught * (1.0 - 1e-12) <= said <= caught + 1e-3


def test_the_one_point_lies_below_the_curve_and_touches_what_it_says():
    found = lines(curve(FORM, "trade-off"))
    (label,) = (label for label in found if label.startswith("all that"))
    assert rounded_up(EXACT) in label
    point = found[label]
    for rate, missed in zip(point["x"], point["y"], strict=True):
        assert missed <= renyi.trade_off(RUN, fpr=rate) + 1e-9
        said = max(0.0, 1.0 - 1e-5 - math.exp(EXACT) * rate, math.exp(-EXACT) * (1.0 - 1e-5 - rate))
        assert missed == pytest.approx(said, abs=1e-12)


def test_two_runs_are_drawn_together_at_the_same_delta():
    form = Form(by="rate", rate="0.1", steps="20", noise="2", beside="by=rate&rate=0.1&steps=20&noise=4&delta=1e-9")
    found = lines(curve(form, "steps"))
    other = renyi.epsilon(Gaussian(4.0).on(Poisson(0.1)) * 20, delta=1e-5)
    assert found["after 20 steps, this run"]["y"] == (EXACT,)
    assert found["after 20 steps, other run"]["y"] == (other,)


def test_two_runs_stand_on_the_page_and_can_be_exchanged(ask):
    text = ask("/answer", noise="2", beside="noise=4").text
    assert "The other run" in text
    assert "multiplier 2" in text
    assert "multiplier 4" in text
    assert 'href="/?noise=4&amp;beside=noise%3D2"' in text
    assert other_form(Form(beside="noise=4&beside=noise%3D9")) == Form(noise="4")


def test_another_run_that_is_none_is_said_beside_the_answer(ask):
    found = ask("/answer", noise="2", beside="noise=x")
    assert found.status_code == 200
    assert "multiplier 2" in found.text
    assert "is not a number" in found.text
    assert "there is no field" in ask("/answer", beside="a=1").text
    assert "address of this page" in ask("/answer", beside="&".join(["a=1"] * 99)).text


@pytest.mark.parametrize("kind", PANELS)
def test_without_a_script_plots_are_drawn_by_the_server(kind):
    found = drawn(FORM, kind)
    assert found["svg"].startswith("<svg")
    assert "<script" not in found["svg"]
    assert "style=" not in found["svg"]


def test_plots_that_cannot_be_drawn_say_why(ask):
    assert ask("/curve", kind="pie").status_code == 422
    assert "the plots are" in ask("/curve", kind="pie").json()["refused"]
    assert "nothing to draw" in ask("/curve", kind="profile", noise="0").json()["refused"]
    assert ask("/curve", kind="profile", noise="x").status_code == 422
    with pytest.raises(InvalidInput, match="between 0 and 1"):
        curve(Form(delta="0", noise="2", by="rate", rate="1", steps="1"), "renyi")


def test_samplers_side_by_side_are_the_librarys_numbers():
    found = samplers(Form(batch="25", dataset="100", epochs="2", noise="2"))
    release = Gaussian(2.0)
    events = {
        "Poisson": release.on(Poisson(0.25)) * 8,
        "fixed size": release.on(WithoutReplacement(25, 100)) * 8,
        "allocation": release.on(RandomAllocation(4)) * 2,
        "shuffled": release.on(Shuffled(4)) * 2,
    }
    assert [row["name"] for row in found["rows"]] == list(events)
    for row in found["rows"]:
        for cell, adjacency in zip(row["cells"], Adjacency, strict=True):
            try:
                ends = renyi.guarantee(events[row["name"]], delta=1e-5, adjacency=adjacency).epsilon
            except renyi.UnsupportedError:
                assert "no" in cell["none"]
                assert "Adjacency" not in cell["none"]  # which is for programs
                continue
            assert cell == {"lower": rounded_down(ends.lower), "upper": rounded_up(ends.upper)}


def test_epochs_of_batches_that_do_not_divide_the_data_stay_as_they_were_given():
    form = Form(batch="256", dataset="60000", epochs="60", noise="1.1")
    shuffled = renyi.guarantee(Gaussian(1.1).on(Shuffled(235)) * 60, delta=1e-5, adjacency="zero-out").epsilon
    shown = samplers(form)["rows"][-1]["cells"][list(Adjacency).index(Adjacency.ZERO_OUT)]
    assert shown == {"lower": rounded_down(shuffled.lower), "upper": rounded_up(shuffled.upper)}


@pytest.mark.parametrize(
    "whole",
    [
        {"event": (Gaussian(2.0).on(Poisson(0.1)) * 20).to_json()},
        {"noise": "", "more": "gaussian:noise_multiplier=2 on poisson:rate=0.1 times 20"},
    ],
)
def test_fields_that_do_not_describe_the_run_are_not_read(whole):
    assert samplers(Form(**whole))["rows"] == samplers(Form(by="rate", rate="0.1", steps="20", noise="2"))["rows"]


def test_samplers_are_compared_for_equal_steps_alone(ask):
    assert ask("/samplers", more="laplace:noise_multiplier=1").status_code == 422
    assert ask("/samplers", solve="delta").status_code == 422
    found = samplers(Form(by="rate", rate="0.1", steps="20", noise="2"))
    assert all("batch by" in cell["none"] or "by batch" in cell["none"] for cell in found["rows"][1]["cells"])


def test_a_composition_has_the_plots_that_make_sense():
    form = Form(by="rate", rate="1", steps="1", noise="2", more="laplace:noise_multiplier=10")
    assert curve(form, "profile")["lines"]
    assert (
        renyi.epsilon(Gaussian(2.0) + Laplace(10.0), delta=1e-5)
        in lines(curve(form, "profile"))[
            next(label for label in lines(curve(form, "profile")) if label.startswith("ε"))
        ]["x"]
    )
    with pytest.raises(InvalidInput, match="how often"):
        curve(form, "steps")
