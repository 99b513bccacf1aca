"""Between releases nobody writes the parameters, shares the keys or the model, or slips in another ticket."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.utils.data import ConcatDataset, Subset

from renyi import InvalidInput, Poisson
from renyi.training import AdaptiveClip, LeakError, Run, Schedule, TrainingError
from renyi.training.planning.clip import LEAST, MOST
from tests.training.support import dataset, losses, model, plan, run, train, weights


class Writing(nn.Module):
    """Keeps the sum of what it saw in one of its parameters."""

    def __init__(self, how, *, trainable):
        super().__init__()
        self.inner = nn.Linear(4, 2)
        self.kept = nn.Parameter(torch.zeros(2), requires_grad=trainable)
        self.how = how

    def forward(self, x):
        self.how(self.kept, x)
        return self.inner(x) + self.kept


def under_no_grad(kept, x):
    with torch.no_grad():
        kept.add_(x.detach().sum() / 64)


def through_data(kept, x):
    kept.data.add_(x.detach().sum() / 64)


@pytest.mark.parametrize("how", [under_no_grad, through_data])
@pytest.mark.parametrize("trainable", [False, True], ids=["frozen", "trainable"])
def test_a_forward_pass_that_writes_a_parameter_is_refused(tmp_path, how, trainable):
    net = Writing(how, trainable=trainable)
    made = run(tmp_path, net=net, optimizer=torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1))
    with pytest.raises(TrainingError, match="kept"):
        train(made)
    assert made.steps == 0
    with pytest.raises(TrainingError, match="kept changed between two releases"):
        made.state_dict()
    made.close()


def test_an_embedding_bag_that_renormalises_is_refused(tmp_path):
    net = nn.Sequential(nn.EmbeddingBag(20, 4, max_norm=0.1), nn.Linear(4, 2))
    made = run(
        tmp_path, net=net, loss=lambda m, batch: losses(m, (batch[0].abs().mul(5).long().clamp(0, 19), batch[1]))
    )
    with pytest.raises(TrainingError, match=r"max_norm|0\.weight"):
        train(made)
    assert made.steps == 0
    made.close()


def test_a_second_optimizer_on_the_same_parameters_is_stopped_before_it_steps(tmp_path):
    made = run(tmp_path)
    train(made, steps=1)
    before = weights(made.net)
    other = torch.optim.SGD(made.net.parameters(), lr=0.1)
    losses(made.net, dataset()[:]).mean().backward()
    with pytest.raises(TrainingError, match=r"another optimizer, a SGD, was about to step 0\.weight.* and 1 more"):
        other.step()
    other.zero_grad()
    assert torch.equal(weights(made.net), before)
    elsewhere = nn.Linear(2, 2)  # whatever the run does not train steps as ever
    elsewhere.weight.grad = torch.ones_like(elsewhere.weight)
    torch.optim.SGD(elsewhere.parameters(), lr=0.1).step()
    made.close()
    other.step()


def test_weights_may_be_exchanged_for_an_evaluation_and_put_back(tmp_path):
    made = train(run(tmp_path), steps=1)
    kept = {name: value.clone() for name, value in made.net.state_dict().items()}
    made.net.load_state_dict(model().state_dict())
    made.net.load_state_dict(kept)
    train(made)
    assert made.steps == 6
    made.close()


def test_a_parameter_replaced_while_the_run_is_open_is_refused(tmp_path):
    made = train(run(tmp_path), steps=1)
    made.net[0].weight = nn.Parameter(made.net[0].weight.detach().clone())
    with pytest.raises(TrainingError, match=r"0\.weight of the model was replaced"):
        train(made)
    made.close()


def test_a_parameter_frozen_while_the_run_is_open_is_named(tmp_path):
    made = train(run(tmp_path), steps=1)
    made.net[0].weight.requires_grad_(False)
    with pytest.raises(TrainingError, match=r"0\.weight was frozen"):
        train(made)
    made.close()


def test_sparse_optimizers_are_refused_before_anything_is_written(tmp_path):
    net = model()
    with pytest.raises(InvalidInput, match="SparseAdam"):
        run(tmp_path, net=net, optimizer=torch.optim.SparseAdam(net.parameters()))
    assert (tmp_path / "run.jsonl").read_bytes() == b""


def test_inference_mode_is_named(tmp_path):
    made = run(tmp_path)
    with torch.inference_mode(), pytest.raises(TrainingError, match="inference_mode"):
        train(made)
    made.close()
    with torch.inference_mode():
        net = model()
    with pytest.raises(TrainingError, match="inference_mode"):
        run(tmp_path, net=net, name="other.jsonl")


def test_keys_belong_to_one_run(tmp_path, keys):
    run(tmp_path, keys=keys).close()
    with pytest.raises(TrainingError, match="already belong to a run"):
        run(tmp_path, keys=keys, name="other.jsonl")


def test_one_model_is_trained_by_one_open_run(tmp_path):
    net = model()
    made = run(tmp_path, net=net)
    for shared in (net, nn.Sequential(net, nn.Identity())):
        with pytest.raises(TrainingError, match="another open run"):
            run(tmp_path, net=shared, name="other.jsonl")
    made.close()
    (tmp_path / "other.jsonl").unlink()
    train(run(tmp_path, net=net, name="other.jsonl")).close()


def test_a_copy_of_a_ticket_is_none(tmp_path):
    made = run(tmp_path, sampling=Poisson(1.0))
    ticket = next(iter(made.batches(dataset(), physical_batch=100)))
    forged = dataclasses.replace(ticket, data=(torch.ones(1, 4), torch.ones(1).long()), units=1)
    with pytest.raises(TrainingError, match="a copy"):
        made.step(forged)
    made.step(ticket)
    made.close()


@pytest.mark.parametrize("bound", [1e-25, 1e-46, 1e39, 1e13], ids=str)
def test_clip_bounds_stay_where_float32_can_square_them(bound):
    for clip in (bound, {"0": bound, "2": 1.0}, AdaptiveClip(1.0, 2.0)):
        if isinstance(clip, AdaptiveClip):
            with pytest.raises(InvalidInput, match="between"):
                AdaptiveClip(bound, 2.0)
        else:
            with pytest.raises(InvalidInput, match="between"):
                plan(clip=clip)


def test_an_adaptive_bound_stays_there_too_and_its_rate_is_sensible():
    clip = AdaptiveClip(1.0, 2.0, rate=10.0)
    low = high = 1.0
    for _ in range(50):
        low, high = clip.followed(low, 1e9, 1.0), clip.followed(high, -1e9, 1.0)
    assert (low, high) == (LEAST, MOST)
    with pytest.raises(InvalidInput, match="at most 10"):
        AdaptiveClip(1.0, 2.0, rate=1000.0)


def test_a_missing_or_damaged_checkpoint_is_explained(tmp_path):
    run(tmp_path).close()
    (tmp_path / "bad.pt").write_bytes(b"nothing")
    for name, words in (("none.pt", "there is no checkpoint"), ("bad.pt", "cannot be read")):
        net = model()
        sgd = torch.optim.SGD(net.parameters(), lr=0.1)
        with pytest.raises(TrainingError, match=words):
            Run.resume(plan(), net, sgd, losses, journal=tmp_path / "run.jsonl", checkpoint=tmp_path / name)


def mixed_up(batch):
    x = batch.data[0]
    x.mul_(0.7).add_(0.3 * x.flip(0))


def replaced(batch):
    batch.data[0] = batch.data[0].flip(0)


@pytest.mark.parametrize("change", [mixed_up, replaced])
def test_a_batch_that_was_changed_after_it_was_drawn_is_refused(tmp_path, change):
    made = run(tmp_path, sampling=Poisson(1.0))
    ticket = next(iter(made.batches(dataset())))
    change(ticket)
    with pytest.raises(LeakError, match=r"changed between run\.batches and run\.step"):
        made.step(ticket)
    assert made.steps == 0
    made.close()


def test_a_batch_may_be_moved(tmp_path):
    made = run(tmp_path, sampling=Poisson(1.0))
    ticket = next(iter(made.batches(dataset(), physical_batch=100)))
    ticket.data[0] = ticket.data[0].clone()
    made.step(ticket)
    assert made.steps == 1
    made.close()


class Adding(torch.optim.SGD):
    """Adds a gradient of its own before the step of its base class."""

    def step(self, closure=None):
        with torch.no_grad():
            for parameter in self.param_groups[0]["params"]:
                parameter.grad.add_(1.0)
        return super().step(closure)


def add_before(optimizer, args, kwargs):
    for parameter in optimizer.param_groups[0]["params"]:
        parameter.grad.add_(1.0)


@pytest.mark.parametrize("where", ["subclass", "hook", "earlier hook", "global hook"])
def test_gradients_that_an_optimizer_adds_are_refused_before_they_move_anything(tmp_path, where):
    net = model()
    optimizer = Adding(net.parameters(), lr=0.1) if where == "subclass" else torch.optim.SGD(net.parameters(), lr=0.1)
    handle = None
    if where == "earlier hook":
        handle = optimizer.register_step_pre_hook(add_before)
    made = run(tmp_path, net=net, optimizer=optimizer, sampling=Poisson(1.0))
    if where == "hook":
        handle = optimizer.register_step_pre_hook(add_before)
    if where == "global hook":
        handle = register_optimizer_step_pre_hook(add_before)
    before = [parameter.detach().clone() for parameter in net.parameters()]
    try:
        with pytest.raises(TrainingError, match="written between the release and the optimizer's step"):
            train(made)
    finally:
        if handle is not None:
            handle.remove()
    assert all(torch.equal(old, new) for old, new in zip(before, net.parameters(), strict=True))
    made.close()


class Decaying(torch.optim.Optimizer):
    """An update of its own, which decays the weights by way of the gradients, as many optimizers do."""

    def __init__(self, parameters):
        super().__init__(parameters, {})

    @torch.no_grad()
    def step(self, closure=None):
        for parameter in self.param_groups[0]["params"]:
            parameter.grad.add_(parameter, alpha=0.1)
            parameter.sub_(parameter.grad, alpha=0.1)


def test_what_an_optimizer_does_in_its_own_update_is_an_assumption(tmp_path):
    """A gradient of raw data added there looks the same as weight decay, so it is not looked for, and the record says so."""
    net = model()
    made = run(tmp_path, net=net, optimizer=Decaying(net.parameters()))
    assert train(made).steps == 6
    assert any(text.startswith("optimizer: its update is a function of") for text in made.guarantee().assumptions)
    made.close()


def test_a_schedule_needs_a_learning_rate(tmp_path):
    net = model()
    with pytest.raises(InvalidInput, match="Decaying has parameters without a learning rate"):
        run(tmp_path, net=net, optimizer=Decaying(net.parameters()), learning_rate_schedule=Schedule.pieces((6, 0.5)))


OPTIMIZERS = {
    "SGD": {"momentum": 0.9, "weight_decay": 0.1, "nesterov": True},
    "Adam": {"weight_decay": 0.1, "amsgrad": True},
    "AdamW": {"maximize": True},
    "RMSprop": {"centered": True, "weight_decay": 0.1},
    **{name: {} for name in ("Adagrad", "Adadelta", "Adamax", "ASGD", "NAdam", "RAdam", "Rprop", "Adafactor")},
}


@pytest.mark.parametrize("foreach", [False, True])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_optimizers_of_torch_step_as_before(tmp_path, name, foreach):
    net = model()
    optimizer = getattr(torch.optim, name)(net.parameters(), lr=0.01, foreach=foreach, **OPTIMIZERS[name])
    made = train(run(tmp_path, net=net, optimizer=optimizer), steps=2)
    assert made.steps == 2
    made.close()


@pytest.mark.parametrize(
    "repeating",
    [
        lambda data: Subset(data, [0, 1, 2, 1]),
        lambda data: Subset(data, torch.tensor([0, 59, 0])),
        lambda data: ConcatDataset([data, data]),
        lambda data: ConcatDataset([Subset(data, range(10)), Subset(Subset(data, range(5, 60)), [0, 3])]),
    ],
)
def test_a_dataset_that_shows_a_row_twice_is_refused_with_the_fix(tmp_path, repeating):
    data = repeating(dataset())
    made = run(tmp_path)
    with pytest.raises(InvalidInput, match="owners="):
        made.batches(data)
    made.close()
    persons = run(tmp_path, unit="person", sampling=Poisson(1.0), name="persons.jsonl", loss=of_persons)
    with pytest.raises(InvalidInput, match="same id"):
        persons.batches(data, owners=list(range(len(data))))
    train_on = persons.batches(data, owners=[0] * len(data), steps=1)
    for batch in train_on:
        persons.step(batch)
    assert persons.steps == 1
    persons.close()


def of_persons(net, batch):
    (x, y), present = batch
    loss = nn.functional.cross_entropy(net(x).flatten(0, 1), y.flatten(), reduction="none").view(y.shape)
    return (loss * present).sum(1) / present.sum(1)


def test_parts_that_do_not_overlap_pass_and_what_cannot_be_seen_is_stated(tmp_path):
    data = dataset()
    made = run(tmp_path)
    made.batches(ConcatDataset([Subset(data, range(10)), Subset(data, range(10, 60)), dataset()]))
    assert any(
        text.startswith("rows: every row of the dataset is one example") for text in made.guarantee().assumptions
    )
    made.close()
