"""A run: nobody else steps, what is released is what is recorded, and the guarantee is a function of the record."""

from __future__ import annotations

import copy
import os
from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy import special
from torch import nn

import renyi
from renyi import Gaussian, InvalidInput, Poisson
from renyi.ledger import JournalError, JournalInUse, read
from renyi.training import AdaptiveClip, LeakError, Run, Schedule, TrainingError, replay, seeded
from renyi.training.planning.clip import SLACK
from tests.training.support import dataset, losses, model, plan, run, train, weights


def test_a_run_trains_and_its_guarantee_is_the_replay_of_its_journal(tmp_path):
    made = train(run(tmp_path))
    answer = made.guarantee()
    made.close()
    assert answer == replay(tmp_path / "run.jsonl").guarantee()
    assert answer.event == Gaussian(1.0).on(Poisson(0.3)) * 6
    assert answer.epsilon.upper == renyi.epsilon(answer.event, delta=1e-5) == plan().cost()
    assert str(answer).startswith(
        "6 steps of Gaussian noise (multiplier 1) on Poisson samples of rate 0.3 are (5.58815, 1e-05)-"
    )
    assert answer.to_dict()["assumptions"]


def test_every_row_of_the_journal_says_what_was_used(tmp_path):
    made = train(run(tmp_path, clip=0.7, noise_multiplier=1.3))
    made.close()
    first, *rows = [entry.payload for entry in read(tmp_path / "run.jsonl")]
    assert first["plan"] == made.plan.to_dict()
    assert [row["step"] for row in rows] == list(range(6))
    for row in rows:
        assert row["clip"] == 0.7
        assert row["noise_deviation"] == pytest.approx(1.3 * 0.7 * SLACK, rel=1e-12)
        assert (row["adjacency"], row["unit"], row["plan_hash"]) == ("add-or-remove", "example", made.plan.hash)


def test_the_update_is_the_clipped_sum_plus_noise_over_the_declared_batch(tmp_path):
    """Against a loop over the units, with the noise taken from the same keys."""
    from renyi.training.randomness.noise import grid_of, rounded
    from renyi.training.randomness.sampler import poisson_draw

    keys, net = seeded(9), model()
    start = {name: parameter.detach().clone() for name, parameter in net.named_parameters()}
    made = train(run(tmp_path, net=net, keys=keys, clip=0.2), steps=1)
    data = dataset()
    total = {name: torch.zeros_like(value) for name, value in start.items()}
    fresh = model()
    for unit in poisson_draw(keys.key("draw", 0), units=60, rate=0.3):
        x, y = data[int(unit)]
        gradients = torch.autograd.grad(losses(fresh, (x[None], y[None]))[0], list(fresh.parameters()))
        norm = torch.cat([gradient.flatten() for gradient in gradients]).norm()
        for name, gradient in zip(total, gradients, strict=True):
            total[name] += gradient * min(1.0, 0.2 / float(norm))
    for name, parameter in net.named_parameters():
        deviation = 0.2 * SLACK
        grid = grid_of(deviation, 0.2)
        noisy = rounded(total[name], deviation=deviation, grid=grid, key=keys.key("noise", 0, name))
        # The sum of a loop may lie in the next cell.
        torch.testing.assert_close(
            parameter.detach(), start[name] - 0.1 * noisy / 18, rtol=0, atol=0.1 * grid / 18 + 1e-7
        )
    made.close()


@pytest.mark.parametrize("keys", [seeded(4), None], ids=["seeded", "operating system"])
def test_the_noise_that_reaches_the_weights_has_the_planned_size_and_a_hundredth_less_is_noticed(tmp_path, keys):
    """Empty draws: the weights move by noise alone, of deviation noise multiplier times clip over batch."""
    net = nn.Linear(1000, 300)
    optimizer = torch.optim.SGD(net.parameters(), lr=1.0)
    options = {"net": net, "optimizer": optimizer, "keys": keys, "sampling": Poisson(1e-12), "steps": 2}
    made = run(tmp_path, **options, clip=0.5, noise_multiplier=3.0, expected_batch=10)
    places = [weights(net)]
    for batch in made.batches(dataset()):
        made.step(batch)
        places.append(weights(net))
    made.close()
    first, second = ((b - a).double().numpy() / (3.0 * 0.5 / 10) for a, b in pairwise(places))
    n = first.size
    for noise in (first, second):
        z = (np.mean(noise**2) - 1) * np.sqrt(n / 2)
        assert 2 * special.ndtr(-abs(z)) > 1e-6
        assert special.ndtr((np.mean((noise / 1.01) ** 2) - 1) * np.sqrt(n / 2)) < 1e-6
    assert 2 * special.ndtr(-abs(first @ second) / np.sqrt(n)) > 1e-6


