"""The best of a secret number of runs: the number follows its law, and of the runs that lose nothing is left."""

from __future__ import annotations

import gc
import logging
import math
import os
import random
import tempfile
import traceback
import warnings
import weakref

import numpy as np
import pytest
import torch
from scipy import special, stats

import renyi
from renyi import Adjacency, Filter, Gaussian, InvalidInput, Laplace, Ledger, Poisson, Tuned
from renyi.ledger import Exhausted, Payer
from renyi.training import AdaptiveClip, LeakError, Schedule, Search, Study, TrainingError
from renyi.training.hiding.hidden import HiddenError
from renyi.training.randomness.chance import Chance
from renyi.training.searching import search as searching
from renyi.training.searching.contest import rank_of
from renyi.training.searching.covering import what_exceeds
from renyi.training.searching.number import expect_drawable, number_of_runs
from tests.training.support import dataset, losses, model, plan

DATA = dataset()
ONE = plan(steps=1)

# How many runs.


def law(mean, shape, most=20_000):
    """Probabilities of K = 0, 1, ...: each up to a factor by gamma functions, which sum to one."""
    number = np.arange(most)
    if shape == math.inf:
        return stats.poisson.pmf(number, mean)
    positive = number[1:]
    kernel = special.gammaln(positive + shape) - special.gammaln(positive + 1)
    weights = np.exp(kernel + positive * math.log1p(-Tuned(Gaussian(1.0), mean, shape).gamma))
    return np.append(0.0, weights / weights.sum())


LAWS = [(3.0, 1.0), (2.5, 0.0), (4.0, -0.5), (5.0, 4.0), (2.0, math.inf), (0.5, math.inf)]


@pytest.mark.parametrize(("mean", "shape"), LAWS)
def test_the_number_of_runs_follows_the_law_that_is_priced(mean, shape):
    expected, draws = law(mean, shape), 3_000
    assert np.arange(expected.size) @ expected == pytest.approx(mean, rel=1e-9)
    chance = Chance(random.Random(23).randbytes)
    drawn = np.bincount([number_of_runs(Tuned(Gaussian(1.0), mean, shape), chance) for _ in range(draws)], minlength=40)
    usual = np.flatnonzero(expected * draws >= 5.0)
    seen, counted = drawn[usual], expected[usual] * draws
    seen, counted = np.append(seen, draws - seen.sum()), np.append(counted, draws - counted.sum())
    assert stats.chisquare(seen, counted).pvalue > 0.01
    assert drawn[0] == 0 or shape == math.inf


def at(point):
    """A source whose bits stand for this number in [0, 1)."""
    return Chance(
        lambda count: min(int(point * 2**80) << (8 * count - 80), 2 ** (8 * count) - 1).to_bytes(count, "big")
    )


@pytest.mark.parametrize(("mean", "shape"), LAWS)
def test_the_number_of_runs_changes_where_the_law_has_its_steps(mean, shape):
    search, below = Tuned(Gaussian(1.0), mean, shape), np.cumsum(law(mean, shape))
    for number in range(1, 8):
        assert number_of_runs(search, at(below[number] - 1e-10)) == number
        assert number_of_runs(search, at(below[number] + 1e-10)) == number + 1
    assert number_of_runs(search, at(0)) == (0 if shape == math.inf else 1)
    assert 8 < number_of_runs(search, at(1)) < 10_000  # the largest number that 256 bits can stand for ends too


def test_a_search_of_one_run_makes_one_run():
    assert number_of_runs(Tuned(Gaussian(1.0), 1.0), at(0.999)) == 1


@pytest.mark.parametrize(
    ("mean", "shape", "words"),
    [
        (1e7, math.inf, "at most 1e\\+06 runs"),
        (1e7, 1.0, "may be as large as 1e\\+07"),
        (2.0, -0.99, "may be as large as"),
        (10.0, 1e12, "shape=math.inf for a Poisson"),
        (1.0 + 1e-12, 1.0, "mean=1 for a single run"),
    ],
)
def test_laws_that_no_search_could_follow_are_refused(mean, shape, words):
    with pytest.raises(InvalidInput, match=words):
        expect_drawable(Tuned(Gaussian(1.0), mean, shape))


