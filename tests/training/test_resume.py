"""Checkpoint and resume: the journal is the truth, the plan stays, the keys do not."""

from __future__ import annotations

import pickle
import shutil

import pytest
import torch

import renyi
from renyi import Adjacency, Poisson
from renyi.ledger import TamperedJournal, read
from renyi.training import AdaptiveClip, Run, TrainingError, replay, seeded
from tests.training.support import dataset, losses, model, plan, run, train, weights


def resumed(tmp_path, *, checkpoint=None, net=None, keys=None, name="run.jsonl", make=None, **changes):
    net = model() if net is None else net
    optimizer = (make or (lambda p: torch.optim.SGD(p, lr=0.1)))(net.parameters())
    made = Run.resume(
        plan(**changes), net, optimizer, losses, journal=tmp_path / name, checkpoint=checkpoint, keys=keys
    )
    made.net, made.sgd = net, optimizer
    return made


def saved(tmp_path, steps, **changes):
    made = train(run(tmp_path, **changes), steps=steps)
    made.save(tmp_path / "run.pt")
    made.close()
    return made


def test_a_resumed_run_goes_on_where_it_was_and_ends_with_the_plan(tmp_path):
    first = saved(tmp_path, 2)
    made = resumed(tmp_path, checkpoint=tmp_path / "run.pt")
    assert torch.equal(weights(made.net), weights(first.net))
    assert made.steps == 2
    train(made)
    assert made.steps == 6
    answer = made.guarantee()
    made.close()
    assert answer.event == plan().events()
    assert answer == replay(tmp_path / "run.jsonl").guarantee()
    kinds = [entry.payload["kind"] for entry in read(tmp_path / "run.jsonl")]
    assert kinds == ["run", "release", "release", "resumed", "release", "release", "release", "release"]


def test_the_optimizers_state_is_restored(tmp_path):
    adam = lambda p: torch.optim.Adam(p, lr=0.01)  # noqa: E731
    net = model()
    made = train(run(tmp_path, net=net, optimizer=adam(net.parameters())), steps=3)
    state = made.state_dict()
    made.close()
    again = resumed(tmp_path, checkpoint=state, make=adam)
    assert torch.equal(weights(again.net), weights(net))
    mine, theirs = again.sgd.state_dict()["state"], made.sgd.state_dict()["state"]
    assert all(torch.equal(mine[key]["exp_avg"], theirs[key]["exp_avg"]) for key in theirs)
    assert all(float(mine[key]["step"]) == 3 for key in theirs)
    again.close()


def beside(net, optimizer):
    """What people keep beside a model: a learning-rate scheduler and averaged weights."""
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=6)
    average = torch.optim.swa_utils.AveragedModel(net, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.5))
    return {"scheduler": scheduler, "ema": average}


def test_a_scheduler_and_averaged_weights_are_saved_and_restored(tmp_path):
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    also = beside(net, optimizer)
    made = Run(plan(), net, optimizer, losses, journal=tmp_path / "run.jsonl", also=also)
    for batch in made.batches(dataset(), physical_batch=60, steps=3):
        made.step(batch)
        also["scheduler"].step()
        also["ema"].update_parameters(net)
    made.save(tmp_path / "run.pt")
    made.close()
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    again = beside(net, optimizer)
    given = {"journal": tmp_path / "run.jsonl", "checkpoint": tmp_path / "run.pt"}
    Run.resume(plan(), net, optimizer, losses, also=again, **given).close()
    assert again["scheduler"].last_epoch == 3
    assert optimizer.param_groups[0]["lr"] == also["scheduler"].get_last_lr()[0] < 0.1
    assert torch.equal(weights(again["ema"]), weights(also["ema"]))
    assert not torch.equal(weights(again["ema"]), weights(net))
    with pytest.warns(UserWarning, match="also holds the state of scheduler, ema, which is not restored"):
        Run.resume(plan(), net, optimizer, losses, **given).close()
    with pytest.raises(TrainingError, match=r"no state of sampler, only of scheduler, ema\. Save it with the run"):
        Run.resume(plan(), net, optimizer, losses, also={**again, "sampler": net}, **given)


def test_a_checkpoint_holds_no_keys(tmp_path):
    made = train(run(tmp_path), steps=1)
    secret = made._keys._secret
    made.save(tmp_path / "run.pt")
    assert secret not in (tmp_path / "run.pt").read_bytes()
    assert secret not in pickle.dumps(made.state_dict())
    assert secret.hex() not in (tmp_path / "run.jsonl").read_text()
    assert set(made.state_dict()) == {"format", "plan", "steps", "journal", "bound", "model", "optimizer", "also"}
    made.close()


def test_a_resumed_run_draws_new_noise_and_new_batches(tmp_path):
    saved(tmp_path, 1)
    shutil.copy(tmp_path / "run.jsonl", tmp_path / "other.jsonl")
    ends = []
    for name in ("run.jsonl", "other.jsonl"):
        made = resumed(tmp_path, checkpoint=tmp_path / "run.pt", name=name)
        ends.append(weights(train(made, steps=1).net))
        made.close()
    assert (ends[0] != ends[1]).all()


@pytest.mark.parametrize(
    "change",
    [
        {"noise_multiplier": 0.9},
        {"steps": 7},
        {"sampling": Poisson(0.2)},
        {"clip": 2.0},
        {"delta": 1e-4},
        {"expected_batch": 20},
        {"adjacency": Adjacency.ZERO_OUT},
        {"unit": "person"},
    ],
    ids=str,
)
def test_another_plan_is_refused_and_said_which(tmp_path, change):
    saved(tmp_path, 2)
    with pytest.raises(TrainingError, match=f"another plan: {next(iter(change))} differ"):
        resumed(tmp_path, checkpoint=tmp_path / "run.pt", **change)
    resumed(tmp_path, checkpoint=tmp_path / "run.pt").close()  # the journal was given back