def test_torch_seeds_do_not_touch_the_noise(tmp_path):
    results = []
    for name in ("a.jsonl", "b.jsonl"):
        torch.manual_seed(42)
        made = train(run(tmp_path, name=name), steps=1)
        results.append(weights(made.net))
        made.close()
    assert (results[0] != results[1]).all()


def test_two_releases_differ(tmp_path):
    made = run(tmp_path, sampling=Poisson(1e-12))
    places = [weights(made.net)]
    for batch in made.batches(dataset()):
        made.step(batch)
        places.append(weights(made.net))
    moves = [b - a for a, b in pairwise(places)]
    # On the grid two values are alike by chance about once in two thousand times.
    assert all((a == b).float().mean() < 0.2 for i, a in enumerate(moves) for b in moves[:i])
    made.close()


# The optimizer belongs to the run.


@pytest.mark.parametrize(
    "make",
    [
        lambda p: torch.optim.SGD(p, lr=0.1),
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-3),
        lambda p: torch.optim.Adam(p, lr=0.01),
        lambda p: torch.optim.AdamW(p, lr=0.01, weight_decay=0.1, amsgrad=True),
        lambda p: torch.optim.RMSprop(p, lr=0.01),
        lambda p: torch.optim.Adagrad(p, lr=0.01),
    ],
    ids=["sgd", "momentum", "adam", "adamw", "rmsprop", "adagrad"],
)
def test_any_optimizer_steps_through_the_run_and_only_so(tmp_path, make):
    net = model()
    optimizer = make(net.parameters())
    made = run(tmp_path, net=net, optimizer=optimizer, keys=seeded(1))
    before = weights(net)
    train(made, steps=3)
    assert not torch.equal(before, weights(net))
    assert all(parameter.grad is None for parameter in net.parameters())
    still = weights(net)
    for _ in range(2):
        with pytest.raises(TrainingError, match="called outside the run"):
            optimizer.step()
    losses(net, dataset()[:]).mean().backward()
    with pytest.raises(TrainingError, match="called outside the run"):
        optimizer.step(lambda: 0.0)
    with pytest.raises(TrainingError, match="written by somebody else"):
        train(made, steps=1)
    assert made.steps == 3
    assert torch.equal(still, weights(net))
    optimizer.zero_grad()
    train(made)
    assert made.steps == 6
    made.close()
    losses(net, dataset()[:]).mean().backward()
    optimizer.step()


def test_a_step_by_a_gradient_scaler_fails_loudly(tmp_path):
    made = run(tmp_path)
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(losses(made.net, dataset()[:]).mean()).backward()
    with pytest.raises(TrainingError, match="outside the run"):
        scaler.step(made.sgd)
    made.close()


def test_a_gradient_swapped_in_by_a_hook_is_noticed(tmp_path):
    made = run(tmp_path)

    def swap(*_):
        for parameter in made.net.parameters():
            parameter.grad = torch.ones_like(parameter)

    handle = made.sgd.register_step_pre_hook(swap)
    made.sgd._optimizer_step_pre_hooks.move_to_end(handle.id, last=False)
    before = weights(made.net)
    with pytest.raises(TrainingError, match="replaced"):
        train(made)
    assert torch.equal(before, weights(made.net))
    assert made.steps == 1  # it was recorded: it is charged
    made.close()


def test_torch_learning_rate_schedulers_work(tmp_path):
    made = run(tmp_path)
    scheduler = torch.optim.lr_scheduler.StepLR(made.sgd, step_size=1, gamma=0.5)
    for batch in made.batches(dataset(), physical_batch=1000):
        made.step(batch)
        scheduler.step()
    assert made.sgd.param_groups[0]["lr"] == pytest.approx(0.1 * 0.5**6)
    made.close()


def test_optimizer_and_model_must_agree(tmp_path):
    net = model()
    only_first = torch.optim.SGD(net[0].parameters(), lr=0.1)
    with pytest.raises(TrainingError, match=r"2\.weight, 2\.bias is missing"):
        run(tmp_path, net=net, optimizer=only_first)
    foreign = torch.optim.SGD([*net.parameters(), nn.Parameter(torch.zeros(2))], lr=0.1)
    with pytest.raises(TrainingError, match="1 of its tensors are not trainable parameters"):
        run(tmp_path, net=net, optimizer=foreign)
    net[0].requires_grad_(False)
    with pytest.raises(TrainingError, match="disagree"):
        run(tmp_path, net=net, optimizer=torch.optim.SGD(net.parameters(), lr=0.1))
    made = run(tmp_path, net=net, optimizer=torch.optim.SGD(net[2].parameters(), lr=0.1))
    made.sgd.add_param_group({"params": [nn.Parameter(torch.zeros(2))]})
    with pytest.raises(TrainingError, match="disagree"):
        train(made)
    assert made.steps == 0
    made.close()


