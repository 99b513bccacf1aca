"""The papers' figures: numbers off their CSV against what the papers say in words, and against the public API."""

from __future__ import annotations

import csv
import io
import itertools
import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import renyi
from renyi import Classical, Exact, Gaussian, Laplace, Poisson, RandomizedResponse
from renyi.papers.sampled_gaussian.mironov_talwar_zhang import largest_order
from renyi.plots.drawing import CAPTION, draw_chart
from renyi.plots.figures import FIGURES, write
from renyi.plots.figures.closed_form import condition_4, condition_5, last_order
from renyi.plots.table import table
from tests.plots import papers

GAMMA = 0.001
STEPS = {
    "Gaussian, σ = 5": Gaussian(5.0).on(Poisson(GAMMA)),
    "Gaussian, σ = 1": Gaussian(1.0).on(Poisson(GAMMA)),
    "Laplace, b = 2": Laplace(2.0).on(Poisson(GAMMA)),
    "Laplace, b = 0.5": Laplace(0.5).on(Poisson(GAMMA)),
    "Randomized response, p = 0.6": RandomizedResponse(0.6).on(Poisson(GAMMA)),
    "Randomized response, p = 0.9": RandomizedResponse(0.9).on(Poisson(GAMMA)),
}
PURE = [title for title in STEPS if not title.startswith("Gaussian")]


# Zhu & Wang, Figure 2.

two = partial(papers.curve, "zhu-wang-figure-2")


def test_odd_moments_of_two_poisson_laws_are_negative():
    chi = two("χ", "P = Poisson(0.3)")
    for order, value in {2: 0.161834243, 3: -0.030511314, 4: 0.042785397, 5: -0.021000538, 7: -0.012624427}.items():
        assert chi[order] == pytest.approx(value, abs=5e-10)
    assert all((value < 0) == (order % 2 == 1) for order, value in chi.items())


def test_the_sign_depends_on_the_means():
    assert all(value > 0 for value in two("χ", "P = Poisson(1)").values())


def test_one_direction_is_not_enough_and_both_are():
    adding = two("Divergence", "exact, adding")
    assert adding[3.0] == pytest.approx(0.00249370, abs=5e-9)
    assert two("Divergence", "Theorem 6, one")[3.0] == pytest.approx(0.00240646, abs=5e-9)
    assert two("Divergence", "Theorem 6, larger")[3.0] == pytest.approx(0.00584881, abs=5e-9)
    for order, one_sided in two("Divergence", "Theorem 6, one").items():
        both = two("Divergence", "Theorem 6, larger")[order]
        assert one_sided < adding[order] < both <= two("Divergence", "Theorem 5")[order]


# Zhu & Wang, Figure 3.

three = partial(papers.curve, "zhu-wang-figure-3")


@pytest.mark.parametrize(("title", "noise"), [("Gaussian, σ = 5", 5.0), ("Gaussian, σ = 1", 1.0)])
def test_the_phase_transition_lies_near_one_over_gamma(title, noise):
    ((order, divergence),) = three(title, "α γ e^ε(α)").items()
    assert order * GAMMA * math.exp(order / (2 * noise**2)) == pytest.approx(1 / GAMMA, rel=1e-9)
    exact, unsampled = three(title, "exact"), three(title, "unsampled")
    amplified = order / 2 * GAMMA**2 * math.expm1(1 / noise**2) / 2  # alpha gamma^2 (e^eps(2) - 1)/2
    assert papers.near(exact, order / 2) == pytest.approx(amplified, rel=0.2)
    assert papers.near(exact, 2.0) == pytest.approx(2.0 * GAMMA**2 * math.expm1(1 / noise**2) / 2, rel=0.1)
    assert divergence > 1e4 * amplified  # the jump is over
    # From there on sampling has hardly an effect: the curve is the unsampled one but for log(1/gamma).
    assert unsampled[2000.0] == pytest.approx(1000.0 / noise**2)
    assert exact[2000.0] == pytest.approx(unsampled[2000.0] + math.log(GAMMA), rel=1e-3)


@pytest.mark.parametrize("title", PURE)
def test_pure_mechanisms_rise_linearly_and_are_capped_by_lemma_4(title):
    exact, (cap, *_) = three(title, "exact"), three(title, "cap").values()
    level = renyi.epsilon(STEPS[title], delta=0.0)
    assert cap == pytest.approx(level, rel=1e-9)
    assert papers.near(exact, 20.0) / papers.near(exact, 2.0) == pytest.approx(10.0, rel=0.1)
    assert max(exact.values()) <= cap * (1 + 1e-12)
    if title.endswith(("b = 0.5", "p = 0.9")):
        assert max(exact.values()) > 0.75 * cap