def test_ties_are_decided_by_chance_and_no_number_is_below_every_number():
    chance = Chance(random.Random(5).randbytes)
    first = [rank_of(0.5, chance) > rank_of(0.5, chance) for _ in range(400)]
    assert 160 < sum(first) < 240
    assert rank_of(math.nan, chance) < rank_of(-1e300, chance) < rank_of(0.0, chance) < rank_of(math.inf, chance)
    assert {chance.below(3) for _ in range(50)} == {0, 1, 2}


# Which plans may compete.

PRICED = plan(steps=6, noise_schedule=Schedule.pieces((3, 1.0), (3, 0.8)))
COUNTED = plan(clip=AdaptiveClip(1.0, count_noise_multiplier=5.0))

COVERED = {
    "itself": (PRICED, PRICED),
    "another clip bound, batch and learning rate": (
        plan(clip=0.1, expected_batch=5, learning_rate_schedule=Schedule.linear(1, 0, steps=6)),
        plan(),
    ),
    "more noise": (plan(noise_multiplier=1.3), plan()),
    "a constant noise above a schedule": (plan(), PRICED),
    "fewer steps": (plan(steps=2), plan()),
    "a smaller rate": (plan(sampling=Poisson(0.01)), plan()),
    "no count": (plan(), COUNTED),
    "more noise on the count": (plan(clip=AdaptiveClip(3.0, count_noise_multiplier=6.0)), COUNTED),
}
EXCEEDING = {
    "takes 7 steps, the priced plan 6": (plan(steps=7), plan()),
    "draws at rate 0.4": (plan(sampling=Poisson(0.4), noise_multiplier=9.0), plan()),
    "at step 3 its noise multiplier is 0.8, that of the priced plan 1": (PRICED, plan()),
    "its clipping is adaptive": (COUNTED, plan()),
    "counts have a noise multiplier of 4": (plan(clip=AdaptiveClip(1.0, count_noise_multiplier=4.0)), COUNTED),
    "protects each 'person'": (plan(unit="person"), plan()),
    "under zero-out neighbours": (plan(adjacency=Adjacency.ZERO_OUT), plan()),
}


@pytest.mark.parametrize("name", COVERED)
def test_a_plan_that_is_covered_costs_no_more(name):
    less, priced = COVERED[name]
    assert what_exceeds(less, priced) is None
    assert less.cost() <= priced.cost() * (1 + 1e-6)


@pytest.mark.parametrize("words", EXCEEDING)
def test_a_plan_that_is_not_covered_is_told_why(words):
    assert words in what_exceeds(*EXCEEDING[words])


# The search.


def build(rate):
    net = model()
    return net, torch.optim.SGD(net.parameters(), lr=rate)


def total(net):
    return sum(parameter.detach().sum().item() for parameter in net.parameters())


def trained(search=None, *, candidates=(0.1,), build=build, data=DATA, loss=losses, score=total, **options):
    return (Search(ONE, mean=3) if search is None else search).run(candidates, build, data, loss, score, **options)


@pytest.fixture
def runs(monkeypatch):
    """So many runs, whatever the law says."""

    def of(count):
        monkeypatch.setattr(searching, "number_of_runs", lambda *_: count)

    of(3)
    return of


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Where temporary files go."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path / "temporary"


@pytest.fixture
def ledger(tmp_path):
    (tmp_path / "ledger").mkdir()
    with opened(tmp_path / "ledger") as made:
        yield made


@pytest.fixture(scope="module")
def untouched(tmp_path_factory):
    """A ledger for searches that never begin."""
    with opened(tmp_path_factory.mktemp("untouched")) as made:
        yield made


def opened(folder):
    ledger = Ledger.open(folder / "budget.db", who="ada")
    ledger.create("digits", Filter(epsilon=20.0, delta=1e-5), unit="example")
    return ledger


def acts(ledger):
    return [line.act.act for line in ledger.history()]


