"""Opacus: what it has on record as an event, and a training that prints our epsilon."""

from __future__ import annotations

import copy
import io
import json
import math
import warnings
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from opacus import PrivacyEngine
from opacus.accountants import GaussianAccountant, PRVAccountant, RDPAccountant
from opacus.accountants.utils import get_noise_multiplier
from torch.utils.data import DataLoader, TensorDataset

import renyi
from renyi import Adjacency, Composed, Gaussian, GaussianDP, InvalidInput, Poisson, Shuffled, UnsupportedError
from renyi.interop import from_opacus, opacus_accountant

HISTORY = [(1.1, 0.01, 700), (1.3, 0.01, 300), (1.1, 0.02, 1)]
EVENT = Gaussian(1.1).on(Poisson(0.01)) * 700 + Gaussian(1.3).on(Poisson(0.01)) * 300 + Gaussian(1.1).on(Poisson(0.02))


def accountant(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Opacus warns that its Gaussian accountant may underestimate
        made = kind()
    made.history = list(HISTORY)
    return made


@pytest.mark.parametrize("kind", [RDPAccountant, PRVAccountant, GaussianAccountant])
def test_accountants_histories_and_states_are_read(kind):
    made = accountant(kind)
    for source in (made, made.history, made.state_dict(), {"privacy_accountant_state_dict": made.state_dict()}):
        assert from_opacus(source) == EVENT
    assert from_opacus(json.loads(json.dumps(made.state_dict()))) == EVENT  # lists in the place of tuples
    assert from_opacus([]) == Composed(())


def test_their_bounds_lie_above_what_the_run_cost():
    run = [(1.1, 256 / 60_000, 14_063)]
    ours = renyi.epsilon(from_opacus(run), delta=1e-5)
    for kind, excess in ((RDPAccountant, 0.3), (PRVAccountant, 0.02)):
        theirs = accountant(kind)
        theirs.history = run
        assert ours < theirs.get_epsilon(1e-5) < ours + excess


def train(engine, epochs=2, **options):
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(40, 3), torch.randn(40, 1))
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer, loader = engine.make_private(
        module=model,
        optimizer=optimizer,
        data_loader=DataLoader(data, batch_size=8, shuffle=True),
        noise_multiplier=1.5,
        max_grad_norm=1.0,
        **options,
    )
    for _ in range(epochs):
        for inputs, targets in loader:
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.step()
    return model


@pytest.fixture
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Opacus warns of its insecure noise, and torch of its hooks
        yield


@pytest.mark.usefixtures("quiet")
def test_a_training_prints_our_epsilon():
    engine = PrivacyEngine(accountant=opacus_accountant())
    model = train(engine)
    run = Gaussian(1.5).on(Poisson(1 / 5)) * 10
    assert engine.accountant.event() == run
    assert engine.get_epsilon(delta=1e-5) == renyi.epsilon(run, delta=1e-5)
    assert engine.accountant.guarantee(delta=1e-5) == renyi.guarantee(run, delta=1e-5)
    assert len(engine.accountant) == 10

    file = io.BytesIO()
    engine.save_checkpoint(path=file, module=model)
    file.seek(0)
    saved = torch.load(file)
    assert from_opacus(saved) == run
    again = PrivacyEngine(accountant=opacus_accountant())
    again.accountant.load_state_dict(saved["privacy_accountant_state_dict"])
    assert again.accountant.history == engine.accountant.history


@pytest.mark.usefixtures("quiet")
def test_a_training_without_poisson_samples_is_accounted_as_shuffled():
    engine = PrivacyEngine(accountant=opacus_accountant())
    train(engine, poisson_sampling=False)
    event = from_opacus(engine.accountant, poisson_sampling=False)
    assert event == Gaussian(1.5).on(Shuffled(5)) * 2
    answer = renyi.guarantee(event, delta=1e-5, adjacency=Adjacency.ZERO_OUT).epsilon
    assert answer.upper > engine.get_epsilon(delta=1e-5)
    with pytest.raises(UnsupportedError, match="ZERO_OUT"):
        renyi.epsilon(event, delta=1e-5)


