"""The drawings of events: labels with units, the guarantee in the caption, and the numbers of the public API."""

from __future__ import annotations

import importlib.util
import math
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure
from matplotlib.text import Text

import renyi
from renyi import (
    ZCDP,
    ApproximateDP,
    Classical,
    Exact,
    FinitePair,
    Gaussian,
    InvalidInput,
    Laplace,
    LossGrid,
    Poisson,
    PrivacyError,
    PureDP,
    RandomizedResponse,
    Rdp,
    UnsupportedError,
    plots,
)
from renyi.accountants import Accountant
from renyi.numerics.printing import rounded_up
from renyi.plots import profile
from renyi.plots.drawing import caption_of

MNIST = Gaussian(1.1).on(Poisson(256 / 60_000)) * 14_063
RUNS = {
    "sampled gaussian": Gaussian(1.1).on(Poisson(0.1)) * 12,
    "gaussian": Gaussian(3.0) * 7,
    "laplace": Laplace(2.0) * 2,
    "randomized response": RandomizedResponse(0.75) * 5,
}
DRAWINGS = {
    "curve": plots.renyi_curve,
    "steps": plots.epsilon_by_steps,
    "profile": plots.privacy_profile,
    "trade-off": plots.trade_off,
    "accountants": plots.accountants,
}


@pytest.fixture
def axes():
    """Fresh axes that belong to nobody else."""
    return lambda: Figure().add_subplot()


def points(ax, index):
    line = ax.lines[index]
    return np.array(line.get_xdata(), dtype=float), np.array(line.get_ydata(), dtype=float)


def as_drawn(ax, index, x):
    """The height of a line of the drawing between its points: straight on the axes, whatever their scales."""
    places, heights = points(ax, index)
    across = np.log if ax.get_xscale() == "log" else np.asarray
    if ax.get_yscale() == "log":
        return np.exp(np.interp(across(x), across(places), np.log(heights)))
    return np.interp(across(x), across(places), heights)


@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS)
def test_a_drawing_has_labels_units_and_the_guarantee(axes, draw):
    given = axes()
    ax = draw(MNIST, delta=1e-5, ax=given)
    assert ax is given
    assert ax.get_title(loc="left")
    assert "(" in ax.get_xlabel()
    assert ax.get_ylabel() == "accountant" or "(" in ax.get_ylabel()
    accountant = Rdp() if draw is plots.renyi_curve else None
    assert str(renyi.guarantee(MNIST, delta=1e-5, accountant=accountant)) in caption_of(ax)


@pytest.mark.parametrize("event", RUNS.values(), ids=RUNS)
def test_the_curve_is_the_divergence_and_the_mark_the_chosen_order(axes, event):
    ax = plots.renyi_curve(event, delta=1e-6, ax=axes())
    orders, values = points(ax, 0)
    assert orders[0] == 1.0
    assert list(values[:-1]) == list(renyi.divergence(event, order=orders))[1:]
    chosen = renyi.guarantee(event, delta=1e-6, accountant=Rdp()).order
    (order,), (height,) = points(ax, 1)
    assert (order, height) == (chosen, renyi.divergence(event, order=chosen))


@pytest.mark.parametrize("event", [*RUNS.values(), MNIST, ZCDP(0.5).on(Poisson(0.01))], ids=repr)
def test_the_drawn_curve_is_nowhere_below_the_divergence(axes, event):
    """Of the MNIST run straight lines between 240 orders lay 13 % below it, where the curve bends at order 14."""
    ax = plots.renyi_curve(event, delta=1e-5, ax=axes())
    orders, _ = points(ax, 0)
    between = np.sqrt(orders[:-1] * orders[1:])
    truth = renyi.divergence(event, order=between)
    assert (as_drawn(ax, 0, between) >= truth * (1 - 1e-13)).all()
    assert (as_drawn(ax, 0, between / 1.02)[10:] <= truth[10:]).all()  # nor far to the left of it


@pytest.mark.parametrize("event", [Gaussian(4.0) * 10, PureDP(0.5)], ids=repr)
def test_the_caption_of_the_curve_says_whose_epsilon_it_is(axes, event):
    caption = caption_of(plots.renyi_curve(event, delta=1e-6, ax=axes()))
    best = renyi.guarantee(event, delta=1e-6)
    assert str(renyi.guarantee(event, delta=1e-6, accountant=Rdp())) in caption
    assert (f"epsilon is {rounded_up(best.epsilon.upper)} at the same delta by {best.method}" in caption) == (
        best.epsilon.upper < Rdp().epsilon(event, delta=1e-6).upper
    )


