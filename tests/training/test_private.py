"""Statistics computed from private data show themselves only on purpose; progress shows what is public."""

from __future__ import annotations

import io
import json
import operator
import pickle

import numpy as np
import pytest
from rich.console import Console

from renyi.training import Moment, Private, Progress, TrainingError, seeded
from tests.training.support import dataset, plan, run, train


@pytest.mark.parametrize(
    "use",
    [
        "{:.3f}".format,
        lambda value: "%.3f" % value,  # noqa: UP031
        float,
        int,
        bool,
        round,
        abs,
        len,
        list,
        hash,
        lambda value: value == 1.0,
        lambda value: value != 1.0,
        lambda value: value < 1.0,
        lambda value: value >= 1.0,
        lambda value: value + 1,
        lambda value: 1 - value,
        lambda value: value * 2.0,
        lambda value: sum([value]),
        lambda value: max(value, value),
        operator.index,
        operator.neg,
        pickle.dumps,
        np.asarray,
        np.mean,
        lambda value: [value].index(1.0),
    ],
)
def test_a_private_value_does_not_leave_by_accident(use):
    value = Private("loss", lambda: 1.5)
    with pytest.raises(TrainingError, match="the loss was computed from private data"):
        use(value)
    assert value.reveal() == 1.5


@pytest.mark.parametrize(
    "shown", [repr, str, "{}".format, lambda value: f"{value}", lambda value: f"{value!r}", lambda value: f"{[value]}"]
)
def test_a_private_value_shows_a_placeholder_that_is_always_the_same(shown):
    asked = []
    one, other = (Private(what, lambda: asked.append(1)) for what in ("loss", "size"))
    assert shown(one) == shown(other)
    assert "<private; .reveal()>" in shown(one)
    assert not asked


def test_json_cannot_hold_it():
    with pytest.raises((TypeError, TrainingError)):
        json.dumps({"loss": Private("loss", lambda: 1.5)})


def test_the_statistics_of_a_step_are_private_and_right(tmp_path):
    made = run(tmp_path, keys=seeded(1), clip=1e-3)
    for batch in made.batches(dataset(), physical_batch=4):
        statistics = made.step(batch)
        hidden = "<private; .reveal()>"
        assert str(statistics) == f"Statistics(loss={hidden}, clipped={hidden}, drawn={hidden})"
        assert 0.0 < statistics.loss.reveal() < 5.0
        assert statistics.clipped.reveal() == 1.0
        assert statistics.drawn.reveal() > 0
    made.close()


def test_a_callback_gets_public_numbers_and_private_statistics(tmp_path):
    moments: list[Moment] = []
    made = train(
        run(tmp_path, callback=lambda moment: moments.append((moment.step, moment.left, moment.epsilon, moment)))
    )
    assert [step for step, *_ in moments] == [1, 2, 3, 4, 5, 6]
    assert [left for _, left, *_ in moments] == [5, 4, 3, 2, 1, 0]
    costs = [cost for _, _, cost, _ in moments]
    assert costs == sorted(costs)
    assert costs[-1] == plan().cost()
    assert f"{moments[0][3].statistics.loss}" == "<private; .reveal()>"
    made.close()


@pytest.mark.parametrize("reveal", [False, True])
def test_progress_shows_epsilon_and_steps_and_a_loss_only_on_purpose(tmp_path, reveal):
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=160)
    bar = Progress(reveal_loss=reveal, every=0.0, console=console)
    made = train(run(tmp_path, callback=bar))
    made.close()
    bar.close()
    shown = screen.getvalue()
    assert "6/6" in shown
    assert "0 left" in shown
    assert f"epsilon {plan().cost():.3f}"[:-1] in shown
    assert ("loss" in shown) == reveal
