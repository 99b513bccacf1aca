"""Several runs on the same data: their releases add up, each once, and a ledger pays for a run before it draws anything."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
import torch

import renyi
from renyi import Adjacency, Filter, Gaussian, InvalidInput, Laplace, Ledger, Poisson, UnsupportedError
from renyi.ledger import Exhausted, Journal, JournalError, KeyReused, NotInLedger, Payer, Unavailable
from renyi.ledger.journal import entries
from renyi.training import LeakError, Run, Study, TrainingError, replay
from renyi.training.recording import record as lines
from renyi.training.recording.findings import Looks
from tests.training.support import losses, model, plan, train

FROZEN = Path(__file__).parents[1] / "frozen" / "formats" / "finished.jsonl"
STEP = Gaussian(1.0).on(Poisson(0.3))


def run(path, ledger=None, *, resume=False, loss=losses, **changes):
    net = model()
    make = Run.resume if resume else Run
    return make(plan(**changes), net, torch.optim.SGD(net.parameters(), lr=0.1), loss, journal=path, ledger=ledger)


def done(path, ledger=None, *, until=None, **options):
    """A run of so many steps, or of all, which is then closed."""
    made = train(run(path, ledger, **options), steps=until)
    made.close()
    return made


def written(path, releases, *, more=(), **changes):
    """The journal of a run that released so often, without training anything; ``more`` lines follow."""
    made = plan(**changes)
    first = lines.begun(made, private=True, looks=Looks(23, 8), opened=lines.Opened.now())
    with Journal(path) as journal:
        for line in (first, *(released(made, step) for step in range(releases)), *more):
            journal.append(line)
    return made


def released(made, step):
    return lines.released(made, made.hash, step, bound=made.clip.bound)


def resumed():
    return lines.resumed(private=True, torn=0, opened=lines.Opened.now())


def continued(path, releases):
    """Resume a run and release so often."""
    record = lines.Record()
    with Journal(path, record.add) as journal:
        journal.append(resumed())
        for step in range(record.steps, record.steps + releases):
            journal.append(released(record.plan, step))


@pytest.fixture
def ledger(tmp_path):
    (tmp_path / "ledger").mkdir()
    with Ledger.open(tmp_path / "ledger" / "budget.db", who="ada") as made:
        made.create("digits", Filter(epsilon=20.0, delta=1e-5, expected=STEP), unit="example")
        yield made


def acts(ledger):
    return [line.act.act for line in ledger.history()]


# Declared beforehand.


def test_three_runs_of_epsilon_2_are_3_05_together(tmp_path):
    changes = {"sampling": Poisson(0.1), "steps": 12, "noise_multiplier": None, "epsilon": 2.0}
    declared = Study.declare(tmp_path, [plan(**changes)] * 3)
    promised = declared.guarantee().epsilon
    for number in range(3):
        made = done(tmp_path / f"{number}.jsonl", **changes)
        assert made.guarantee().epsilon.upper == pytest.approx(2.0, abs=1e-6)
    study = Study(tmp_path)
    assert study.guarantee().epsilon == study.spent().epsilon == promised
    assert promised.upper == pytest.approx(3.05, abs=0.005)
    assert promised.upper == renyi.epsilon(plan(**changes).event(0) * 36, delta=1e-5)
    assert "36 steps" in str(study.guarantee())
    assert "36 steps" in str(renyi.statement(study))
    assert not any(text.startswith("one run:") for text in study.guarantee().assumptions)


def test_other_releases_and_runs_that_have_not_begun_count_and_a_declared_stop_counts_for_what_it_is(tmp_path):
    Study.declare(tmp_path, [plan(), plan(), plan(steps=4)], others=Laplace(10.0) * 2)
    written(tmp_path / "a.jsonl", 2, more=[lines.stopped(data_independent=True)])
    written(tmp_path / "b.jsonl", 2, more=[lines.stopped(data_independent=False)])
    study = Study(tmp_path)
    assert study.guarantee().event == (STEP * (2 + 6 + 4) + Laplace(10.0) * 2).canonical()
    assert study.spent().event == (STEP * 4 + Laplace(10.0) * 2).canonical()


def test_a_run_that_was_not_declared_leaves_no_upper_end_and_what_was_spent_is_shown_as_that(tmp_path):
    study = Study.declare(tmp_path / "declared", [plan()])
    written(tmp_path / "declared" / "a.jsonl", 6)
    assert Study(tmp_path / "declared").guarantee().epsilon == study.guarantee().epsilon
    written(tmp_path / "declared" / "b.jsonl", 6, noise_multiplier=2.0)
    answer = Study(tmp_path / "declared").guarantee()
    assert answer.epsilon.upper == float("inf")
    assert "NOT COVERED" in str(answer)
    assert any("b.jsonl was not declared before the first run" in text for text in answer.assumptions)
    written(tmp_path / "a.jsonl", 6)
    undeclared = Study(tmp_path)
    assert undeclared.guarantee().epsilon.upper == float("inf")
    spent = undeclared.spent()
    assert spent.epsilon.upper == plan().cost()
    assert any(
        "only if all of it, and the moment of asking, was fixed beforehand" in text for text in spent.assumptions
    )


def test_a_declaration_is_fixed_before_the_first_run_and_stays(tmp_path):
    Study.declare(tmp_path, [plan()])
    with pytest.raises(TrainingError, match="was declared before, and is closed"):
        Study.declare(tmp_path, [plan(), plan()])
    written(tmp_path / "a.jsonl", 1)
    with pytest.raises(TrainingError, match=r"before the study was declared \(a\.jsonl\)"):
        Study.declare(tmp_path, [plan()])


def test_that_other_releases_are_made_once_is_an_assumption_of_a_study_that_declares_some(tmp_path):
    for others, said in ((None, False), (Laplace(10.0) * 2, True)):
        study = Study.declare(tmp_path / str(said), [plan()], others=others)
        assert any("would not be noticed" in text for text in study.guarantee().assumptions) is said


def test_what_cannot_be_a_study_is_refused(tmp_path, ledger):
    with pytest.raises(InvalidInput, match="no journal"):
        Study(tmp_path)
    with pytest.raises(InvalidInput, match="not a directory"):
        Study(tmp_path / "missing")
    with pytest.raises(InvalidInput, match="goes with a ledger"):
        Study(tmp_path, journals=[])
    with pytest.raises(InvalidInput, match="declared by its plans"):
        Study.declare(tmp_path, [])
    with pytest.raises(InvalidInput, match="others must be an event"):
        Study.declare(tmp_path, [plan()], others=3.0)
    with pytest.raises(InvalidInput, match="have one unit; these have example and person"):
        Study.declare(tmp_path, [plan(), plan(unit="person")])
    with pytest.raises(InvalidInput, match="have one adjacency; these have add-or-remove and zero-out"):
        Study.declare(tmp_path, [plan(), plan(adjacency=Adjacency.ZERO_OUT)])
    with pytest.raises(InvalidInput, match="several deltas"):
        Study.declare(tmp_path, [plan(), plan(delta=1e-6)])
    assert Study.declare(tmp_path / "a", [plan(), plan(delta=1e-6)], delta=1e-7).guarantee().delta == 1e-7
    with pytest.raises(NotInLedger, match="no dataset 'letters'"):
        Study(Payer(ledger, "letters"))


@pytest.mark.parametrize(
    "payloads",
    [[], [{}], [{"format": "renyi-study", "version": 2}], [{"format": "renyi-study", "version": 1, "plans": [3]}]],
    ids=str,
)
def test_a_file_that_declares_nothing_is_an_error(tmp_path, payloads):
    with Journal(tmp_path / "study.jsonl") as journal:
        for payload in payloads:
            journal.append(payload)
    with pytest.raises(JournalError, match="does not declare a study"):
        Study(tmp_path)


# Copies.


def test_of_a_journal_that_was_copied_and_continued_twice_the_beginning_counts_once(tmp_path):
    written(tmp_path / "a.jsonl", 2)
    for name in ("b.jsonl", "stale.jsonl"):
        shutil.copy(tmp_path / "a.jsonl", tmp_path / name)
    continued(tmp_path / "a.jsonl", 4)
    continued(tmp_path / "b.jsonl", 4)
    assert Study(tmp_path).released == STEP * (2 + 4 + 4)
    shutil.copy(tmp_path / "b.jsonl", tmp_path / "backup.jsonl")
    assert Study(tmp_path).released == STEP * (2 + 4 + 4)
    for runs, finite in ((2, True), (1, False)):
        Study.declare(tmp_path / str(runs), [plan()] * runs)
        for name in ("a.jsonl", "b.jsonl", "stale.jsonl", "backup.jsonl"):
            shutil.copy(tmp_path / name, tmp_path / str(runs) / name)
        answer = Study(tmp_path / str(runs)).guarantee()
        assert answer.event == STEP * (2 + 4 + 4)
        assert (answer.epsilon.upper < 100.0) == finite  # the second tail is a run of its own, declared or not


def test_a_copy_of_a_run_that_goes_on_counts_too(tmp_path):
    written(tmp_path / "a.jsonl", 3)
    short = (tmp_path / "a.jsonl").read_bytes().splitlines(keepends=True)[:2]
    (tmp_path / "b.jsonl").write_bytes(b"".join(short))
    assert Study(tmp_path).released == STEP * 3
    continued(tmp_path / "b.jsonl", 1)
    assert Study(tmp_path).released == STEP * (3 + 1)
    continued(tmp_path / "b.jsonl", 3)  # now the longer one
    assert Study(tmp_path).released == STEP * (3 + 4)


def test_a_copy_that_was_opened_and_stopped_counts_for_its_plan_unless_the_stop_is_declared(tmp_path):
    written(tmp_path / "a.jsonl", 6)
    text = (tmp_path / "a.jsonl").read_bytes().splitlines(keepends=True)
    for name, declared in (("b.jsonl", True), ("c.jsonl", False)):
        (tmp_path / name).write_bytes(b"".join(text[:3]))
        with Journal(tmp_path / name) as journal:
            for line in (resumed(), lines.stopped(data_independent=declared)):
                journal.append(line)
    study = Study(tmp_path)
    assert study.released == STEP * 6
    assert study.guarantee().event == STEP * (6 + 4)


def test_two_runs_of_one_plan_are_two_runs(tmp_path):
    done(tmp_path / "a.jsonl")
    done(tmp_path / "b.jsonl")
    assert Study(tmp_path).released == STEP * 12


def test_journals_from_before_runs_had_ids_count_in_full(tmp_path):
    for name in ("a.jsonl", "b.jsonl"):
        shutil.copy(FROZEN, tmp_path / name)
    assert Study(tmp_path).released == replay(FROZEN).event * 2


@pytest.mark.parametrize("seed", range(20))
def test_each_release_counts_once_however_journals_were_copied_and_continued(tmp_path, seed):
    """Against a simulation that knows what was released."""
    chance, total = random.Random(seed), 0
    for number in range(8):
        path, others = tmp_path / f"{number}.jsonl", list(tmp_path.glob("*.jsonl"))
        if not others or chance.random() < 0.3:
            count = chance.randrange(7)
            written(path, count)
        else:
            source = chance.choice(others)
            if chance.random() < 0.7:
                text = source.read_bytes().splitlines(keepends=True)
                path.write_bytes(b"".join(text[: chance.randint(1, len(text))]))
            else:
                path = source
            count = chance.randint(0, 6 - replay(path).steps)
            continued(path, count)
        total += count
    assert Study(tmp_path).released == (STEP * total).canonical()


# What went wrong in one run.


def test_a_leak_in_one_run_and_a_public_seed_taint_the_study(tmp_path):
    Study.declare(tmp_path, [plan()] * 2)
    written(tmp_path / "a.jsonl", 6)
    leak = lines.leaking(release=4, last_clean=1, what="units reach each other.")
    written(tmp_path / "b.jsonl", 3, more=[leak])
    study = Study(tmp_path)
    for answer in (study.guarantee(), study.spent()):
        assert answer.epsilon.upper == float("inf")
        assert "LEAK FOUND" in answer.method
        assert answer.assumptions[0].startswith("LEAK FOUND by the look before release 4")
    with Journal(tmp_path / "a.jsonl") as journal:
        journal.append(lines.resumed(private=False, torn=0, opened=lines.Opened.now()))
    assert "NOT PRIVATE: seeded test" in Study(tmp_path).guarantee().method


# A ledger pays.


def test_a_run_reserves_its_plan_before_its_first_step_and_settles_when_it_ends(tmp_path, ledger):
    made = run(tmp_path / "run.jsonl", ledger)
    assert ledger.released() == STEP * 6
    assert acts(ledger) == ["open", "reserve", "draw"]
    assert [waiting.owner for waiting in ledger.status().unsettled] == ["ada"]
    train(made)
    assert acts(ledger) == ["open", "reserve", "draw", "commit"]
    made.close()
    assert ledger.released() == made.guarantee().event == STEP * 6
    assert ledger.status().unsettled == ()
    ledger.verify()


@pytest.mark.parametrize(("data_independent", "counted"), [(True, 2), (False, 6)])
def test_only_a_stop_that_depends_on_no_data_gives_back_what_was_not_released(
    tmp_path, ledger, data_independent, counted
):
    made = train(run(tmp_path / "run.jsonl", ledger), steps=2)
    made.stop(data_independent=data_independent)
    made.close()
    assert acts(ledger) == ["open", "reserve", "draw", "commit"]
    assert ledger.released() == STEP * counted
    assert Study(ledger, journals=tmp_path).guarantee().epsilon.upper == 20.0


def test_a_run_that_does_not_fit_is_refused_before_anything_is_drawn_or_written(tmp_path, ledger):
    with pytest.raises(Exhausted, match="does not admit this release"):
        run(tmp_path / "run.jsonl", ledger, steps=600)
    assert (tmp_path / "run.jsonl").read_bytes() == b""
    assert acts(ledger) == ["open"]
    done(tmp_path / "run.jsonl", ledger)


def test_a_run_whose_journal_cannot_begin_gives_its_reservation_back(tmp_path, ledger, monkeypatch):
    def full(*_):
        raise JournalError("no space is left.")

    monkeypatch.setattr(Journal, "append", full)
    with pytest.raises(JournalError, match="no space"):
        run(tmp_path / "run.jsonl", ledger)
    assert acts(ledger) == ["open", "reserve", "void"]


def test_a_run_that_goes_on_finds_its_reservation(tmp_path, ledger):
    done(tmp_path / "run.jsonl", ledger, until=2)
    assert len(ledger.status().unsettled) == 1  # nobody settled it, so that it counts as spent
    assert ledger.released() == STEP * 6
    done(tmp_path / "run.jsonl", ledger, until=1, resume=True)
    made = train(run(tmp_path / "run.jsonl", ledger, resume=True), steps=1)
    made.stop(data_independent=True)
    assert acts(ledger).count("reserve") == 1
    assert ledger.released() == made.guarantee().event == STEP * 4
    made.close()
    assert Study(ledger, journals=tmp_path).guarantee().epsilon.upper == 20.0


def test_a_finished_run_that_nobody_settled_is_settled_when_it_is_resumed(tmp_path, ledger, monkeypatch):
    def away(*_, **__):
        raise Unavailable("the server is away.")

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "commit", away)
        with pytest.warns(UserWarning, match="stays open, and counts as spent: the server"):
            done(tmp_path / "run.jsonl", ledger)
    assert len(ledger.status().unsettled) == 1
    for _ in range(2):
        run(tmp_path / "run.jsonl", ledger, resume=True).close()
        assert ledger.status().unsettled == ()
    assert ledger.released() == STEP * 6


def test_of_two_copies_that_both_go_on_the_second_reserves_again(tmp_path, ledger):
    done(tmp_path / "a.jsonl", ledger, until=2)
    shutil.copy(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    first = run(tmp_path / "a.jsonl", ledger, resume=True)
    second = run(tmp_path / "b.jsonl", ledger, resume=True)
    train(second, steps=1).stop(data_independent=True)
    second.close()
    train(first).close()
    assert ledger.released() == STEP * (6 + 1)
    study = Study(ledger, journals=tmp_path)
    assert study.released == STEP * (6 + 1)
    assert study.guarantee().epsilon.upper == 20.0
    assert ledger.status().unsettled == ()


def test_a_copy_that_goes_on_after_its_original_was_settled_reserves_again(tmp_path, ledger):
    done(tmp_path / "a.jsonl", ledger, until=2)
    shutil.copy(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    done(tmp_path / "a.jsonl", ledger, resume=True)
    done(tmp_path / "b.jsonl", ledger, resume=True)
    assert ledger.released() == STEP * (6 + 4) == Study(ledger, journals=tmp_path).released


def test_a_copy_that_goes_on_beside_its_living_original_is_seen_by_the_study(tmp_path, ledger):
    first = train(run(tmp_path / "a.jsonl", ledger), steps=2)
    shutil.copy(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    done(tmp_path / "b.jsonl", ledger, resume=True)
    with pytest.warns(UserWarning, match=r"a copy .* was continued while .* The 6 steps of this one were charged"):
        train(first)
    first.close()
    assert ledger.released() == STEP * (6 + 6)  # two of them twice: nobody can tell when the copy was made
    study = Study(ledger, journals=tmp_path)
    assert study.guarantee().epsilon.upper == float("inf")
    assert any("under one reservation" in text for text in study.guarantee().assumptions)
    assert study.released == STEP * (6 + 4)


def test_an_original_that_ends_before_its_copy_pays_for_itself(tmp_path, ledger):
    first = train(run(tmp_path / "a.jsonl", ledger), steps=2)
    shutil.copy(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    second = run(tmp_path / "b.jsonl", ledger, resume=True)
    train(first, steps=1)
    with pytest.warns(UserWarning, match="The 3 steps of this one were charged"):
        first.stop(data_independent=True)  # which gives back three steps that the copy goes on to release
    first.close()
    with pytest.warns(UserWarning, match="The 4 steps of this one were charged"):
        train(second)
    second.close()
    assert ledger.released() == STEP * (3 + 3 + 4)
    assert Study(ledger, journals=tmp_path).released == STEP * (3 + 4)


def test_steps_beside_a_copy_are_seen_by_the_study_also_if_a_later_reservation_does_not_hold_them(tmp_path, ledger):
    first = train(run(tmp_path / "a.jsonl", ledger), steps=2)
    shutil.copy(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    done(tmp_path / "b.jsonl", ledger, resume=True)
    train(first, steps=3).close()  # not at its end, so that it settles nothing
    done(tmp_path / "a.jsonl", ledger, resume=True)
    assert ledger.released() == STEP * (6 + 1)
    study = Study(ledger, journals=tmp_path)
    assert study.released == STEP * (6 + 4)
    assert any("under one reservation" in text for text in study.guarantee().assumptions)
    assert study.guarantee().epsilon.upper == float("inf")


def test_steps_beside_a_copy_that_the_budget_does_not_admit_are_told_of(tmp_path, ledger):
    first = train(run(tmp_path / "a.jsonl", ledger), steps=2)
    shutil.copy(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    done(tmp_path / "b.jsonl", ledger, resume=True)
    ledger.spend(STEP * ledger.what_if(STEP).left)
    with pytest.warns(UserWarning, match="2 steps were released that the ledger could not be charged for"):
        first.stop(data_independent=True)
    first.close()


def test_a_run_goes_on_with_the_ledger_it_began_with(tmp_path, ledger):
    done(tmp_path / "run.jsonl", ledger, until=1)
    with pytest.raises(TrainingError, match="has a reservation in a ledger, from the dataset 'digits'"):
        run(tmp_path / "run.jsonl", resume=True)
    ledger.create("letters", Filter(epsilon=20.0, delta=1e-5), unit="example")
    ledger.allot(1, team="ours", dataset="digits")
    with pytest.raises(NotInLedger, match="Known: digits, letters"):
        run(tmp_path / "run.jsonl", ledger, resume=True)
    with pytest.raises(TrainingError, match="in the dataset 'digits', not in 'letters'"):
        run(tmp_path / "run.jsonl", Payer(ledger, "letters"), resume=True)
    with pytest.raises(KeyReused):
        run(tmp_path / "run.jsonl", Payer(ledger, "digits", team="ours"), resume=True)
    done(tmp_path / "other.jsonl", until=1)
    with pytest.raises(TrainingError, match="began without a ledger"):
        run(tmp_path / "other.jsonl", Payer(ledger, "digits"), resume=True)
    done(tmp_path / "team.jsonl", Payer(ledger, "digits", team="ours"))
    assert ledger.released("digits") == STEP * 12


def test_a_budget_about_others_is_refused(tmp_path, ledger):
    with pytest.raises(InvalidInput, match="protects each 'example', this plan each 'person'"):
        run(tmp_path / "run.jsonl", ledger, unit="person")
    with pytest.raises(InvalidInput, match="about add-or-remove neighbours, this plan about zero-out"):
        run(tmp_path / "run.jsonl", ledger, adjacency=Adjacency.ZERO_OUT)
    with pytest.raises(InvalidInput, match="ledger must be a Ledger"):
        run(tmp_path / "run.jsonl", "budget.db")
    written(tmp_path / "person.jsonl", 1, unit="person")
    with pytest.raises(InvalidInput, match="this plan each 'person'"):
        Study(ledger, journals=[tmp_path / "person.jsonl"])
    assert acts(ledger) == ["open"]


def test_a_study_of_a_ledger_promises_its_budget_and_shows_what_was_spent(tmp_path, ledger):
    ledger.spend(Laplace(10.0))
    done(tmp_path / "a.jsonl", ledger)
    study = Study(ledger, journals=tmp_path)
    answer = study.guarantee()
    assert (answer.epsilon.lower, answer.epsilon.upper, answer.delta) == (0.0, 20.0, 1e-5)
    assert (answer.method, answer.unit) == ("the budget of a filter", "example")
    assert renyi.epsilon(answer.event, delta=1e-5) == 20.0
    assert "(20, 1e-05)" in str(answer)
    assert "20" in str(renyi.statement(study))
    assert study.spent().event == (STEP * 6 + Laplace(10.0)).canonical()
    assert study.spent().epsilon.upper < 20.0
    assert str(study).startswith(f"A study of 1 journal. What it promises: {answer} What counts as released so far, ")
    assert str(study).endswith(f"only if all of it was fixed beforehand: {study.spent()}")
    done(tmp_path / "b.jsonl")
    study = Study(ledger, journals=[tmp_path / "a.jsonl", tmp_path / "b.jsonl"])
    assert study.guarantee().epsilon.upper == float("inf")
    assert any("b.jsonl was not charged to the ledger" in text for text in study.guarantee().assumptions)
    assert study.spent().event == (STEP * 12 + Laplace(10.0)).canonical()


def test_a_budget_of_rho_has_no_single_epsilon(tmp_path):
    with Ledger.open(tmp_path / "budget.db") as ledger:
        ledger.create("digits", Filter.zcdp(rho=0.5, delta=1e-6))
        with pytest.raises(UnsupportedError, match=r"0\.5-zCDP"):
            Study(ledger).guarantee()
        assert str(Study(ledger)).startswith(
            "A study of 0 journals. What it promises: the guarantee of this study is its budget"
        )
        assert str(Study(ledger)).endswith(
            "for releases that are chosen one after another. Nothing was released so far."
        )


def test_a_leak_costs_the_plan_and_taints_the_study_of_a_ledger(tmp_path, ledger):
    def coupled(net, batch):
        x, y = batch
        return losses(net, (x - x.mean(0) * (made.steps > 1), y))

    made = run(tmp_path / "run.jsonl", ledger, loss=coupled)
    with pytest.raises(LeakError):
        train(made)
    made.stop(data_independent=True)
    made.close()
    assert ledger.released() == STEP * 6
    assert "LEAK" in list(ledger.history())[-1].note["why"]
    answer = Study(ledger, journals=tmp_path).guarantee()
    assert answer.epsilon.upper == float("inf")
    assert "LEAK FOUND" in answer.method


def test_a_journal_tells_its_reservation_and_the_ledger_not_its_secret(tmp_path, ledger):
    done(tmp_path / "run.jsonl", ledger, until=1)
    first = next(iter(entries(tmp_path / "run.jsonl"))).payload["opened"]
    assert first["ledger"] == "digits"
    assert len(first["id"]) == 32
    ledger.export(tmp_path / "ledger.txt")
    assert first["id"] not in (tmp_path / "ledger.txt").read_text()