def test_pure_dp_is_marked_by_its_largest_loss(axes):
    ax = plots.renyi_curve(PureDP(0.5), delta=0.0, ax=axes())
    assert list(points(ax, 1)[1]) == [renyi.divergence(PureDP(0.5), order=math.inf)] * 2


@pytest.mark.parametrize("event", RUNS.values(), ids=RUNS)
def test_the_steps_are_the_epsilons_of_the_repeated_step(axes, event):
    ax = plots.epsilon_by_steps(event, delta=1e-6, ax=axes())
    counts, spent = points(ax, 0)
    assert (counts[0], counts[-1]) == (1, event.count)
    assert list(spent) == list(renyi.epsilon([event.event * int(n) for n in counts], delta=1e-6))
    assert points(ax, 1)[1][0] == renyi.epsilon(event, delta=1e-6)
    assert "guides the eye" not in caption_of(ax)  # all of them are computed


def test_of_a_long_run_the_counts_that_are_computed_are_marked(axes):
    ax = plots.epsilon_by_steps(Laplace(3.0), delta=1e-6, steps=1000, accountant=Rdp(), ax=axes())
    assert "Computed where the markers are; the line between them only guides the eye." in caption_of(ax)
    assert (ax.lines[0].get_marker(), ax.lines[0].get_markevery()) == ("o", 1)


def test_any_event_can_be_repeated(axes):
    ax = plots.epsilon_by_steps(Laplace(3.0), delta=1e-6, steps=40, accountant=Rdp(), ax=axes())
    assert points(ax, 0)[1][-1] == renyi.epsilon(Laplace(3.0) * 40, delta=1e-6, accountant=Rdp())
    both = Laplace(3.0) + Gaussian(2.0)
    ax = plots.epsilon_by_steps(both, delta=1e-6, steps=3, ax=axes())
    assert points(ax, 0)[1][-1] == renyi.epsilon(both * 3, delta=1e-6)
    for event in (Laplace(3.0), both * 3):  # canonical form repeats the two apart
        with pytest.raises(InvalidInput, match="pass a run such as"):
            plots.epsilon_by_steps(event, delta=1e-6, ax=axes())
    with pytest.raises(InvalidInput, match="steps must be an integer >= 1"):
        plots.epsilon_by_steps(Laplace(3.0), delta=1e-6, steps=0, ax=axes())


PROFILES = {
    "sampled gaussian": RUNS["sampled gaussian"],
    "randomized response": RUNS["randomized response"],
    "mnist": MNIST,
    "pure": PureDP(0.5),
    "a mass at infinity": ApproximateDP(1.0, 1e-9) * 3,
    "a rare loss": FinitePair((0.999, 1e-3), (1 - 1e-7, 1e-7)),
    "laplace": Laplace(10.0) * 3,
}


@pytest.mark.parametrize("event", PROFILES.values(), ids=PROFILES)
def test_the_profile_is_delta_and_nowhere_below(axes, event):
    """Of three Laplace releases straight lines between 41 points lay 15 times below it, halfway between the last two."""
    ax = plots.privacy_profile(event, delta=1e-6, ax=axes())
    epsilons, deltas = points(ax, 0)
    assert (ax.get_xscale(), ax.get_yscale()) == ("linear", "log")
    assert deltas[0] == renyi.delta(event, epsilon=0.0)
    (epsilon,), (delta,) = points(ax, 1)
    assert (epsilon, delta) == (renyi.epsilon(event, delta=1e-6), 1e-6)
    assert deltas.min() < 1e-6 < deltas.max()
    last = epsilons[-1]
    between = last * np.array([0.0125, 0.2375, 0.4875, 0.6625, 0.7875, 0.8875, 0.9375, 0.9625, 0.9875, 0.9961, 0.9999])
    drawn, truth = as_drawn(ax, 0, between), renyi.delta(event, epsilon=between)
    assert (drawn >= truth * (1 - 1e-13)).all()
    # Nor far above: two cells to the left, the profile itself is as high, but for a pixel.
    before = renyi.delta(event, epsilon=np.maximum(between - 2.0 * last / 1000.0, 0.0))
    assert (drawn <= before * (deltas[0] / 1e-9) ** (1.0 / 300.0)).all()