@pytest.mark.parametrize("title", STEPS)
def test_the_tight_bound_closes_the_constant_gap(title):
    tight = three(title, "tight")
    orders = np.array(list(tight))
    assert list(tight.values()) == pytest.approx(list(renyi.divergence(STEPS[title], order=orders)), rel=1e-9)
    general, other = three(title, "general"), three(title, "without")
    assert general[2.0] == pytest.approx(tight[2.0], rel=1e-9)
    assert all(tight[n] * (1 - 1e-12) <= general[n] <= (tight[n] + math.log(3) / (n - 1)) * (1 + 1e-9) for n in tight)
    # At order 2 the other bound has min(4 (e^eps - 1), e^eps min(2, (e^eps(inf) - 1)^2)) in the place of e^eps - 1.
    second, limit = renyi.divergence(STEPS[title].event, order=[2.0, math.inf])
    pure = min(2.0, math.expm1(limit) ** 2) if limit < math.inf else 2.0
    gap = min(4.0, math.exp(second) * pure / math.expm1(second))
    assert other[2.0] / tight[2.0] == pytest.approx(gap, rel=1e-3)
    assert gap > 1.7


@pytest.mark.parametrize(("title", "noise"), [("Gaussian, σ = 5", 5.0), ("Gaussian, σ = 1", 1.0)])
def test_the_moments_bound_ends_at_its_threshold(title, noise):
    moments, exact = three(title, "moments bound"), three(title, "exact")
    threshold = 1 + noise**2 * math.log(1 / (GAMMA * noise))
    assert 0.8 * threshold < max(moments) <= threshold
    assert all(value > papers.near(exact, order) for order, value in moments.items())


# Zhu & Wang, Figure 4.

four = partial(papers.curve, "zhu-wang-figure-4")


@pytest.mark.parametrize("title", ["Gaussian, σ = 5", "Gaussian, σ = 1"])
def test_the_moments_accountant_overtakes_naive_composition_after_many_rounds(title):
    naive, tight = four(title, "naive"), four(title, "MA, tight")
    assert naive[1.0] < tight[1.0] / 10
    assert naive[10.0] < tight[10.0]
    assert tight[1000.0] < naive[1000.0] / 4
    assert tight[100_000.0] < naive[100_000.0] / 10


@pytest.mark.parametrize("title", PURE)
def test_the_loss_grows_like_the_square_root_in_the_end(title):
    for label in ("MA, tight", "MA, without", "exact"):
        points = four(title, label)
        assert points[100_000.0] / points[10_000.0] == pytest.approx(math.sqrt(10), rel=0.12)


@pytest.mark.parametrize("title", STEPS)
def test_the_tight_bound_wins_by_a_constant_factor(title):
    tight, exact = four(title, "MA, tight"), four(title, "exact")
    assert 1.3 < four(title, "MA, without")[100_000.0] / tight[100_000.0] < 2.3
    assert 1.0 < tight[100_000.0] / exact[100_000.0] < 1.35
    for label in ("naive", "MA, tight", "MA, general", "MA, without"):
        assert all(value >= exact[k] * (1 - 1e-9) for k, value in four(title, label).items())


@pytest.mark.parametrize("title", ["Gaussian, σ = 1", "Laplace, b = 0.5", "Randomized response, p = 0.9"])
def test_the_general_bound_is_as_good_as_the_tight_one_for_many_rounds(title):
    assert four(title, "MA, general")[100_000.0] < 1.05 * four(title, "MA, tight")[100_000.0]


@pytest.mark.parametrize("title", ["Gaussian, σ = 5", "Gaussian, σ = 1"])
def test_the_published_moments_bound_is_substantially_worse(title):
    moments, tight = four(title, "MA, bound of Abadi"), four(title, "MA, tight")
    assert all(value > 1.3 * tight[k] for k, value in moments.items())


@pytest.mark.parametrize("title", ["Gaussian, σ = 1", "Randomized response, p = 0.6"])
def test_exact_and_naive_are_the_accountants(title):
    for label, accountant in {"exact": Exact(), "naive": Classical()}.items():
        for k in (1.0, 100.0, 10_000.0):
            asked = renyi.epsilon(STEPS[title] * int(k), delta=1e-8, accountant=accountant)
            near = 0.02 if label == "naive" else 1e-6  # how delta is best divided is searched for, not solved for
            assert four(title, label)[k] == pytest.approx(asked, rel=near)


# Zhu & Wang, Figure 5.

five = partial(papers.curve, "zhu-wang-figure-5")


@pytest.mark.parametrize("title", PURE)
def test_fifty_terms_are_nearly_exact(title):
    tight, approximate = five(title, "tight"), five(title, "τ = 50")
    assert min(approximate) >= 100
    assert all(tight[n] * (1 - 1e-12) <= value <= 1.001 * tight[n] for n, value in approximate.items())
    assert papers.near(five(title, "τ = 2 "), 500.0) > 1.02 * papers.near(tight, 500.0)