def test_optimizers_that_evaluate_the_loss_themselves_are_refused(tmp_path):
    net = model()
    with pytest.raises(InvalidInput, match="LBFGS evaluates the loss by itself"):
        run(tmp_path, net=net, optimizer=torch.optim.LBFGS(net.parameters()))
    with pytest.raises(InvalidInput, match=r"must be one of torch\.optim"):
        run(tmp_path, net=net, optimizer=object())


def test_freezing_midway_is_refused(tmp_path):
    made = train(run(tmp_path), steps=1)
    made.net[0].weight.requires_grad_(False)
    with pytest.raises(Exception, match=r"0\.weight"):
        train(made)
    assert made.steps == 1
    made.close()


def test_a_leftover_gradient_is_refused_at_the_start(tmp_path):
    net = model()
    losses(net, dataset()[:]).sum().backward()
    with pytest.raises(TrainingError, match="zero_grad"):
        run(tmp_path, net=net)


def test_a_failed_start_leaves_everything_free(tmp_path):
    net = model()
    optimizer = torch.optim.SGD(net[0].parameters(), lr=0.1)
    with pytest.raises(TrainingError):
        run(tmp_path, net=net, optimizer=optimizer)
    optimizer.step()
    run(tmp_path, net=net).close()


# Buffers, processes, shape of the loss.


class Counting(nn.Module):
    """Keeps a mean of the data in a buffer."""

    def __init__(self, how):
        super().__init__()
        self.layer = nn.Linear(4, 2)
        self.register_buffer("mean", torch.zeros(4))
        self.how = how

    def forward(self, x):
        with torch.no_grad():
            if self.how == "not yet":
                pass
            elif self.how == "in place":
                self.mean.add_(x.detach().sum() * 0.0 + 1.0)
            else:
                self.mean = self.mean + 1.0
        return self.layer(x)


@pytest.mark.parametrize("how", ["in place", "assigned"])
def test_data_must_not_flow_into_buffers(tmp_path, how):
    net = Counting(how)
    made = run(tmp_path, net=net)
    with pytest.raises(LeakError, match="mean"):
        train(made)
    assert made.steps == 0
    assert torch.equal(net.mean, torch.zeros(4))
    made.close()


@pytest.mark.parametrize("how", ["in place", "assigned"])
def test_data_must_not_flow_into_buffers_between_looks(tmp_path, how):
    net = Counting("not yet")
    made = run(tmp_path, net=net)
    batches = made.batches(dataset(), physical_batch=1000)
    for _ in range(2):
        made.step(next(batches))
    net.how = how
    with pytest.raises(LeakError, match="mean"):
        made.step(next(batches))
    assert made.steps == 2
    assert torch.equal(net.mean, torch.zeros(4))
    made.close()


def test_processes_that_were_announced_but_not_joined_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "4")
    with pytest.raises(TrainingError, match="one of 4 \\(world size\\)"):
        run(tmp_path)
    monkeypatch.delenv("WORLD_SIZE")
    made = run(tmp_path)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(TrainingError, match="world size"):
        train(made)
    assert made.steps == 0
    made.close()


def test_wrapped_models_are_refused(tmp_path):
    net = model()
    wrapped = nn.DataParallel(net)
    with pytest.raises(TrainingError, match="DataParallel"):
        run(tmp_path, net=wrapped, optimizer=torch.optim.SGD(net.parameters(), lr=0.1))


def test_a_scalar_loss_is_refused_with_the_fix(tmp_path):
    made = run(tmp_path, loss=lambda net, batch: losses(net, batch).mean())
    with pytest.raises(TrainingError, match="one loss per unit"):
        train(made)
    assert made.steps == 0
    made.close()


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_cannot_release(tmp_path):
    """It would draw the parent's noise a second time."""
    made = run(tmp_path, keys=seeded(1))
    child = os.fork()
    if child == 0:
        torch.set_num_threads(1)
        try:
            made._releaser.release({name: torch.zeros_like(p) for name, p in made.net.named_parameters()}, 0.0)
        except JournalError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    made.close()