def test_delta_that_hardly_falls_is_asked_for_seldom(axes, monkeypatch):
    asked = []
    monkeypatch.setattr(
        profile, "delta_of", lambda event, epsilon, **rest: asked.append(epsilon) or 0.25 - 0.0 * epsilon
    )
    profile.privacy_profile(Gaussian(1.0), delta=0.2, ax=axes())
    assert sum(levels.size for levels in asked) < 60


@pytest.mark.parametrize(
    "event",
    [Gaussian(3.0) * 7, Laplace(2.0), RandomizedResponse(0.75) * 5, FinitePair((0.5, 0.5), (0.9, 0.1))],
    ids=repr,
)
def test_the_trade_off_is_that_of_every_attacker(axes, event):
    ax = plots.trade_off(event, delta=1e-6, fpr=0.05, ax=axes())
    rates, missed = points(ax, 1)
    assert list(missed) == pytest.approx(list(renyi.trade_off(event, fpr=rates)), rel=1e-9, abs=1e-12)
    risk = renyi.risk(event)
    between = (np.arange(30.0) + 0.37) / 30.0
    truth = renyi.trade_off(event, fpr=np.maximum(between - 2e-3, 0.0))
    assert (as_drawn(ax, 1, between) <= truth + 1e-4).all()  # a pixel to the left, the curve itself is as high
    assert points(ax, 2)[1][0] == pytest.approx(1.0 - risk.true_positive_rate(0.05).upper, rel=1e-5)
    (fpr,), (fnr,) = points(ax, 3)
    assert 1.0 - fnr - fpr == pytest.approx(risk.advantage.upper, rel=1e-12)
    assert risk.sentences((0.05,))[0] in caption_of(ax)


@pytest.mark.parametrize("event", RUNS.values(), ids=RUNS)
def test_the_accountants_are_compared_at_their_upper_ends(axes, event):
    ax = plots.accountants(event, delta=1e-6, ax=axes())
    compared = (Exact(), LossGrid(), Rdp(), Classical())
    assert [label.get_text() for label in ax.get_yticklabels()] == [type(one).__name__ for one in compared]
    shown = {line.get_label(): line.get_xdata()[0] for line in ax.lines}
    assert shown == {type(one).__name__: renyi.epsilon(event, delta=1e-6, accountant=one) for one in compared}


def test_the_title_fits_into_a_column():
    figure = Figure(figsize=(3.3, 2.5), layout="constrained")
    ax = plots.accountants(Gaussian(2.0) * 10, delta=1e-5, ax=figure.add_subplot())
    figure.draw_without_rendering()
    (title,) = ax.findobj(lambda one: isinstance(one, Text) and one.get_text().startswith("One run"))
    assert title.get_window_extent().x1 <= figure.bbox.x1


class Stumped(Accountant):
    def answer(self, event, question, relations):
        raise UnsupportedError("nobody knows")


def test_an_accountant_without_a_theorem_says_so(axes):
    ax = plots.accountants(Gaussian(2.0), delta=1e-6, compared=(Rdp(), Stumped()), ax=axes())
    assert [label.get_text() for label in ax.get_yticklabels()] == ["Rdp", "Stumped"]
    assert [line.get_label() for line in ax.lines] == ["Rdp"]
    assert "no theorem for this run" in " ".join(text.get_text() for text in ax.texts)
    with pytest.raises(InvalidInput, match="one to 4 accountants"):
        plots.accountants(Gaussian(2.0), delta=1e-6, compared=(), ax=axes())


@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS)
def test_what_costs_nothing_is_drawn_too(axes, tmp_path, draw):
    ax = draw(PureDP(0.0) * 3, delta=0.0, ax=axes())
    assert "(0, 0)-differentially private" in caption_of(ax)
    plots.save(ax, tmp_path / "nothing.png")


def test_infinite_answers_are_said_in_words(axes):
    ax = plots.accountants(Gaussian(0.0), delta=1e-6, ax=axes())
    assert "infinite" in " ".join(text.get_text() for text in ax.texts)
    assert not ax.lines
    for draw in (plots.renyi_curve, plots.privacy_profile, plots.epsilon_by_steps):
        with pytest.raises(InvalidInput, match="infinite"):
            draw(Gaussian(0.0) * 2, delta=1e-6, ax=axes())
    with pytest.raises(InvalidInput, match="larger delta"):
        plots.privacy_profile(ApproximateDP(1.0, 1e-3), delta=1e-4, ax=axes())