def test_with_fifty_terms_the_gaussian_turns_a_little_earlier():
    tight, approximate = five("Gaussian, σ = 5", "tight"), five("Gaussian, σ = 5", "τ = 50")

    def turn(points):
        return min(n for n, value in points.items() if value > 1e-3)

    assert 0.7 * turn(tight) < turn(approximate) < turn(tight)
    assert turn(five("Gaussian, σ = 5", "τ = 20")) < turn(approximate)
    before = [value / tight[n] for n, value in approximate.items() if n < 200]
    assert before == pytest.approx([1.0] * len(before), rel=1e-3)
    after = [value / tight[n] for n, value in approximate.items() if n > 500]
    assert after == pytest.approx([1.0] * len(after), rel=1e-3)


@pytest.mark.parametrize("title", STEPS)
def test_more_terms_are_never_worse(title):
    labels = ["tight", "τ = 50", "τ = 20", "τ = 5 ", "τ = 2 "]
    for better, worse in itertools.pairwise(labels):
        known = five(title, better)
        assert all(value >= known[n] * (1 - 1e-12) for n, value in five(title, worse).items() if n in known)


# Mironov, Talwar & Zhang, Figure 1.

one = partial(papers.curve, "mironov-talwar-zhang-figure-1")


@pytest.mark.parametrize(("noise", "largest", "true_up_to"), [(4, 14.34, 120.0), (10, 50.6, 700.0)])
def test_the_largest_order_of_the_closed_form(noise, largest, true_up_to):
    both = one("Largest", f"both conditions, σ = {noise}")
    assert papers.near(both, 0.01) == pytest.approx(largest, rel=2e-3)
    assert papers.near(one("Largest", f"exact, σ = {noise}"), 0.01) > true_up_to
    fourth, fifth = one("Largest", f"condition (4), σ = {noise}"), one("Largest", f"condition (5), σ = {noise}")
    for rate, order in both.items():
        assert order == pytest.approx(min(fourth[rate], fifth[rate]), rel=1e-9)
        assert one("Largest", f"exact, σ = {noise}")[rate] > order
    assert fourth[1e-5] < fifth[1e-5]
    assert fifth[0.2] < fourth[0.2]  # either condition decides somewhere


@pytest.mark.parametrize("rate", [1e-7, 3e-4, 0.02, 0.2])
@pytest.mark.parametrize("noise", [4.0, 7.0, 60.0])
def test_the_two_conditions_apart_are_those_of_the_theorem(rate, noise):
    apart = min(last_order(condition, rate=rate, noise=noise) for condition in (condition_4, condition_5))
    assert apart == pytest.approx(largest_order(rate=rate, noise=noise), rel=1e-12)


@pytest.mark.parametrize("noise", [4, 10])
def test_the_closed_form_is_about_four_times_the_divergence(noise):
    closed = one("Divergence", f"Theorem 11, σ = {noise}")
    orders = np.array(list(closed))
    exact = renyi.divergence(Gaussian(noise).on(Poisson(0.01)), order=orders)
    ratio = exact / np.array(list(closed.values()))
    assert ratio.min() > 0.24
    assert ratio.max() < 0.264
    assert max(closed) == pytest.approx(largest_order(rate=0.01, noise=noise), rel=1e-12)


@pytest.mark.parametrize("noise", [4, 10])
def test_the_series_lies_on_the_exact_curve_and_adding_costs_no_more(noise):
    series = one("Divergence", f"paper's series, σ = {noise}")
    exact = renyi.divergence(Gaussian(noise).on(Poisson(0.01)), order=list(series))
    assert list(series.values()) == pytest.approx(list(exact), rel=1e-11)
    removing = one("Divergence", f"exact, removing, σ = {noise}")
    assert all(value <= removing[order] for order, value in one("Divergence", f"exact, adding, σ = {noise}").items())


# The three routes.

routes = partial(papers.curve, "routes-compared")
RUNS = {
    "σ = 4, r = 0.01, k = 1": (Gaussian(4.0).on(Poisson(0.01)) * 100, 2.0, 1.76256e-7, 3.41569e-14),
    "σ = 10, r = 0.01, k = 10": (Gaussian(10.0).on(Poisson(0.01)) * 1000, 2.0, 4.89187e-9, 5.53320e-9),
    "σ = 20, r = 0.001, k = 10": (Gaussian(20.0).on(Poisson(0.001)) * 10_000, 1.0, 3.18725e-31, 3.38766e-9),
}


@pytest.mark.parametrize("title", RUNS)
def test_the_routes_have_their_golden_deltas(title):
    _, epsilon, first, second = RUNS[title]
    assert routes(title, "Route 1:")[epsilon] == pytest.approx(first, rel=1e-5)
    assert routes(title, "Route 2")[epsilon] == pytest.approx(second, rel=1e-5)


