"""Two processes train what one would: the same draws, one noise, one journal; and end together when one of them fails."""

from __future__ import annotations

import threading

import pytest
import torch
from torch import nn
from torch.utils.data import Subset

from renyi import Poisson
from renyi.ledger import read
from renyi.training import AdaptiveClip, Moment, Run, replay, seeded
from renyi.training.parallel import joining, workers
from tests.training.parallel.crew import Kill, crew
from tests.training.support import dataset, losses, model, plan, weights

STEPS = 4
NO_ANSWER = 6.0
"""Seconds after which a process that does not answer counts as hanging: nothing else here takes as long."""


def trained(folder, name, *, net=None, keys=7, data=None, resume=False, steps=None, physical_batch=5, **changes):
    """A run to its end, or for some steps: its weights, its guarantee, what it cost."""
    net = model() if net is None else net
    optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
    begin = Run.resume if resume else Run
    made = begin(
        plan(**{"steps": STEPS, **changes}),
        net,
        optimizer,
        losses,
        journal=folder / f"{name}.jsonl",
        keys=None if keys is None else seeded(keys),
        callback=net if isinstance(net, Turning) else None,
        **({"checkpoint": folder / f"{name}.pt"} if resume else {}),
    )
    with made:
        for batch in made.batches(dataset() if data is None else data, physical_batch=physical_batch, steps=steps):
            made.step(batch)
        made.save(folder / f"{name}.pt")
    return weights(net), made.guarantee(), made.steps


def scenarios(rank, folder):
    """Everything that ends well, in one pair of processes: they take seconds to start."""
    torch.manual_seed(rank)  # what each process draws for itself must not matter
    found = {"plain": trained(folder, "plain")}
    found["sparse"] = trained(folder, "sparse", sampling=Poisson(0.02), expected_batch=1)  # draws of nobody, or of one
    found["adaptive"] = trained(folder, "adaptive", clip=AdaptiveClip(1.0, count_noise_multiplier=5.0))
    found["secret"] = trained(folder, "secret", keys=None)
    other = model()
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.add_(rank)
    found["unlike weights"] = trained(folder, "unlike", net=other)
    found["some steps"] = trained(folder, "resumed", steps=2, keys=3)
    found["resumed"] = trained(folder, "resumed", resume=True, keys=4)
    found["resumed by one"] = trained(folder, "one", steps=2, keys=3)
    return found


def refusals(rank, folder):
    """What every process is told when one of them is unlike the others, one refusal after another."""
    data = dataset()
    mine = Subset(data, range(30 * rank, 30 * rank + 30))
    tries = {
        "another plan": lambda: trained(folder, "plan", noise_multiplier=1.0 + rank),
        "another code": lambda: edited(folder, rank),
        "another model": lambda: trained(folder, "model", net=nn.Sequential(nn.Linear(4, 2 + rank))),
        "its own part of the data": lambda: trained(folder, "part", data=mine),
        "another physical batch": lambda: trained(folder, "physical", physical_batch=5 + rank),
        "a journal that exists": lambda: trained(folder, "part"),
        "a loss that fails": lambda: trained(folder, "failing", net=Turning("fails", rank == 1)),
        "weights that are changed": lambda: trained(folder, "changed", net=Turning("moves", rank == 0)),
        "a leak": lambda: trained(folder, "leaking", net=Turning("couples", rank == 1)),
    }
    return {name: said(one) for name, one in tries.items()}


def edited(folder, rank):
    """A run in which one process has a file of code that the others lack: in a copy of the package, where nobody else looks."""
    before = joining.__file__
    copied = folder / f"code-{rank}" / "training" / "parallel"
    copied.mkdir(parents=True)
    (copied / "joining.py").write_text(f"rank = {rank}")
    joining.__file__ = str(copied / "joining.py")
    try:
        trained(folder, "code")
    finally:
        joining.__file__ = before


def hanging(rank, folder):
    """A run in which rank 1 does not come back from its third step."""
    workers.ROLL_CALL = 1.0
    try:
        return trained(folder, "hanging", net=Turning("hangs", rank == 1))
    finally:
        (folder / "ended").touch()


def said(one):
    try:
        one()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"


class Turning(nn.Module):
    """A model that one process has for two releases like the other; then it turns into what ``how`` says."""

    def __init__(self, how, guilty):
        super().__init__()
        self.inner, self.how, self.guilty, self.turned = model(), how, guilty, False

    def __call__(self, *given):
        if given and isinstance(given[0], Moment):
            self.turned = self.guilty and given[0].step >= 2
            if self.turned and self.how == "moves":
                with torch.no_grad():
                    next(self.inner.parameters()).add_(1.0)
            return None
        return super().__call__(*given)

    def forward(self, x):
        if self.turned and self.how == "hangs":
            threading.Event().wait(10 * NO_ANSWER)  # of something that never happens
        if self.turned and self.how == "fails":
            raise ValueError("a label of somebody")
        return self.inner(x + x.mean(0) if self.turned and self.how == "couples" else x)


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pair")
    return folder, crew(2, scenarios, folder)