def test_a_run_cannot_be_copied(tmp_path):
    made = run(tmp_path)
    with pytest.raises(Exception, match="copied"):
        copy.deepcopy(made)
    made.close()


def test_one_journal_one_run(tmp_path):
    made = run(tmp_path)
    with pytest.raises(JournalInUse):
        run(tmp_path)
    made.close()
    with pytest.raises(TrainingError, match=r"Run\.resume"):
        run(tmp_path)


def test_a_closed_run_does_nothing(tmp_path):
    with run(tmp_path) as made:
        ticket = next(iter(made.batches(dataset())))
    for act in (lambda: made.step(ticket), lambda: made.batches(dataset()), made.stop, made.state_dict):
        with pytest.raises(TrainingError, match="closed"):
            act()
    made.close()
    assert made.guarantee().epsilon.upper > 0


def test_nothing_is_released_beyond_the_plan(tmp_path):
    made = train(run(tmp_path))
    assert list(made.batches(dataset())) == []
    with pytest.raises(TrainingError, match="all 6 planned steps"):
        made._releaser.release({}, 0.0)
    made.close()


# Stopping.


def test_a_stop_that_may_depend_on_outputs_costs_the_planned_maximum(tmp_path):
    made = train(run(tmp_path), steps=2)
    planned, done = renyi.epsilon(plan().events(), delta=1e-5), renyi.epsilon(plan().events(0, 2), delta=1e-5)
    assert done < planned
    for answer in (made.guarantee(), made.stop()):
        assert answer.epsilon.upper == planned
        assert "2 of 6 were released" in answer.assumptions[0]
    assert made.spent().epsilon.upper == done
    assert "fixed beforehand" in made.spent().assumptions[0]
    with pytest.raises(TrainingError, match="stopped"):
        train(made)
    made.close()
    assert replay(tmp_path / "run.jsonl").guarantee() == made.guarantee()


def test_a_stop_declared_data_independent_costs_what_was_released(tmp_path):
    made = train(run(tmp_path), steps=2)
    answer = made.stop(data_independent=True)
    assert answer.epsilon.upper == renyi.epsilon(plan().events(0, 2), delta=1e-5)
    assert "declared" in answer.assumptions[0]
    made.stop(data_independent=False)
    made.close()
    assert replay(tmp_path / "run.jsonl").guarantee() == answer


def test_a_declaration_cannot_be_made_after_a_stop(tmp_path):
    made = train(run(tmp_path), steps=2)
    made.stop()
    assert made.stop(data_independent=True).epsilon.upper == plan().cost()
    made.close()


def test_remaining_steps_of_a_budget(tmp_path):
    made = train(run(tmp_path, steps=200, sampling=Poisson(0.05)), steps=3)
    step = Gaussian(1.0).on(Poisson(0.05))
    for budget in (2.0, 2.5, 3.0):
        left = made.remaining(epsilon=budget)
        assert 0 < left < 197
        assert renyi.epsilon(step * (3 + left), delta=1e-5) <= budget < renyi.epsilon(step * (4 + left), delta=1e-5)
    assert made.remaining(epsilon=50.0) == 197
    assert made.remaining(epsilon=0.0) == 0
    made.close()


def test_a_seeded_run_says_that_it_is_not_private(tmp_path):
    made = train(run(tmp_path, keys=seeded(1)))
    answer = made.guarantee()
    made.close()
    assert "NOT PRIVATE" in str(answer)
    assert answer.assumptions[0].startswith("NOT PRIVATE")
    assert "NOT PRIVATE" in str(replay(tmp_path / "run.jsonl").guarantee())
    assert "NOT PRIVATE" not in str(train(run(tmp_path, name="other.jsonl")).guarantee())


# Schedules, layers, adaptive clipping.


def test_planned_schedules_are_followed_and_recorded(tmp_path):
    noise, rate = Schedule.pieces((2, 1.0), (4, 0.5)), Schedule.linear(1.0, 0.0, steps=6)
    made = run(tmp_path, noise_schedule=noise, learning_rate_schedule=rate, keys=seeded(1))
    rates = []
    for batch in made.batches(dataset(), physical_batch=1000):
        made.step(batch)
        rates.append(made.sgd.param_groups[0]["lr"])
    assert rates == pytest.approx([0.1, 0.08, 0.06, 0.04, 0.02, 0.0])
    assert made.guarantee().event == Gaussian(1.0).on(Poisson(0.3)) * 2 + Gaussian(0.5).on(Poisson(0.3)) * 4
    made.close()
    deviations = [entry.payload["noise_deviation"] for entry in read(tmp_path / "run.jsonl")[1:]]
    assert deviations == pytest.approx([SLACK] * 2 + [0.5 * SLACK] * 4)


