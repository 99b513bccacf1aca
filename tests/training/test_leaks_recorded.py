"""A leak that was found is never forgotten: not by mending the loss, not by resuming, not by replaying, not by a rebuttal."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from renyi import Poisson
from renyi.errors import InvalidInput
from renyi.ledger import read
from renyi.training import LeakError, Run, rebut, replay
from renyi.training.errors import ClippingError
from renyi.training.recording import record as lines
from tests.training.support import dataset, losses, model, plan, run, train
from tests.training.test_replay import payloads, written


class Switched(nn.Module):
    """Adds a neighbour: of the features, or of the batch once ``on``. The functions are the same."""

    def __init__(self):
        super().__init__()
        self.inner, self.on = nn.Linear(4, 2), False

    def forward(self, x):
        return self.inner(x + x.roll(1, 0 if self.on else 1))


@pytest.fixture
def leaked(tmp_path):
    """A run that coupled its units from release 5 on; the look before release 8 found it."""
    net = Switched()
    made = run(tmp_path, net=net, sampling=Poisson(1.0), steps=12)
    train(made, steps=4)
    net.on = True
    with pytest.raises(LeakError):
        train(made)
    net.on = False
    yield made
    made.close()


def test_the_guarantee_has_no_upper_end_from_the_last_clean_look_on(leaked, tmp_path):
    assert read(tmp_path / "run.jsonl")[-1].payload["kind"] == "leak"
    (leak,) = leaked.record.leaks
    assert (leak.release, leak.last_clean) == (8, 4)
    train(leaked, steps=2)  # the user mends the loss and goes on
    for answer in (leaked.guarantee(), leaked.spent(), replay(tmp_path / "run.jsonl").guarantee()):
        assert (answer.epsilon.lower, answer.epsilon.upper) == (0.0, math.inf)
        assert "LEAK FOUND" in str(answer)
        assert answer.assumptions[0].startswith(f"LEAK FOUND by the look before release {leak.release}: ")
        assert "The last look that found nothing was before release 4" in answer.assumptions[0]
        assert answer.to_dict()["epsilon"]["upper"] == "inf"
    assert leaked.remaining(epsilon=1e6) == 0


def test_a_rebuttal_stands_beside_the_leak_and_erases_nothing(leaked, tmp_path):
    answer = leaked.rebut(who="A. Auditor", why="the mean was over constants")
    leaked.close()
    again = rebut(tmp_path / "run.jsonl", who="B. Auditor", why="so it was").guarantee()
    for found, count in ((answer, 1), (again, 2), (replay(tmp_path / "run.jsonl").guarantee(), 2)):
        assert found.epsilon.upper == math.inf
        assert [text for text in found.assumptions if text.startswith("rebuttal of the leak")][:1] == [
            f"rebuttal of the leak found before release {leaked.record.leaks[0].release}, attested by A. Auditor and not "
            "checked: the mean was over constants"
        ]
        assert sum(text.startswith("rebuttal of the leak") for text in found.assumptions) == count


def test_a_rebuttal_names_who_and_why_and_a_leak_that_there_is(leaked):
    before = leaked.record.lines
    for values in ({"who": "", "why": "x"}, {"who": "x", "why": 3}, {"who": "x", "why": "y", "leak": 2}):
        with pytest.raises(InvalidInput):
            leaked.rebut(**values)
    assert leaked.record.lines == before


def test_a_stopped_run_can_be_rebutted_too(leaked, tmp_path):
    leaked.stop(data_independent=True)
    leaked.close()
    assert rebut(tmp_path / "run.jsonl", who="me", why="because").guarantee().epsilon.upper == math.inf


def test_a_resumed_run_remembers(leaked, tmp_path):
    leaked.close()
    net = Switched()
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    made = Run.resume(plan(sampling=Poisson(1.0), steps=12), net, sgd, losses, journal=tmp_path / "run.jsonl")
    train(made)
    assert made.guarantee().epsilon.upper == math.inf
    made.close()


def test_a_leak_that_is_found_before_anything_was_released_taints_nothing(tmp_path):
    net = Switched()
    net.on = True
    made = run(tmp_path, net=net, sampling=Poisson(1.0))
    with pytest.raises(LeakError):
        train(made)
    net.on = False
    train(made)
    answer = made.guarantee()
    assert answer.epsilon.upper < 100
    assert answer.assumptions[0].startswith("a leak was found by the look before release 1")
    made.close()


def test_losses_that_carry_something_over_taint_what_was_released(tmp_path):
    seen = [0.0]

    def carrying(net, batch):
        value = losses(net, batch)
        if made.steps >= 2:
            seen[0] += float(value.detach().mean())
        return value * (1 + seen[0])

    made = run(tmp_path, loss=carrying, sampling=Poisson(1.0))
    with pytest.raises(ClippingError, match="carry nothing over"):
        train(made)
    assert made.guarantee().epsilon.upper == math.inf
    made.close()


def test_journals_of_version_2_are_read_and_continued(tmp_path):
    rows = payloads(unit="example")
    rows[0] = lines.begun(plan(), private=True, looks=None)
    assert rows[0]["version"] == 2
    assert "looks" not in rows[0]
    path = written(tmp_path / "old.jsonl", rows)
    assert not any(text.startswith("looks: ") for text in replay(path).guarantee().assumptions)
    net = model()
    made = Run.resume(plan(), net, torch.optim.SGD(net.parameters(), lr=0.1), losses, journal=path)
    train(made, dataset())
    assert made.steps == 6
    made.close()
    assert replay(path).guarantee() == made.guarantee()


def test_the_record_states_how_many_units_were_compared(tmp_path):
    made = run(tmp_path)
    assert read(tmp_path / "run.jsonl")[0].payload["looks"] == {"parameters": 23, "units": 8}
    (text,) = (text for text in made.guarantee().assumptions if text.startswith("looks: "))
    assert "with 8 units one by one, the number for a model of 23 trainable parameters" in text
    assert text.endswith("units only between looks, rarely, or in half precision alone may be missed")
    made.close()
