"""Wrong calls from Python: an error of ours that shows what came and the call that was probably meant."""

from __future__ import annotations

import inspect

import pytest

import renyi
from renyi import Gaussian, Poisson
from renyi.signatures import meant
from renyi.training import AdaptiveClip, Plan, Run, Search, StopWithin, Study

RUN = Gaussian(1.1).on(Poisson(0.01)) * 100

WRONG = {
    "Gaussian(sigma=3)": (lambda: Gaussian(sigma=3), "Did you mean noise_multiplier=3?"),
    "Gaussian()": (lambda: Gaussian(), "needs noise_multiplier"),
    "Gaussian(1, 2)": (lambda: Gaussian(1, 2), "2 is one too many"),
    "Gaussian(1, noise_multiplier=2)": (lambda: Gaussian(1, noise_multiplier=2), "by place and by name"),
    "Gaussian('1')": (lambda: Gaussian("1"), "'1' of type str"),
    "Poisson(q=0.1)": (lambda: Poisson(q=0.1), "Did you mean rate=0.1?"),
    "Poisson(2)": (lambda: Poisson(2), "got 2"),
    "Laplace(scale=2)": (lambda: renyi.Laplace(scale=2), "Did you mean noise_multiplier=2?"),
    "DiscreteGaussian(sigma=2)": (lambda: renyi.DiscreteGaussian(sigma=2), "Did you mean scale=2?"),
    "WithoutReplacement(10)": (lambda: renyi.WithoutReplacement(10), "needs dataset"),
    "WithoutReplacement(batch_size=10)": (lambda: renyi.WithoutReplacement(batch_size=10), "Did you mean batch=10?"),
    "PureDP(eps=1)": (lambda: renyi.PureDP(eps=1), "Did you mean epsilon=1?"),
    "Tuned(RUN)": (lambda: renyi.Tuned(RUN), "needs mean"),
    "Grouped(RUN, k=2)": (lambda: renyi.Grouped(RUN, k=2), "Did you mean size=2?"),
    "epsilon(RUN)": (lambda: renyi.epsilon(RUN), "needs delta"),
    "epsilon(RUN, 1e-5)": (lambda: renyi.epsilon(RUN, 1e-5), "1e-05 is one too many"),
    "epsilon(1.1, delta=1e-5)": (lambda: renyi.epsilon(1.1, delta=1e-5), "got 1.1"),
    "epsilon(RUN, target_delta=1e-5)": (
        lambda: renyi.epsilon(RUN, target_delta=1e-5),
        "Did you mean delta=1e-05?",
    ),
    "delta(RUN, eps=1)": (lambda: renyi.delta(RUN, eps=1), "Did you mean epsilon=1?"),
    "guarantee(RUN)": (lambda: renyi.guarantee(RUN), "either delta or epsilon"),
    "divergence(RUN, alpha=2)": (lambda: renyi.divergence(RUN, alpha=2), "Did you mean order=2?"),
    "noise_multiplier(eps=1, ...)": (lambda: renyi.noise_multiplier(eps=1, delta=1e-5), "Did you mean epsilon=1?"),
    "calibrate(3, ...)": (lambda: renyi.calibrate(3, epsilon=1, delta=1e-5), "got 3"),
    "risk(RUN, neighbours=...)": (
        lambda: renyi.risk(RUN, neighbours="replace-one"),
        "Did you mean adjacency='replace-one'?",
    ),
    "RUN * 1.5": (lambda: RUN * 1.5, "1.5"),
    "RUN.on(0.1)": (lambda: Gaussian(1.0).on(0.1), "got 0.1"),
    "Plan(max_grad_norm=1.0)": (
        lambda: Plan(max_grad_norm=1.0, steps=3),
        "Plan has no parameter 'max_grad_norm'. Write Plan(",
    ),
    "Plan(sigma=1.0)": (lambda: Plan(sigma=1.0), "Did you mean noise_multiplier=1.0?"),
    "Plan.from_epochs(..., target_epsilon=2)": (
        lambda: Plan.from_epochs(epochs=1, batch_size=1, dataset_size=10, target_epsilon=2),
        "Did you mean epsilon=2?",
    ),
    "Run(1, 2, 3, 4)": (lambda: Run(1, 2, 3, 4), "Run needs journal"),
    "AdaptiveClip(3)": (lambda: AdaptiveClip(3), "AdaptiveClip("),
    "StopWithin()": (lambda: StopWithin(), "StopWithin needs budget"),
    "Study()": (lambda: Study(), "Study needs "),
    "Search()": (lambda: Search(), "Search needs "),
    "guarantee(...).certified(3)": (lambda: renyi.guarantee(RUN, delta=1e-5).certified(3), "got 3"),
    "from_json(3)": (lambda: renyi.from_json(3), "got 3"),
}


@pytest.mark.parametrize("call", WRONG)
def test_a_wrong_call_says_what_was_probably_meant(call):
    make, words = WRONG[call]
    with pytest.raises(renyi.PrivacyError) as caught:
        make()
    assert words in str(caught.value)


def test_a_wrong_call_is_a_type_error_too():
    with pytest.raises(TypeError, match="sigma"):
        Gaussian(sigma=3)


def test_errors_inside_are_not_about_the_call():
    with pytest.raises(TypeError, match="abstract"):
        renyi.Mechanism()
    with pytest.raises(renyi.PrivacyError, match="boom"):
        renyi.epsilon(renyi.FromRenyi(lambda order: (_ for _ in ()).throw(TypeError("boom"))), delta=1e-5)


def test_signatures_stay_those_of_the_class_and_the_function():
    assert list(inspect.signature(Gaussian).parameters) == ["noise_multiplier"]
    assert list(inspect.signature(renyi.epsilon).parameters) == ["event", "delta", "adjacency", "accountant"]


def test_names_that_mean_nothing_get_no_guess():
    assert meant("frobnicate", ["rate", "steps"]) is None
    assert meant("--Sigma", ["--noise-multiplier", "--rate"]) == "--noise-multiplier"
    assert meant("nois_multiplier", ["noise_multiplier"]) == "noise_multiplier"