def test_a_shorter_journal_is_refused(tmp_path):
    saved(tmp_path, 4)
    lines = (tmp_path / "run.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "run.jsonl").write_bytes(b"".join(lines[:-1]))
    with pytest.raises(TrainingError, match="Releases would go uncharged"):
        resumed(tmp_path, checkpoint=tmp_path / "run.pt")


def test_another_runs_journal_is_refused(tmp_path):
    saved(tmp_path, 2)
    train(run(tmp_path, name="other.jsonl", keys=seeded(1))).close()
    with pytest.raises(TrainingError, match="of another run"):
        resumed(tmp_path, checkpoint=tmp_path / "run.pt", name="other.jsonl")


def test_a_missing_or_damaged_journal_is_refused(tmp_path):
    saved(tmp_path, 3)
    for name in ("missing.jsonl", "x" * 5_000):
        with pytest.raises(TrainingError, match="there is no journal"):
            resumed(tmp_path, checkpoint=tmp_path / "run.pt", name=name)
    assert not (tmp_path / "missing.jsonl").exists()
    text = (tmp_path / "run.jsonl").read_text().replace('"step":1', '"step":9')
    (tmp_path / "run.jsonl").write_text(text)
    with pytest.raises(TamperedJournal, match="line 3"):
        resumed(tmp_path, checkpoint=tmp_path / "run.pt")


def test_an_older_checkpoint_resumes_under_the_longer_record(tmp_path):
    """What was released after the checkpoint stays charged, though its weights are lost."""
    made = train(run(tmp_path), steps=1)
    made.save(tmp_path / "old.pt")
    train(made, steps=3)
    made.close()
    with pytest.warns(UserWarning, match=r"after 1 releases, and the journal holds 4: the updates of 3 steps are lost"):
        again = resumed(tmp_path, checkpoint=tmp_path / "old.pt")
    assert again.steps == 4
    assert again.spent().event == plan().events(0, 4)
    train(again)
    assert again.steps == 6
    assert again.guarantee().epsilon.upper == plan().cost()
    again.close()


def test_without_a_checkpoint_the_journal_alone_decides(tmp_path):
    train(run(tmp_path), steps=5).close()
    again = resumed(tmp_path)
    assert again.steps == 5
    train(again)
    assert again.steps == 6
    again.close()


def test_a_torn_last_line_is_noted(tmp_path):
    saved(tmp_path, 2)
    with (tmp_path / "run.jsonl").open("ab") as file:
        file.write(b'{"sequence":3,"prev')
    again = resumed(tmp_path, checkpoint=tmp_path / "run.pt")
    assert again.steps == 2
    again.close()
    line = read(tmp_path / "run.jsonl")[-1].payload
    assert (line["kind"], line["private"], line["torn_bytes"]) == ("resumed", True, 19)


def test_weights_alone_are_not_a_checkpoint(tmp_path):
    saved(tmp_path, 1)
    torch.save(model().state_dict(), tmp_path / "weights.pt")
    with pytest.raises(TrainingError, match="not a checkpoint of a run"):
        resumed(tmp_path, checkpoint=tmp_path / "weights.pt")


def test_a_stopped_run_cannot_go_on(tmp_path):
    made = train(run(tmp_path), steps=2)
    made.stop(data_independent=True)
    made.close()
    with pytest.raises(TrainingError, match="cannot go on"):
        resumed(tmp_path)


def test_once_seeded_never_private(tmp_path):
    saved(tmp_path, 1, keys=seeded(0))
    again = resumed(tmp_path, checkpoint=tmp_path / "run.pt")
    assert "NOT PRIVATE" in str(again.guarantee())
    again.close()


def test_the_adaptive_bound_goes_on(tmp_path):
    clip = AdaptiveClip(0.001, count_noise_multiplier=2.0, rate=0.5)
    made = saved(tmp_path, 4, clip=clip)
    bound = made._releaser.bound
    assert bound > 0.001
    again = resumed(tmp_path, checkpoint=tmp_path / "run.pt", clip=clip)
    assert again._releaser.bound == bound
    again.close()
    blind = resumed(tmp_path, clip=clip)
    assert blind._releaser.bound == replay(tmp_path / "run.jsonl").bound > 0.001
    blind.close()


def test_a_crash_while_saving_leaves_the_old_checkpoint(tmp_path, monkeypatch):
    made = train(run(tmp_path), steps=1)
    made.save(tmp_path / "run.pt")
    before = (tmp_path / "run.pt").read_bytes()
    train(made, steps=1)
    monkeypatch.setattr(torch, "save", lambda values, file: (file.write(b"half"), 1 / 0))
    with pytest.raises(ZeroDivisionError):
        made.save(tmp_path / "run.pt")
    assert (tmp_path / "run.pt").read_bytes() == before
    made.close()


def test_an_interrupted_release_is_charged_and_the_next_step_has_other_noise(tmp_path, monkeypatch):
    made = run(tmp_path, keys=seeded(3))
    monkeypatch.setattr(made.sgd, "step", lambda: (_ for _ in ()).throw(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        train(made, dataset(), steps=1)
    monkeypatch.undo()
    assert made.steps == 1
    assert all(parameter.grad is None for parameter in made.net.parameters())
    train(made)
    assert made.steps == 6
    assert made.guarantee().epsilon.upper == renyi.epsilon(plan().events(), delta=1e-5)
    made.close()