def test_opacus_calibrates_with_our_accountant():
    found = get_noise_multiplier(
        target_epsilon=2.0, target_delta=1e-5, sample_rate=0.01, steps=1000, accountant=opacus_accountant()
    )
    best = renyi.noise_multiplier(epsilon=2.0, delta=1e-5, rate=0.01, steps=1000)
    assert best <= found < 1.01 * best


def test_our_accountant_goes_on_where_another_stopped():
    from opacus.accountants import create_accountant

    ours = create_accountant(opacus_accountant())
    ours.load_state_dict(accountant(PRVAccountant).state_dict())
    ours.step(noise_multiplier=1.1, sample_rate=0.02)
    ours.step(noise_multiplier=0.9, sample_rate=0.02)
    assert ours.history == [*HISTORY[:2], (1.1, 0.02, 2), (0.9, 0.02, 1)]
    assert copy.deepcopy(ours.state_dict())["mechanism"] == "renyi"


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 12), st.lists(st.integers(0, 40), min_size=1, max_size=4))
def test_every_epoch_that_a_stage_touches_is_counted_once_and_cut_ones_have_no_lower_end(length, parts):
    history = [(1.0 + index, 1.0 / length, steps) for index, steps in enumerate(parts)]
    event = from_opacus(history, poisson_sampling=False)
    begin, expected = 0, Composed(())
    for noise, _, steps in history:
        touched = {step // length for step in range(begin, begin + steps)}
        whole = {epoch for epoch in touched if epoch * length >= begin and (epoch + 1) * length <= begin + steps}
        expected += Gaussian(noise).on(Shuffled(length)) * len(whole)
        cut = GaussianDP(math.nextafter(1.0 / noise, 2.0) if noise == 3.0 else 1.0 / noise, Adjacency.ZERO_OUT)
        expected += cut * len(touched - whole)
        begin += steps
    assert event == expected


def test_no_noise_costs_infinity_in_any_order():
    for poisson_sampling in (True, False):
        event = from_opacus([(0.0, 0.1, 10)], poisson_sampling=poisson_sampling)
        assert renyi.epsilon(event, delta=1e-5, adjacency=Adjacency.ZERO_OUT) == math.inf


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (None, "history is a list"),
        ({"mechanism": "rdp"}, "key 'history'"),
        ({"privacy_accountant_state_dict": None}, "privacy_accountant_state_dict"),
        ([(1.1, 0.01)], "a line of a history"),
        (["abc"], "a line of a history"),
        ([(1.1, 1.2, 3)], "sample_rate must be in"),
        ([(-1.0, 0.1, 3)], "noise_multiplier"),
        ([(1.0, 0.1, 2.5)], "num_steps"),
    ],
)
def test_what_is_no_history_is_refused_with_the_reason(source, message):
    with pytest.raises(InvalidInput, match=message):
        from_opacus(source)


@pytest.mark.parametrize(
    ("history", "message"),
    [
        ([(1.0, 0.3, 3)], "number of batches"),
        ([(1.0, 0.5, 2), (1.0, 0.25, 4)], "epochs of one length"),
        ([(1.0, 0.0, 1)], "number of batches"),
    ],
)
def test_epochs_that_cannot_be_counted_are_refused(history, message):
    with pytest.raises(UnsupportedError, match=message):
        from_opacus(history, poisson_sampling=False)


def test_the_gaussian_accountant_is_no_bound_as_the_page_says():
    with pytest.warns(UserWarning, match="can underestimate"):
        theirs = GaussianAccountant()
    theirs.history = [(1.1, 0.01, 1000)]
    said = theirs.get_epsilon(delta=1e-5)
    truth = renyi.Exact().epsilon(from_opacus(theirs), delta=1e-5).lower
    assert said < 0.95 * truth
    text = (Path(__file__).parents[2] / "docs" / "coming-from.md").read_text(encoding="utf-8")
    assert f"it prints {said:.3f}, where the exact epsilon is {truth:.3f}" in text
