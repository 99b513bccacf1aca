"""A model sharded by ``fully_shard`` trains what a whole one would: each process holds, noises and steps its rows alone."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import pytest
import torch
from benchmarks.traffic import Traffic
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import TensorDataset

from renyi import Poisson
from renyi.training import AdaptiveClip, Run, replay, seeded
from renyi.training.randomness.sampler import poisson_draw
from tests.training.parallel.crew import crew
from tests.training.parallel.test_together import said
from tests.training.support import dataset, losses, plan

STEPS = 3
LOWEST = 1e-6


class Case(NamedTuple):
    """A model, its data and its losses; whatever of it is to be sharded by itself."""

    net: nn.Module
    data: TensorDataset
    losses: object
    blocks: tuple[nn.Module, ...]


def mlp():
    """Rows that two processes cannot share equally, one that only the first of them has, and parameters that nobody trains."""
    net = nn.Sequential(nn.Linear(4, 9), nn.Tanh(), nn.Linear(9, 5), nn.Tanh(), nn.Linear(5, 1), nn.Linear(1, 3))
    net[0].bias.requires_grad_(False)
    return Case(net, dataset(), losses, (net[0], net[2]))


def cnn():
    torch.manual_seed(1)
    net = nn.Sequential(
        *(
            nn.Conv2d(1, 6, 3),
            nn.GroupNorm(2, 6),
            nn.ReLU(),
            nn.Conv2d(6, 4, 3),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(64, 3),
        ),
    )
    return Case(net, TensorDataset(torch.randn(60, 1, 8, 8), torch.randint(0, 3, (60,))), losses, (net[0], net[3]))


def gpt2():
    """Without dropout; the embedding is the head, too."""
    from transformers import GPT2Config, GPT2LMHeadModel  # seconds, and not every process needs it

    torch.manual_seed(2)
    config = GPT2Config(
        n_layer=2, n_embd=16, n_head=2, vocab_size=29, n_positions=6, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0
    )
    net = GPT2LMHeadModel(config)
    return Case(net, TensorDataset(torch.randint(0, 29, (60, 6))), next_words, tuple(net.transformer.h))


def looped():
    """A model whose units no rule follows, so that all of it is mapped over them."""

    class Squared(nn.Linear):
        def forward(self, x):
            return super().forward(x) + (self.weight @ self.weight.T).sum() * x.sum(1, keepdim=True).sort().values

    net = nn.Sequential(Squared(4, 3), nn.Tanh(), nn.Linear(3, 3))
    return Case(net, dataset(), losses, (net[0],))


def next_words(net, batch):
    (words,) = batch
    logits = net(words).logits[:, :-1]
    return nn.functional.cross_entropy(logits.transpose(1, 2), words[:, 1:], reduction="none").mean(1)


CASES = {"MLP": mlp, "CNN": cnn, "GPT-2": gpt2, "looped": looped}


def trained(folder, name, *, sharded, case=mlp, keys=7, resume=False, steps=None, root=True, half=False, **changes):
    """A run to its end, or for some steps: its whole weights, its guarantee, the units that this process got."""
    torch.manual_seed(0)
    net, data, loss, blocks = case()
    precision = torch.bfloat16 if half else None
    for block in blocks if sharded else ():
        fully_shard(block, mp_policy=MixedPrecisionPolicy(precision))
    if sharded and root:
        fully_shard(net, mp_policy=MixedPrecisionPolicy(precision, output_dtype=torch.float32))
    optimizer = torch.optim.Adam((p for p in net.parameters() if p.requires_grad), lr=0.05)
    begin = Run.resume if resume else Run
    made = begin(
        plan(**{"steps": STEPS, **changes}),
        *(net, optimizer, loss),
        journal=folder / f"{name}.jsonl",
        keys=seeded(keys),
        **({"checkpoint": folder / f"{name}.pt"} if resume else {}),
    )
    drawn = []
    with made:
        for batch in made.batches(data, physical_batch=5, steps=steps):
            drawn.append((batch.step, batch.source.drawn))
            made.step(batch)
            if sharded and root:
                with torch.no_grad():
                    net(data[:2][0])  # leaves the weights of the root gathered
        made.save(folder / f"{name}.pt")
        state = made.state_dict()
    return torch.cat([p.flatten() for p in state["model"].values()]), made.guarantee(), drawn, made.method().clipping


def scenarios(rank, folder):
    """Everything that ends well, in one pair of processes: they take seconds to start."""
    found = {name: trained(folder, name, sharded=True, case=case) for name, case in CASES.items()}
    for name, case in (("whole CNN", cnn), ("whole GPT-2", gpt2)):
        found[name] = trained(folder, name, sharded=False, case=case)
    found["sparse"] = trained(folder, "sparse", sharded=True, sampling=Poisson(0.02), expected_batch=1)
    found["adaptive"] = trained(folder, "adaptive", sharded=True, clip=AdaptiveClip(1.0, count_noise_multiplier=5.0))
    found["half"] = trained(folder, "half", sharded=True, half=True)
    found["partly"] = trained(folder, "partly", sharded=True, root=False)
    found["some steps"] = trained(folder, "resumed", sharded=True, steps=2, keys=3)
    found["resumed"] = trained(folder, "resumed", sharded=True, resume=True, keys=4)
    found["resumed by one"] = trained(folder, "one", sharded=True, steps=2, keys=3)
    found["noise"] = [noise(folder, sharded=sharded) for sharded in (True, False)]
    found["traffic"] = {
        words: traffic(folder, run=run, sharded=sharded)
        for words, run, sharded in (
            ("DDP", False, False),
            ("FSDP", False, True),
            ("ours", True, False),
            ("sharded", True, True),
        )
    }
    return found


def traffic(folder, *, run, sharded):
    """What a process hands to collectives in one step of a model with an even number of rows, and how large the model is."""
    net = nn.Sequential(nn.Linear(4, 1_000), nn.Tanh(), nn.Linear(1_000, 2))
    size = sum(parameter.numel() for parameter in net.parameters())
    net = fully_shard(net) if sharded else net
    stepped = DistributedDataParallel(net) if not run and not sharded else net
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    if run:
        with Run(plan(), net, optimizer, losses, journal=folder / f"traffic-{sharded}.jsonl", keys=seeded(1)) as made:
            for batch in made.batches(dataset(), physical_batch=60):
                with Traffic() as counted:
                    made.step(batch)
        return counted.bytes, size
    for _ in range(3):
        optimizer.zero_grad()
        with Traffic() as counted:
            losses(stepped, dataset()[:20]).mean().backward()
    return counted.bytes, size


def noise(folder, *, sharded):
    """What one release adds to weights for which nobody was drawn, in units of its deviation."""
    net = nn.Sequential(nn.Linear(4, 2_000), nn.Linear(2_000, 3))
    for parameter in net.parameters():
        parameter.detach().zero_()
    if sharded:
        fully_shard(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=1.0)
    planned = plan(steps=1, sampling=Poisson(1e-9), expected_batch=1, noise_multiplier=3.0)
    with Run(planned, net, optimizer, losses, journal=folder / f"noise-{sharded}.jsonl", keys=seeded(11)) as run:
        for batch in run.batches(dataset()):
            run.step(batch)
        state = run.state_dict()
    return torch.cat([p.flatten() for p in state["model"].values()]) / 3.0


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pair")
    found = crew(2, scenarios, folder)
    assert all(isinstance(each, dict) for each in found), found
    return folder, found


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        *((name, {"case": case}) for name, case in CASES.items()),
        ("whole CNN", {"case": cnn}),
        ("whole GPT-2", {"case": gpt2}),
        ("sparse", {"sampling": Poisson(0.02), "expected_batch": 1}),
        ("adaptive", {"clip": AdaptiveClip(1.0, count_noise_multiplier=5.0)}),
        ("partly", {}),
    ],
)
def test_two_processes_with_half_a_model_each_train_what_one_would(pair, tmp_path, name, changes):
    _, (first, second) = pair
    alone, guarantee, _, method = trained(tmp_path, "alone", sharded=False, **changes)
    assert torch.equal(first[name][0], second[name][0])
    assert torch.allclose(first[name][0], alone, rtol=0, atol=1e-5)
    assert first[name][1].epsilon == guarantee.epsilon
    assert first[name][3] == second[name][3] == method


def test_a_sharded_model_computes_in_half_precision_and_is_stepped_in_full(pair):
    _, (first, second) = pair
    assert torch.equal(first["half"][0], second["half"][0])
    assert first["half"][0].dtype == torch.float32
    assert 1e-5 < (first["half"][0] - first["MLP"][0]).abs().max() < 0.2


def test_draws_are_one_poisson_draw_over_the_whole_dataset(pair):
    """Each process gets its part of it, and of some draws nothing."""
    _, pair = pair
    for name, rate in (("MLP", 0.3), ("sparse", 0.02)):
        for step in range(STEPS):
            got = [unit for each in pair for at, drawn in each[name][2] if at == step for unit in drawn]
            assert sorted(got) == poisson_draw(seeded(7).key("draw", step), units=60, rate=rate).tolist()
            chunks = [[at for at, _ in each[name][2]] for each in pair]
            assert chunks[0] == chunks[1]
    assert [] in [drawn for _, drawn in pair[1]["sparse"][2]]


def test_noise_over_all_processes_is_that_of_one_draw(pair):
    """By chi-square, whether each process adds the noise of its own rows, or all of them the same."""
    from scipy import stats

    _, (first, second) = pair
    for one, other in zip(first["noise"], second["noise"], strict=True):
        assert torch.equal(one, other)
        square = float(one.double().square().sum())
        assert min(stats.chi2.sf(square, len(one)), stats.chi2.cdf(square, len(one))) > LOWEST
    assert torch.equal(*first["noise"])


def test_as_many_gradient_bytes_are_reduced_as_in_plain_training(pair):
    """Once a step, whatever the number of chunks; beside them, at most a kilobyte."""
    for each in pair[1]:
        counted = {name: found for name, (found, _) in each["traffic"].items()}
        gradient = 4 * each["traffic"]["ours"][1]
        assert {found["reduced"] for found in counted.values()} == {gradient}
        assert counted["sharded"]["gathered"] == counted["FSDP"]["gathered"] == gradient // 2
        assert counted["ours"]["gathered"] == 0
        assert all(counted[name]["control"] <= 1_000 for name in ("ours", "sharded"))


def test_a_checkpoint_is_that_of_a_whole_model(pair, tmp_path):
    """Two processes with half a model each go on as one with all of it, and the other way round."""
    folder, (first, _) = pair
    for suffix in ("jsonl", "pt"):
        (tmp_path / f"one.{suffix}").write_bytes((folder / f"one.{suffix}").read_bytes())
    found = trained(tmp_path, "one", sharded=False, resume=True, keys=4)
    assert torch.allclose(found[0], first["resumed"][0], rtol=0, atol=1e-5)
    trained(tmp_path, "grown", sharded=False, steps=2, keys=3)
    grown = crew(2, going_on, tmp_path / "grown")
    assert torch.allclose(grown[0][0], first["resumed"][0], rtol=0, atol=1e-5)
    assert replay(tmp_path / "grown.jsonl").processes == 2


def going_on(rank, folder):
    return trained(folder.parent, "grown", sharded=True, resume=True, keys=4)


class Writing(nn.Linear):
    """A layer that writes what it sees into its weights."""

    def forward(self, x):
        with torch.no_grad():
            self.weight.add_(x.mean())
        return super().forward(x)


class Grading(nn.Linear):
    """A layer that runs a backward pass of its own."""

    def forward(self, x):
        if torch.is_grad_enabled():
            super().forward(x.detach()).sum().backward()
        return super().forward(x)


class Coupling(nn.Linear):
    """A layer in which the units of one process see each other."""

    def forward(self, x):
        return super().forward(x - x.mean(0) if torch.distributed.get_rank() else x)


def run_of(folder, name, make):
    net = make()
    with Run(
        plan(steps=3), net, torch.optim.SGD(net.parameters(), lr=0.1), losses, journal=folder / f"{name}.jsonl"
    ) as run:
        for batch in run.batches(dataset(), physical_batch=20):
            run.step(batch)


def tensor_parallel():
    return parallelize_module(nn.Sequential(nn.Linear(4, 4)), init_device_mesh("cpu", (2,)), {"0": ColwiseParallel()})


def two_ways():
    mesh = init_device_mesh("cpu", (2, 1), mesh_dim_names=("copies", "shards"))
    return fully_shard(nn.Sequential(nn.Linear(4, 4)), mesh=mesh)


def by_columns():
    return fully_shard(
        nn.Sequential(nn.Linear(4, 4, bias=False)), shard_placement_fn=lambda _: torch.distributed.tensor.Shard(1)
    )


REFUSED = {
    "tensor parallel": (tensor_parallel, "that is tensor parallel"),
    "copied and sharded": (two_ways, "both copied and sharded"),
    "sharded by columns": (by_columns, "sharded along another axis"),
    "the older wrapper": (lambda: FullyShardedDataParallel(nn.Linear(4, 3), device_id="cpu"), "fully_shard(module)"),
    "a layer that writes": (lambda: fully_shard(Writing(4, 3)), "written while a step computed with it"),
    "a layer with gradients": (lambda: fully_shard(Grading(4, 3)), "written by somebody else"),
    "a leak in one process": (lambda: fully_shard(Coupling(4, 3)), "lets units see each other"),
}


def refusals(rank, folder):
    """What every process is told, one refusal after another: after each of them the next run begins."""
    found = {name: said(partial(run_of, folder, name, make)) for name, (make, _) in REFUSED.items()}
    net = fully_shard(nn.Linear(4, 3))
    found["and trains on"] = said(partial(run_of, folder, "on", lambda: net))
    found["at rest"] = isinstance(net.weight, DTensor)
    return found


def test_what_cannot_be_clipped_or_is_written_is_refused(tmp_path):
    told = crew(2, refusals, tmp_path)
    for each in told:
        for name, (_, words) in REFUSED.items():
            assert words in each[name], (name, each[name])
        assert (each["and trains on"], each["at rest"]) == ("nothing", True)
    assert "rank 1" in told[0]["a leak in one process"]
    assert replay(tmp_path / "a leak in one process.jsonl").tainted is False