def test_of_the_runs_that_lose_nothing_is_left(runs, temporary, capfd, caplog, ledger):
    """Not in files, in what is printed, in memory, in the generators, or in the ledger."""
    made, numbers, journals, charged = [], [], set(), []

    def loud(*_):
        print("a run")
        os.write(1, b"a run")
        os.system("echo a run; echo a run >&2")
        logging.getLogger("loud").critical("a run")
        warnings.warn("a run", stacklevel=1)

    def noted(rate):
        net, optimizer = build(rate)
        made.append(weakref.ref(net))
        numbers.append((torch.rand(1).item(), np.random.rand(), random.random()))
        return net, optimizer

    def watched(net, batch):
        loud()
        charged.append(acts(ledger))
        journals.update(temporary.rglob("*.jsonl"))
        return losses(net, batch)

    def ranked(net):
        if len(made) > 2:  # not in the rehearsal
            loud()
        return float(len(made) == 4)  # the second of three runs is the best

    torch.manual_seed(0)
    before = torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        best = trained(build=noted, loss=watched, score=ranked, ledger=ledger)
    assert len(made) == 2 + 3  # twice in the rehearsal
    assert len(journals) == 3
    assert list(temporary.iterdir()) == []
    assert capfd.readouterr() == ("", "")
    assert (caplog.records, warned) == ([], [])
    gc.collect()
    assert [reference() is not None for reference in made] == [False, False, False, True, False]
    assert best.model is made[3]()
    assert (best.score, best.candidate) == (1.0, 0.1)
    assert len(set(numbers)) == len(numbers)  # runs differ in their seeds alone
    assert torch.equal(before[0], torch.get_rng_state())
    assert before[1:] == (np.random.get_state()[1].tolist(), random.getstate())
    assert {tuple(each) for each in charged} == {("open", "spend")}  # before the first run, and then
    assert acts(ledger) == ["open", "spend"]
    assert ledger.released() == Search(ONE, mean=3).event
    assert list(ledger.replay())[-1][1].accounts[0].odometer == ledger.status().accounts[0].odometer
    assert Study(ledger).guarantee().epsilon.upper == 20.0
    print("heard again")
    assert capfd.readouterr().out == "heard again\n"


def test_it_promises_what_tuned_costs_whatever_comes_of_it(runs, tmp_path):
    search = Search(ONE, mean=3)
    best = trained(search, rows_are_units=True)
    for answer in (search.guarantee(), best.guarantee()):
        assert answer.event == Tuned(ONE.events(), 3.0)
        assert answer.epsilon.upper == renyi.epsilon(Tuned(ONE.events(), mean=3), delta=1e-5) > ONE.cost()
        assert any(text.startswith("one search:") for text in answer.assumptions)
        assert not any(text.startswith(("one run:", "record:")) for text in answer.assumptions)
    assert any(text.startswith("looks:") for text in best.guarantee().assumptions)
    assert "The best of about 3 secret runs" in str(renyi.statement(best))
    assert Study.declare(tmp_path, [ONE], others=search.event).guarantee().event == ONE.events() + search.event


def test_no_run_at_all_gives_nothing_and_costs_the_same(runs, ledger):
    runs(0)
    search = Search(ONE, mean=0.5, shape=math.inf)
    assert trained(search, ledger=Payer(ledger, "digits")) is None
    assert ledger.released() == search.event


def test_a_score_on_private_data_is_part_of_the_event(runs):
    calls = []

    def noisy(net):
        calls.append(net)
        return -len(calls)

    search = Search(ONE, mean=3, scoring=Laplace(20.0))
    best = trained(search, score=noisy)
    assert len(calls) == 3  # and never in a rehearsal
    assert best.score == -1.0
    assert best.guarantee().event == Tuned(ONE.events() + Laplace(20.0), 3.0)
    assert any("Laplace" in text and "part of the event" in text for text in best.guarantee().assumptions)


def test_each_candidate_is_drawn_as_often_and_trains_by_its_own_plan(runs):
    runs(1)
    drawn = []

    def score(net):
        drawn.append(1)
        return 0.0

    found = {
        trained(candidates=(0.5, 1.0, 2.0), score=score, plans=lambda clip: plan(steps=1, clip=clip)).candidate
        for _ in range(3)
    }
    assert found <= {0.5, 1.0, 2.0}
    assert len(found) > 1


