"""What follows a run: bars and loggers are told of epsilon, and a callback may end the run."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from renyi import Filter, InvalidInput
from renyi.training import LogTo, Progress, Stop, StopWithin, replay
from tests.training.support import plan, run, train


class Kept:
    """Any logger: what it was told, under the name that it is asked for."""

    def __init__(self, name):
        self.told = []
        setattr(self, name, getattr(self, f"_{name}"))

    def _add_scalar(self, name, value, step):
        self.told.append((step, name, value))

    def _log_metrics(self, values, *, step):
        self.told += [(step, name, value) for name, value in values.items()]

    def _log(self, values, *, step):
        self._log_metrics(values, step=step)


@pytest.mark.parametrize("name", ["add_scalar", "log_metrics", "log"])
def test_a_logger_is_told_of_epsilon_in_its_own_way(tmp_path, name):
    logger = Kept(name)
    made = train(run(tmp_path, callback=LogTo(logger, every=4)))
    spent = [value for _, what, value in logger.told if what == "epsilon_spent"]
    assert [step for step, what, _ in logger.told if what == "epsilon_spent"] == [4, 6]
    assert {value for _, what, value in logger.told if what == "epsilon_planned"} == {made.plan.cost()}
    assert 0 < spent[0] < spent[1] == made.plan.cost() == made.guarantee().epsilon.upper
    made.close()


def test_a_function_or_a_bar_of_tqdm_will_do(tmp_path):
    class Bar:
        n = 0
        shown = None

        def update(self, by):
            self.n += by

        def set_postfix(self, values):
            self.shown = values

    bar, told = Bar(), []
    train(run(tmp_path, callback=[LogTo(bar, every=1), LogTo(lambda values, step: told.append(step), every=1)])).close()
    assert (bar.n, told) == (6, [1, 2, 3, 4, 5, 6])
    assert set(bar.shown) == {"epsilon_spent", "epsilon_planned"}
    with pytest.raises(InvalidInput, match="add_scalar, log_metrics, log or set_postfix"):
        LogTo(7)


def test_the_bar_shows_epsilon_and_no_loss_unless_it_is_asked_for(tmp_path):
    for reveal in (False, True):
        out = io.StringIO()
        bar = Progress(reveal_loss=reveal, every=0.0, console=Console(file=out, width=200, force_terminal=True))
        train(run(tmp_path, name=f"{reveal}.jsonl", callback=bar)).close()
        assert "spent epsilon" in out.getvalue()
        assert ("(private)" in out.getvalue()) is reveal


def test_a_budget_ends_a_run_at_a_step_that_was_known_beforehand(tmp_path):
    planned = plan()
    budget = Filter(epsilon=5.0, delta=1e-5, expected=planned.event(0))
    stop = StopWithin(budget)
    made = train(run(tmp_path, callback=stop))
    steps = stop.steps(planned)
    assert made.steps == steps
    assert (steps, planned.steps) == (3, 6)
    assert made.record.stopped
    assert made.record.data_independent
    assert made.guarantee().epsilon == made.spent().epsilon
    assert made.guarantee().epsilon.upper <= 5.0
    made.close()


def test_a_budget_that_admits_nothing_ends_a_run_before_its_first_step(tmp_path):
    made = train(run(tmp_path, callback=StopWithin(Filter(epsilon=0.01, delta=1e-5, expected=plan().event(0)))))
    assert (made.steps, made.record.stopped) == (0, True)
    made.close()


@pytest.mark.parametrize("declared", [False, True])
def test_a_stop_costs_the_whole_plan_unless_it_is_declared_data_independent(tmp_path, declared):
    made = train(run(tmp_path, callback=lambda moment: Stop(data_independent=declared) if moment.step == 2 else None))
    assert made.steps == 2
    assert (made.guarantee().epsilon == made.spent().epsilon) is declared
    made.close()
    assert replay(tmp_path / "run.jsonl").guarantee() == made.guarantee()


def test_a_callback_is_a_function(tmp_path):
    with pytest.raises(InvalidInput, match="a callback is a function of a Moment"):
        run(tmp_path, callback="progress")
