"""Batches: single-use tickets of Poisson draws, of bounded size, in order.

Units of one row, of a person, of several views.
"""

from __future__ import annotations

import os

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

from renyi import InvalidInput, Poisson
from renyi.training import LeakError, Rows, TrainingError, seeded
from renyi.training.feeding.loading import expect_apart
from renyi.training.randomness.sampler import poisson_draw
from tests.training.support import dataset, losses, run, train, weights


class Numbers(Dataset):
    """Row i is the number i, so that a batch shows who is in it."""

    def __init__(self, rows):
        self.rows = rows
        self.asked = []

    def __len__(self):
        return self.rows

    def __getitem__(self, row):
        self.asked.append(row)
        return torch.full((4,), float(row)), row % 2


def seen(made, data, **options):
    """For every step, the chunks of row numbers that came."""
    steps = {}
    for ticket in made.batches(data, **options):
        steps.setdefault(ticket.step, []).append([] if ticket.data is None else ticket.data[0][:, 0].int().tolist())
        made._turnstile.admit(ticket)
    return steps


FORKING = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


@pytest.mark.filterwarnings("ignore:This DataLoader will create")  # on a machine with one core
@FORKING
@pytest.mark.parametrize("workers", [0, 2])
def test_the_draws_come_in_chunks_of_bounded_size_with_and_without_workers(tmp_path, workers):
    keys = seeded(3)
    made = run(tmp_path, keys=keys, steps=5)
    steps = seen(made, Numbers(50), physical_batch=4, num_workers=workers)
    assert list(steps) == [0, 1, 2, 3, 4]
    for step, chunks in steps.items():
        wanted = poisson_draw(keys.key("draw", step), units=50, rate=0.3).tolist()
        assert [row for chunk in chunks for row in chunk] == wanted
        assert all(len(chunk) == 4 for chunk in chunks[:-1])
        assert 0 < len(chunks[-1]) <= 4
    made.close()


def test_an_empty_draw_is_a_ticket_and_releases_pure_noise(tmp_path):
    made = run(tmp_path, keys=seeded(0), sampling=Poisson(1e-9), steps=3)
    before = weights(made.net)
    tickets = 0
    for batch in made.batches(dataset()):
        tickets += 1
        statistics = made.step(batch)
        assert statistics.drawn.reveal() == 0
    assert tickets == made.steps == 3
    assert not torch.equal(before, weights(made.net))
    made.close()


@FORKING
def test_worker_processes_hand_on_empty_draws_too(tmp_path):
    made = run(tmp_path, keys=seeded(0), sampling=Poisson(0.02), steps=12)
    drawn = []
    for batch in made.batches(dataset(20), num_workers=1):
        drawn.append(made.step(batch).drawn.reveal())
    assert made.steps == len(drawn) == 12
    assert 0 in drawn
    assert max(drawn) > 0
    made.close()


def test_a_dataset_without_rows_still_runs(tmp_path):
    made = train(run(tmp_path, keys=seeded(0)), TensorDataset(torch.zeros(0, 4), torch.zeros(0).long()))
    assert made.steps == 6
    made.close()


def test_a_ticket_is_taken_once_and_in_order(tmp_path):
    made = run(tmp_path, keys=seeded(1))
    tickets = made.batches(dataset(), physical_batch=5)
    first, second, third = next(tickets), next(tickets), next(tickets)
    made.step(first)
    with pytest.raises(TrainingError, match="is not next"):
        made.step(first)
    with pytest.raises(TrainingError, match="waits for another batch of step 0"):
        made.step(third)
    made.step(second)
    assert made.steps == 0
    made.close()


@pytest.mark.parametrize("foreign", [(torch.zeros(2, 4), torch.zeros(2).long()), None, [1], torch.zeros(3)], ids=str)
def test_batches_from_elsewhere_get_no_poisson_number(tmp_path, foreign):
    made = run(tmp_path)
    with pytest.raises(TrainingError, match="shuffled"):
        made.step(foreign)
    made.close()


def test_a_ticket_of_another_run_or_an_earlier_loop_is_void(tmp_path):
    made, other = run(tmp_path), run(tmp_path, name="other.jsonl")
    ticket = next(iter(other.batches(dataset())))
    with pytest.raises(TrainingError, match="void"):
        made.step(ticket)
    old = next(iter(made.batches(dataset())))
    made.batches(dataset())
    with pytest.raises(TrainingError, match="void"):
        made.step(old)
    made.close()
    other.close()