@pytest.mark.parametrize("draw", [plots.renyi_curve, plots.epsilon_by_steps, plots.privacy_profile, plots.trade_off])
def test_several_runs_are_named_and_told_apart(axes, draw):
    runs = {"noisy": Gaussian(4.0) * 10, "less noisy": Gaussian(2.0) * 10}
    ax = draw(runs, delta=1e-5, ax=axes())
    legend = " | ".join(text.get_text() for text in ax.get_legend().get_texts())
    for name, event in runs.items():
        assert name in legend
        accountant = Rdp() if draw is plots.renyi_curve else None
        assert f"{name}: {renyi.guarantee(event, delta=1e-5, accountant=accountant)}" in caption_of(ax)
    looks = {(line.get_color(), line.get_linestyle(), line.get_marker()) for line in ax.lines}
    assert len(looks) == len(ax.lines)


@pytest.mark.parametrize("events", [{}, {"a": 1}, {1: Gaussian(1.0)}, 3, [Gaussian(1.0)]], ids=repr)
def test_what_is_not_a_run_is_refused(axes, events):
    with pytest.raises(InvalidInput, match="dictionary of events"):
        plots.renyi_curve(events, delta=1e-5, ax=axes())


def test_too_many_runs_are_refused(axes):
    with pytest.raises(InvalidInput, match="at most 6 runs"):
        plots.renyi_curve({str(n): Gaussian(n) for n in range(1, 8)}, delta=1e-5, ax=axes())


def test_without_axes_pyplot_shows_the_drawing_and_keeps_its_settings():
    before = dict(pyplot.rcParams)
    known = pyplot.get_fignums()
    ax = plots.renyi_curve(Gaussian(2.0), delta=1e-5)
    assert pyplot.get_fignums() == [*known, ax.figure.number]
    pyplot.close(ax.figure)
    assert dict(pyplot.rcParams) == before


def test_png_svg_and_pdf_show_the_whole_drawing(tmp_path, axes):
    ax = plots.trade_off(MNIST, delta=1e-5, ax=axes())
    picture = plots.save(ax, tmp_path / "a.png")
    assert picture.read_bytes().startswith(b"\x89PNG")
    drawing = plots.save(ax.figure, str(tmp_path / "a.svg"))
    text = "".join(ElementTree.parse(drawing).getroot().itertext())
    for word in ("false-positive rate", "differentially", "blind guessing"):
        assert word in text
    paper = plots.save(ax, tmp_path / "a.pdf").read_bytes()
    assert paper.startswith(b"%PDF")
    assert paper.rstrip().endswith(b"%%EOF")
    assert b"/FontFile2" in paper  # TrueType


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_the_same_drawing_gives_the_same_bytes(tmp_path, axes, ending):
    """Whatever the time: no date and no random name is written."""
    written = []
    for time in ("1000000000", "1700000000"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SOURCE_DATE_EPOCH", time)
            ax = plots.privacy_profile(Gaussian(2.0), delta=1e-5, ax=axes())
            written.append(plots.save(ax, tmp_path / f"{time}.{ending}").read_bytes())
    assert written[0] == written[1]


def test_other_endings_and_places_are_refused(tmp_path, axes):
    ax = plots.renyi_curve(Gaussian(2.0), delta=1e-5, ax=axes())
    for name in ("a.eps", "a", "a.PNG"):
        with pytest.raises(InvalidInput, match=r"saved as \.png, \.svg or \.pdf"):
            plots.save(ax, tmp_path / name)
    for name in ("a.png", "a.svg", "a.pdf"):
        with pytest.raises(InvalidInput, match="cannot write"):
            plots.save(ax, tmp_path / "no" / "folder" / name)


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(PrivacyError, match=r"pip install 'renyi\[plot\]'"):
        plots.renyi_curve(Gaussian(2.0), delta=1e-5)


def test_the_numbers_of_a_figure_need_no_matplotlib():
    code = (
        "import sys\n"
        "sys.modules['matplotlib'] = None\n"
        "from renyi.plots.figures import FIGURES\n"
        "from renyi.plots.table import table\n"
        "print(len(table(FIGURES['zhu-wang-figure-2']()).splitlines()))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 50