@pytest.fixture(scope="module")
def unlike(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unlike")
    return folder, crew(2, refusals, folder)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("plain", {}),
        ("sparse", {"sampling": Poisson(0.02), "expected_batch": 1}),
        ("adaptive", {"clip": AdaptiveClip(1.0, count_noise_multiplier=5.0)}),
        ("unlike weights", {}),
    ],
)
def test_two_processes_train_what_one_would(pair, tmp_path, name, changes):
    _, (first, second) = pair
    alone, guarantee, _ = trained(tmp_path, "alone", **changes)
    assert torch.equal(first[name][0], second[name][0])
    assert torch.allclose(first[name][0], alone, rtol=0, atol=1e-5)
    assert first[name][1].epsilon == guarantee.epsilon
    assert first[name][1] == second[name][1]


def test_their_journal_is_replayed_and_says_that_they_were_two(pair):
    folder, (first, _) = pair
    record = replay(folder / "secret.jsonl")
    assert record.guarantee() == first["secret"][1]
    assert (record.private, record.processes, record.steps) == (True, 2, STEPS)
    assert any("network: 2 processes" in text for text in record.guarantee().assumptions)
    assert not any("network" in text for text in replay(folder / "resumed.jsonl").guarantee().assumptions[:1])


def test_noise_is_that_of_one_draw(pair):
    """Secret keys, the same weights in both: had each process its own noise, or none, they would differ."""
    _, (first, second) = pair
    assert torch.equal(first["secret"][0], second["secret"][0])
    assert not torch.equal(first["secret"][0], first["plain"][0])


def test_a_run_goes_on_with_another_number_of_processes(pair, tmp_path):
    folder, (first, _) = pair
    assert first["some steps"][2] == 2
    assert first["resumed"][2] == STEPS
    for suffix in ("jsonl", "pt"):
        (tmp_path / f"one.{suffix}").write_bytes((folder / f"one.{suffix}").read_bytes())
    found = trained(tmp_path, "one", resume=True, keys=4)
    assert torch.allclose(found[0], first["resumed"][0], rtol=0, atol=1e-5)
    assert found[2] == STEPS


def test_one_process_goes_on_as_two(tmp_path):
    trained(tmp_path, "grown", steps=2, keys=3)
    both = crew(2, going_on, tmp_path)
    straight = trained(tmp_path, "straight", steps=2, keys=3)
    assert straight[2] == 2
    alone = trained(tmp_path, "straight", resume=True, keys=4)
    assert torch.allclose(both[0][0], alone[0], rtol=0, atol=1e-5)


def going_on(rank, folder):
    return trained(folder, "grown", resume=True, keys=4)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("another plan", "do not have the same plan model and code"),
        ("another code", "do not have the same plan model and code"),
        ("another model", "do not have the same plan model and code"),
        ("its own part of the data", "do not have the same dataset"),
        ("another physical batch", "do not have the same physical batch"),
        ("a journal that exists", "already holds a run"),
        ("a loss that fails", "ValueError"),
        ("weights that are changed", "changed between two releases"),
        ("a leak", "lets units see each other"),
    ],
)
def test_all_end_with_an_error_that_names_the_rank(unlike, name, words):
    _, (first, second) = unlike
    guilty = {"a journal that exists": 0, "weights that are changed": 0}.get(name, 1)
    told, other = (first, second)[1 - guilty][name], (first, second)[guilty][name]
    assert words in told
    assert words in other
    assert f"rank {guilty}" in told
    assert "somebody" not in told + other


def test_a_process_that_hangs_is_named_and_what_was_released_is_recorded(tmp_path):
    told = crew(2, hanging, tmp_path, timeout=NO_ANSWER, kill=Kill(1, "ended", 0.0))
    assert told[0].startswith("TrainingError: rank 1 died or hangs: a meeting was not completed on rank 0")
    assert replay(tmp_path / "hanging.jsonl").steps == 2


def test_a_leak_in_one_process_is_in_the_journal_of_all(unlike):
    folder, _ = unlike
    assert [entry.payload["kind"] for entry in read(folder / "leaking.jsonl")][-3:] == ["release", "release", "leak"]
    assert replay(folder / "leaking.jsonl").guarantee().epsilon.upper == float("inf")