def shown(error):
    found = traceback.TracebackException.from_exception(error, capture_locals=True)
    assert len(found.stack) == 3  # two frames of this file, and one of the search
    return "".join(line for line in found.format() if "test_search" not in line)


@pytest.mark.parametrize("fault", [ValueError("label 1234.5 of run 2"), KeyboardInterrupt()])
def test_an_error_ends_the_search_without_a_trace_and_all_of_it_stays_charged(runs, temporary, ledger, capfd, fault):
    made = []

    def third(rate):
        made.append(rate)
        if len(made) > 3:  # after the rehearsal and a whole run
            raise fault
        return build(rate)

    with pytest.raises((HiddenError, KeyboardInterrupt)) as caught:
        trained(build=third, ledger=ledger)
    text = shown(caught.value)
    assert "1234" not in text
    assert "Winner" not in text
    assert isinstance(fault, KeyboardInterrupt) or "counts as spent whole" in str(caught.value)
    assert list(temporary.iterdir()) == []
    assert capfd.readouterr() == ("", "")
    assert acts(ledger) == ["open", "spend"]
    assert ledger.released() == Search(ONE, mean=3).event
    logging.getLogger("after").critical("heard")
    assert logging.root.manager.disable == 0


def test_a_leak_ends_the_search(runs):
    def coupled(net, batch):
        x, y = batch
        return losses(net, (x - x.mean(0), y))

    with pytest.raises(LeakError):
        trained(loss=coupled)


def test_a_search_that_the_budget_does_not_admit_never_begins(untouched):
    seen = []
    with pytest.raises(Exhausted):
        trained(Search(plan(steps=1, noise_multiplier=0.1), mean=3), loss=seen.append, ledger=untouched)
    with pytest.raises(InvalidInput, match="protects each 'example', this plan each 'person'"):
        trained(Search(plan(steps=1, unit="person"), mean=3), loss=seen.append, ledger=untouched, rows_are_units=True)
    assert seen == []
    assert acts(untouched) == ["open"]


SAME = build(0.1)

BAD_SEARCHES = {
    "needs the Plan": lambda: Search(0.1, mean=2),
    "mean number of runs of at least 1": lambda: Search(ONE, mean=0.5),
    "scoring must be the event": lambda: Search(ONE, mean=2, scoring=0.1),
    "delta": lambda: Search(ONE, mean=2, delta=2.0),
    "at most 1e\\+06 runs": lambda: Search(ONE, mean=1e9, shape=math.inf),
}
BAD_RUNS = {
    "at least one candidate": {"candidates": ()},
    "candidates must be a list": {"candidates": "abc"},
    "build must be a function": {"build": model()(torch.zeros(1, 4))},
    "score must be a function": {"score": 3},
    "take no callback; what Run.batches knows is possible: .*owners": {"callback": print},
    "take no steps": {"steps": 3},
    "must return a Plan; got None for 0.1": {"plans": lambda _: None},
    "the candidate 0.1 is not covered .* takes 2 steps, the priced plan 1": {"plans": lambda _: plan(steps=2)},
    "a new model and its optimizer, as a pair; got Sequential": {"build": lambda _: model()},
    "make a new model at every call": {"build": lambda _: SAME},
    "score.model. must return a number, the higher the better; got NoneType": {"score": lambda _: None},
    "got str": {"score": lambda _: "0.3"},
    "ledger must be a Ledger": {"ledger": "budget.db"},
}


@pytest.mark.parametrize("words", BAD_SEARCHES)
def test_what_cannot_be_a_search_is_refused(words):
    with pytest.raises(InvalidInput, match=words):
        BAD_SEARCHES[words]()


@pytest.mark.parametrize("words", BAD_RUNS)
def test_what_a_search_cannot_run_is_refused_before_it_is_charged(words, untouched):
    with pytest.raises((InvalidInput, TrainingError), match=words):
        trained(**({"ledger": untouched} | BAD_RUNS[words]))
    assert acts(untouched) == ["open"]