def test_per_layer_bounds_scale_the_noise_to_their_root_sum_of_squares(tmp_path):
    made = train(run(tmp_path, clip={"0": 0.3, "2": 0.4}))
    made.close()
    assert {entry.payload["noise_deviation"] for entry in read(tmp_path / "run.jsonl")[1:]} == {0.5 * SLACK}
    with pytest.raises(InvalidInput, match=r"2\.weight has no clip bound"):
        run(tmp_path, clip={"0": 0.3}, name="other.jsonl")


def test_adaptive_clipping_moves_towards_its_quantile_and_charges_the_count(tmp_path):
    clip = AdaptiveClip(0.001, count_noise_multiplier=2.0, quantile=0.6, rate=0.5)
    made = train(run(tmp_path, keys=seeded(6), clip=clip, steps=40, expected_batch=18), physical_batch=100)
    bounds = [entry.payload["clip"] for entry in read(tmp_path / "run.jsonl")[1:]]
    assert bounds[0] == 0.001
    assert 0.1 < bounds[-1] < 3.0
    assert made.guarantee().event == (Gaussian(1.0) + Gaussian(2.0)).on(Poisson(0.3)) * 40
    made.close()


def test_the_count_is_of_halves_over_the_declared_batch():
    clip = AdaptiveClip(1.0, count_noise_multiplier=2.0, quantile=0.5, rate=1.0)
    assert clip.followed(1.0, 0.0, 20.0) == 1.0  # nobody drawn, or as many in as out
    assert clip.followed(1.0, 10.0, 20.0) == pytest.approx(np.exp(-0.5))
    assert clip.followed(1.0, -1e9, 20.0) == pytest.approx(np.exp(0.5))


def test_a_run_follows_its_parameters_to_another_device(tmp_path, monkeypatch):
    """Everything but the noise on the meta device: nothing is copied to the host, or it would fail."""

    def round_in_place(sums, **_):
        assert {tensor.device.type for tensor in sums} == {"meta"}  # a number has to exist to be rounded

    monkeypatch.setattr("renyi.training.release.round_in_place", round_in_place)
    net = model().to("meta")
    made = run(tmp_path, net=net, loss=lambda m, batch: losses(m, tuple(part.to("meta") for part in batch)))
    made._looks._at = lambda *_: None  # the comparison with a loop needs numbers
    train(made)
    assert made.steps == 6
    assert all(parameter.device.type == "meta" for parameter in net.parameters())
    made.close()


def test_half_precision_parameters_get_noise_in_single_precision(tmp_path):
    net = model().bfloat16()
    made = run(tmp_path, net=net, loss=lambda m, batch: losses(m, (batch[0].bfloat16(), batch[1])))
    before = weights(net)
    train(made, steps=2)
    assert weights(net).isfinite().all()
    assert not torch.equal(before, weights(net))
    made.close()


def test_what_is_not_a_plan_is_refused(tmp_path):
    net = model()
    with pytest.raises(InvalidInput, match="needs a Plan"):
        Run({"steps": 3}, net, torch.optim.SGD(net.parameters(), lr=0.1), losses, journal=tmp_path / "j.jsonl")


def test_a_second_schedule_of_the_learning_rate_is_remarked_once(tmp_path):
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1)
    made = run(tmp_path, net=net, optimizer=optimizer, learning_rate_schedule=Schedule.linear(1.0, 0.5, steps=6))
    steps = made.batches(dataset(), physical_batch=60)
    made.step(next(steps))
    scheduler.step()
    with pytest.warns(UserWarning, match="the plan has a learning_rate_schedule, which overrules it"):
        made.step(next(steps))
    scheduler.step()
    made.step(next(steps))  # said once; a warning would be an error here
    assert optimizer.param_groups[0]["lr"] == 0.1 * Schedule.linear(1.0, 0.5, steps=6).at(2)
    made.close()


def test_the_plans_own_schedule_and_a_scheduler_alone_are_not_remarked(tmp_path):
    train(run(tmp_path, learning_rate_schedule=Schedule.linear(1.0, 0.5, steps=6))).close()
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1)
    made = run(tmp_path, net=net, optimizer=optimizer, name="other.jsonl")
    for batch in made.batches(dataset(), physical_batch=60, steps=3):
        made.step(batch)
        scheduler.step()
    made.close()
