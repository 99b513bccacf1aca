"""Nothing private in passing: no value of a person, no sum, noise or key in an error that leaves a step."""

from __future__ import annotations

import os
import threading
import traceback

import pytest
import torch

from renyi.training import Run, TrainingError, seeded
from renyi.training.hiding.hidden import HiddenError
from renyi.training.randomness.entropy import Keys
from tests.training.support import dataset, losses, model, plan, run, train

SECRET = 1234.5678


def shown(error: BaseException) -> str:
    """All that a traceback with local variables shows, of the error and of those behind it, but for the test's own frame."""
    found = traceback.TracebackException.from_exception(error, capture_locals=True)
    del found.stack[0]
    return "".join(found.format())


def quoting(net, batch):
    label = SECRET + batch[1]
    raise ValueError(f"no such label: {label}")


def test_an_error_of_the_loss_says_where_and_not_what(tmp_path):
    made = run(tmp_path, loss=quoting)
    with pytest.raises(
        HiddenError, match=r"ValueError was raised at .*test_hidden.py:\d+.*reveal_errors=True"
    ) as caught:
        train(made)
    assert "1234" not in shown(caught.value)
    assert "1235" not in shown(caught.value)
    assert "tensor(" not in shown(caught.value)
    made.close()


def test_it_says_what_where_that_is_asked_for(tmp_path):
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    made = Run(plan(), net, optimizer, quoting, journal=tmp_path / "run.jsonl", reveal_errors=True)
    with pytest.raises(ValueError, match="no such label: tensor"):
        train(made)
    made.close()


def failing_optimizer(parameters):
    class Failing(torch.optim.SGD):
        def step(self, closure=None):
            raise RuntimeError("of the optimizer")

    return Failing(parameters, lr=0.1)


def failing_noise(*_, **__):
    raise MemoryError("of the noise")


@pytest.mark.parametrize("where", ["optimizer", "noise", "interrupt"])
def test_no_sum_noise_or_key_is_in_a_traceback(tmp_path, where, monkeypatch):
    keys, net = seeded(3), model()
    optimizer = failing_optimizer(net.parameters()) if where == "optimizer" else None
    made = run(tmp_path, net=net, optimizer=optimizer, keys=keys)
    if where == "noise":
        monkeypatch.setattr("renyi.training.release.round_in_place", failing_noise)
    if where == "interrupt":

        def interrupted(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(made._clipper, "sums", interrupted)
    with pytest.raises((HiddenError, KeyboardInterrupt)) as caught:
        train(made)
    text = shown(caught.value)
    assert "tensor(" not in text
    assert repr(keys.key("noise", 0, "0.weight")) not in text
    assert repr(keys._secret) not in text
    assert all(
        frame.name in ("step", "train", "test_no_sum_noise_or_key_is_in_a_traceback")
        for frame in traceback.extract_tb(caught.tb)
    )
    made.close()


def test_our_own_errors_keep_their_words_and_lose_their_frames(tmp_path):
    made = run(tmp_path, loss=lambda net, batch: losses(net, batch).mean())
    with pytest.raises(TrainingError) as caught:
        train(made)
    assert not isinstance(caught.value, HiddenError)
    assert "tensor(" not in shown(caught.value)
    made.close()


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_keys_made_before_a_fork_are_refused_after_it():
    keys = Keys()
    child = os.fork()
    if child == 0:
        refused = 0
        for use in (keys.bind, lambda: keys.key("noise", 0)):
            try:
                use()
            except TrainingError:
                refused += 1
        os._exit(refused)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    keys.bind()


def test_a_run_belongs_to_one_thread_at_a_time(tmp_path):
    made = run(tmp_path)
    made._releaser._turn.acquire()
    with pytest.raises(TrainingError, match="another thread"):
        train(made)
    made._releaser._turn.release()
    thread = threading.Thread(target=lambda: train(made, dataset(), steps=1))
    thread.start()
    thread.join()
    assert made.steps == 1
    made.close()


def test_checkpoints_are_for_their_owner_and_follow_no_link(tmp_path):
    made = train(run(tmp_path), steps=1)
    target, elsewhere = tmp_path / "run.pt", tmp_path / "elsewhere"
    (tmp_path / "run.pt.partial").symlink_to(elsewhere)
    made.save(target)
    assert target.stat().st_mode & 0o777 == 0o600
    assert not elsewhere.exists()
    assert [path.name for path in tmp_path.iterdir() if "partial" in path.name] == ["run.pt.partial"]
    made.close()