def test_route_2_is_not_always_better_than_route_1():
    better = [routes(title, "Route 2")[e] < routes(title, "Route 1:")[e] for title, (_, e, *_) in RUNS.items()]
    assert better == [True, False, False]


@pytest.mark.parametrize("title", RUNS)
def test_the_accountants_are_below_every_route(title):
    event = RUNS[title][0]
    exact, renyi_delta = routes(title, "exact"), routes(title, "Renyi")
    for label in ("Route 1:", "Route 1 from", "Route 3", "Renyi"):
        assert all(exact[e] <= delta for e, delta in routes(title, label).items() if e in exact)
    assert all(renyi_delta[e] < delta for e, delta in routes(title, "Route 3").items())
    smallest = min(exact)
    assert exact[smallest] < 0.1 * routes(title, "Route 1 from")[smallest]
    assert exact[smallest] == pytest.approx(renyi.delta(event, epsilon=smallest), rel=1e-9)
    assert renyi_delta[smallest] == pytest.approx(
        renyi.delta(event, epsilon=smallest, accountant=renyi.Rdp()), rel=1e-9
    )


# All of them.


@pytest.mark.parametrize("title", STEPS)
@pytest.mark.parametrize("name", ["zhu-wang-figure-3", "zhu-wang-figure-5"])
def test_the_exact_curve_is_the_public_divergence(name, title):
    points = papers.curve(name, title, "exact")
    assert min(points) < 1.02  # the papers' bounds start at 2
    assert list(points.values()) == pytest.approx(list(renyi.divergence(STEPS[title], order=list(points))), rel=1e-12)


@pytest.mark.parametrize("name", papers.COMPUTED)
def test_every_figure_has_labels_units_a_caption_and_an_exact_curve(name):
    chart = papers.chart(name)
    assert chart.name == name
    figure = draw_chart(chart)
    for ax, panel in zip(figure.axes, chart.panels, strict=False):
        assert "(" in ax.get_xlabel()
        assert "(" in ax.get_ylabel()
        assert ax.get_title(loc="left") == panel.title
        assert [tuple(line.get_xdata()) for line in ax.lines] == [line.x for line in panel.lines]
        assert [tuple(line.get_ydata()) for line in ax.lines] == [line.y for line in panel.lines]
    (caption,) = [text.get_text() for text in figure.texts if text.get_gid() == CAPTION]
    assert " ".join(caption.split()) == chart.caption
    assert any("exact" in line.label for panel in chart.panels for line in panel.lines)
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert set(legend) == {line.label for panel in chart.panels for line in panel.lines if line.label}


@pytest.mark.parametrize("name", papers.COMPUTED)
def test_curves_have_looks_of_their_own(name):
    for panel in papers.chart(name).panels:
        looks = {line.label.split(", σ")[0]: line.style for line in panel.lines if line.label}
        plain = {replace(style, colour="") for style in looks.values()}
        assert len(plain) >= len(looks) - 1  # without colour, too; the exact curves of one panel may be alike


def test_files_are_the_same_each_time(tmp_path):
    chart = papers.chart("zhu-wang-figure-2")
    picture, numbers = write(chart, tmp_path / "new" / "folder")
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert next(csv.reader(io.StringIO(numbers.read_text("utf-8")))) == ["panel", "curve", "order", "divergence"]
    again = write(chart, tmp_path, ["png", "svg"])
    assert [path.suffix for path in again] == [".png", ".svg", ".csv"]
    assert again[0].read_bytes() == picture.read_bytes()
    assert again[1].read_text("utf-8").count("<svg") == 1


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_published(name):
    assert papers.curves(name)
    assert 10_000 < (papers.PUBLISHED / f"{name}.png").stat().st_size < 150_000


@pytest.mark.parametrize("name", papers.COMPUTED)
def test_the_published_numbers_are_those_of_today(name):
    published, fresh = papers.curves(name), papers.read(table(papers.chart(name)))
    assert list(published) == list(fresh)
    for key, points in fresh.items():
        assert list(published[key]) == pytest.approx(list(points), rel=1e-9)
        near = 0.02 if "naive" in key[1] else 1e-6  # how delta is best divided is searched for, not solved for
        assert list(published[key].values()) == pytest.approx(list(points.values()), rel=near, abs=1e-12)


def test_the_table_reads_back_as_the_same_floats():
    chart = papers.chart("zhu-wang-figure-2")
    curves = papers.read(table(chart))
    for panel in chart.panels:
        for line in panel.lines:
            if line.label:
                assert tuple(curves[panel.title, line.label].items()) == tuple(zip(line.x, line.y, strict=True))