def test_leaving_the_loop_drops_the_unfinished_draw(tmp_path):
    """One step after an abandoned one is the step that an undisturbed run takes: nothing of the partial sum is left."""
    calm = train(run(tmp_path, keys=seeded(5)), steps=1)
    made = run(tmp_path, keys=seeded(5), name="other.jsonl")
    for _ in range(3):
        for number, batch in enumerate(made.batches(dataset(), physical_batch=3)):
            made.step(batch)
            if number == 2:
                break
    assert made.steps == 0
    train(made, steps=1)
    assert made.steps == 1
    torch.testing.assert_close(weights(made.net), weights(calm.net), rtol=0, atol=1e-6)
    calm.close()
    made.close()


def test_the_same_step_of_the_same_run_is_drawn_alike_so_that_draws_cannot_be_chosen(tmp_path):
    made = run(tmp_path)
    first = next(iter(made.batches(Numbers(200), physical_batch=300))).data[0][:, 0].tolist()
    again = next(iter(made.batches(Numbers(200), physical_batch=300))).data[0][:, 0].tolist()
    assert first == again
    made.close()


def test_an_error_inside_a_step_drops_the_draw(tmp_path):
    made = run(tmp_path, keys=seeded(5))
    tickets = made.batches(dataset(), physical_batch=3)
    made.step(next(tickets))
    broken, made._clipper.sums = made._clipper.sums, None
    with pytest.raises(TrainingError, match="TypeError was raised at"):
        made.step(next(tickets))
    made._clipper.sums = broken
    with pytest.raises(TrainingError, match="dropped after an error"):
        made.step(next(tickets))
    train(made, steps=1)
    assert made.steps == 1
    made.close()


def test_a_person_is_drawn_and_clipped_with_all_rows(tmp_path):
    owners = ["ann", "bob", "ann", "eve", "bob", "ann"]
    made = run(tmp_path, keys=seeded(2), unit="person", sampling=Poisson(0.5), steps=40, loss=per_person)
    sizes = set()
    for ticket in made.batches(Numbers(6), owners=owners, physical_batch=10):
        if ticket.data is not None:
            assert isinstance(ticket.data, Rows)
            (x, _), present = ticket.data
            assert x.shape[:2] == present.shape == (ticket.units, present.shape[1])
            for rows, here in zip(x[:, :, 0].int().tolist(), present.tolist(), strict=True):
                held = [row for row, there in zip(rows, here, strict=True) if there]
                assert held in ([0, 2, 5], [1, 4], [3])
            sizes.add(ticket.units)
        made.step(ticket)
    assert sizes == {1, 2, 3}
    assert made.steps == 40
    assert "one person" in made.guarantee().assumptions[1]
    made.close()


def per_person(net, batch):
    (x, y), present = batch
    per_row = torch.nn.functional.cross_entropy(net(x / 6).flatten(0, 1), y.flatten(), reduction="none").reshape(
        y.shape
    )
    return (per_row * present).sum(1) / present.sum(1)


def test_the_rows_of_a_person_can_be_bounded(tmp_path):
    made = run(tmp_path, unit="person", sampling=Poisson(1.0))
    owners = torch.tensor([7, 7, 7, 7, 9, 7])
    ticket = next(iter(made.batches(Numbers(6), owners=owners, rows_per_unit=2)))
    assert ticket.data.values[0][:, :, 0].tolist() == [[0.0, 1.0], [4.0, 4.0]]
    assert ticket.data.present.tolist() == [[True, True], [True, False]]
    made.close()


def test_several_views_of_one_example_stand_under_one_clip(tmp_path):
    data = Numbers(30)
    made = run(tmp_path, steps=2, loss=per_person)
    for ticket in made.batches(data, views=3, physical_batch=100):
        assert ticket.data.values[0].shape == (ticket.units, 3, 4)
        made.step(ticket)
    assert made.steps == 2
    assert all(data.asked.count(row) % 3 == 0 for row in range(30))
    made.close()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"owners": [1] * 60}, 'unit="person"'),
        ({"rows_per_unit": 3}, "owners="),
        ({"physical_batch": 0}, "physical_batch"),
        ({"num_workers": -1}, "num_workers"),
        ({"views": 0}, "views"),
        ({"steps": 1.5}, "steps"),
    ],
    ids=str,
)
def test_options_that_make_no_sense(tmp_path, options, words):
    made = run(tmp_path)
    with pytest.raises(InvalidInput) as caught:
        next(iter(made.batches(dataset(), **options)))
    assert words in str(caught.value)
    made.close()


def test_owners_must_match_the_rows(tmp_path):
    made = run(tmp_path, unit="person")
    with pytest.raises(InvalidInput, match="3 ids for 60 rows"):
        made.batches(dataset(), owners=[1, 2, 3])
    made.close()


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(10))


def test_only_datasets_are_drawn_from(tmp_path):
    made = run(tmp_path)
    loader = DataLoader(dataset(), batch_size=4, shuffle=True)
    for given, words in [
        (loader, "Subset"),
        (loader.batch_sampler, "not Poisson draws"),
        (Stream(), "map-style"),
        (iter([1]), "map-style"),
    ]:
        with pytest.raises(InvalidInput, match=words):
            made.batches(given)
    made.close()


def mixup(items):
    x, y = torch.utils.data.default_collate(items)
    other = torch.randperm(len(x))
    return 0.7 * x + 0.3 * x[other], y


def normalised(items):
    x, y = torch.utils.data.default_collate(items)
    return x - x.mean(0), y


def padded(items):
    return torch.nn.utils.rnn.pad_sequence([x for x, _ in items], batch_first=True), torch.tensor([y for _, y in items])


@pytest.mark.parametrize("collate", [mixup, normalised])
def test_a_collate_function_that_mixes_units_is_refused(tmp_path, collate):
    made = run(tmp_path)
    with pytest.raises(LeakError, match="mixes units"):
        next(iter(made.batches(dataset(), collate=collate)))
    made.close()


def test_a_collate_function_may_pad_and_may_be_random_by_itself():
    expect_apart(padded, [(torch.ones(3), 0), (torch.ones(5), 1)], grouped=False)
    expect_apart(lambda items: torch.stack([torch.rand(2) + x for x, _ in items]), [(0, 0), (1, 1)], grouped=False)


def test_a_custom_collate_function_is_used(tmp_path):
    made = run(tmp_path, keys=seeded(1), loss=lambda net, batch: losses(net, batch[::-1]))
    flipped = lambda items: tuple(torch.utils.data.default_collate(items)[::-1])  # noqa: E731
    for batch in made.batches(dataset(), collate=flipped):
        made.step(batch)
    assert made.steps == 6
    made.close()


def test_a_ticket_shows_nothing_private(tmp_path):
    made = run(tmp_path)
    ticket = next(iter(made.batches(dataset(), physical_batch=1000)))
    assert repr(ticket) == "Ticket(step=0)"
    made.close()


class Workers(Dataset):
    """Items that say which process loaded them."""

    def __len__(self):
        return 30

    def __getitem__(self, index):
        return torch.ones(4), torch.tensor(0), torch.tensor([os.getpid()])


def loss_of_first(net, batch):
    return losses(net, batch[:2])


@pytest.mark.parametrize("persistent", [False, True])
def test_persistent_workers_serve_further_loops(tmp_path, persistent):
    made, data = run(tmp_path, loss=loss_of_first, keys=seeded(1)), Workers()
    options = {"num_workers": 1, "persistent_workers": persistent}
    processes = set()
    for _ in range(2):
        for batch in made.batches(data, physical_batch=30, steps=1, **options):
            processes |= set(batch.data[2].flatten().tolist())
            made.step(batch)
    left = made.batches(data, physical_batch=30, **options)
    first = next(left)  # a loop that is left: what its workers still load must not reach the next one
    again = made.batches(data, physical_batch=30, **options)
    batch = next(again)
    assert len(list(left)) in ((0,) if persistent else (3,))
    wanted = poisson_draw(made._keys.key("draw", 2), units=30, rate=0.3).tolist()
    assert batch.source.drawn == first.source.drawn == wanted
    made.step(batch)
    assert made.steps == 3
    assert len(processes) == (1 if persistent else 2)
    assert os.getpid() not in processes
    made.close()


def test_workers_that_do_not_exist_cannot_persist(tmp_path):
    made = run(tmp_path)
    with pytest.raises(InvalidInput, match="persistent_workers=True keeps worker processes alive, and num_workers=0"):
        made.batches(dataset(), persistent_workers=True)
    made.close()


def test_memory_is_pinned_if_that_is_asked_for(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "renyi.training.feeding.loading.DataLoader", lambda *given, **options: asked.append(options) or iter(())
    )
    made = run(tmp_path)
    for pin in (False, True):
        made.batches(dataset(), pin_memory=pin)
    assert [options["pin_memory"] for options in asked] == [False, True]
    made.close()
