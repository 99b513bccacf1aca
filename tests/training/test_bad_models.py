"""Models and losses that cannot be trained privately are refused by module, cause and fix; damaged units never stop a run."""

from __future__ import annotations

import json
from dataclasses import replace
from unittest import mock

import pytest
import torch
from benchmarks.looks import peak
from torch import nn
from torch.utils.data import TensorDataset

from renyi import Poisson
from renyi.ledger import read
from renyi.training import AdaptiveClip, Run, seeded
from renyi.training.checks.comparison import Comparison
from renyi.training.clipping.clipper import Clipper
from renyi.training.clipping.gradients import Outer
from renyi.training.errors import ClippingError, Misclipped
from tests.training.support import dataset, losses, model, plan, run, train


class Nested(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.body = nn.ModuleDict({"layer": layer})
        self.head = nn.Linear(4, 2)


REFUSED = {
    "sparse": (lambda: nn.Embedding(9, 4, sparse=True), r"body\.layer \(Embedding\) gives sparse.*sparse=False"),
    "sparse bag": (
        lambda: nn.EmbeddingBag(9, 4, sparse=True),
        r"body\.layer \(EmbeddingBag\) gives sparse.*sparse=False",
    ),
    "lazy": (lambda: nn.LazyLinear(4), r"body\.layer \(LazyLinear\) is lazy.*Run the model once"),
    "float16": (lambda: nn.Linear(4, 4).half(), r"weight of the module body\.layer \(Linear\) is in float16.*bfloat16"),
    "complex": (lambda: nn.Linear(4, 4, dtype=torch.complex64), r"body\.layer \(Linear\) is complex.*torch\.complex"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.filterwarnings("ignore:Lazy modules")
def test_a_model_is_refused_when_the_run_opens(tmp_path, name):
    layer, words = REFUSED[name]
    net = Nested(layer())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with pytest.raises(ClippingError, match=words):
        Run(plan(), net, optimizer, losses, journal=tmp_path / "run.jsonl")
    assert (tmp_path / "run.jsonl").read_bytes() == b""


def frozen(layer):
    return layer.requires_grad_(False)


@pytest.mark.parametrize("layer", [frozen(nn.Embedding(9, 4, sparse=True)), frozen(nn.Linear(4, 4).half())])
def test_what_is_frozen_may_be_so(tmp_path, layer):
    net = Nested(layer)
    optimizer = torch.optim.SGD(net.head.parameters(), lr=0.1)
    Run(plan(), net, optimizer, losses, journal=tmp_path / "run.jsonl").close()


def packed(items):
    x = nn.utils.rnn.pack_sequence([item[0].view(2, 2) for item in items], enforce_sorted=False)
    return x, torch.stack([item[1] for item in items])


def scaled(net, batch):
    return torch.amp.GradScaler("cpu").scale(losses(net, batch))


LOSSES = {
    "scalar": (lambda net, batch: losses(net, batch).mean(), {}, "return one loss per unit"),
    "tokens": (lambda net, batch: losses(net, batch)[:, None].repeat(1, 3), {}, "return one loss per unit"),
    "nothing": (lambda net, batch: None, {}, "return one loss per unit"),
    "scaler": (scaled, {}, "GradScaler.*bfloat16"),
    "packed": (lambda net, batch: losses(net, batch), {"collate": packed}, "packed sequence.*pad_sequence"),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses_are_refused_before_anything_is_released(tmp_path, name):
    loss, options, words = LOSSES[name]
    made = run(tmp_path, loss=loss, sampling=Poisson(1.0))
    with pytest.raises(ClippingError, match=words):
        made.step(next(iter(made.batches(dataset(), **options))))
    assert [entry.payload["kind"] for entry in read(tmp_path / "run.jsonl")] == ["run"]
    assert torch.amp.GradScaler.scale.__name__ == "scale"
    made.close()


def overflowing(net, batch):
    """The third class overflows, and the fourth is not a number."""
    value = losses(net, (batch[0], batch[1] % 2))
    return torch.where(batch[1] == 2, value * 1e38 * 1e38, torch.where(batch[1] == 3, value * torch.nan, value))


@pytest.mark.parametrize("clip", [1.0, AdaptiveClip(1.0, 4.0)], ids=["fixed", "adaptive"])
@pytest.mark.parametrize("damaged", [0.0, 0.1, 0.9, 1.0])
def test_units_that_are_not_finite_never_stop_a_run_and_are_named_nowhere(tmp_path, caplog, clip, damaged):
    """Looks included, with nearly all units damaged, or all of them."""
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(60, 4, generator=generator)
    kinds = torch.where(torch.arange(60) < 60 * damaged, 2 + torch.arange(60) % 2, torch.arange(60) % 2)
    made = run(tmp_path, loss=overflowing, sampling=Poisson(0.5), steps=8, clip=clip, keys=seeded(2))
    train(made, TensorDataset(x, kinds), physical_batch=16)
    assert made.steps == 8
    assert all(parameter.isfinite().all() for parameter in made.net.parameters())
    assert made.guarantee().epsilon.upper < 100
    # The id of an opening is random; what adapts depends on the data by design, through noise.
    kept = {"opened", *(("clip", "noise_deviation", "grid") if isinstance(clip, AdaptiveClip) else ())}
    rows = [entry.payload for entry in read(tmp_path / "run.jsonl")]
    honest = run(tmp_path, sampling=Poisson(0.5), steps=8, clip=clip, keys=seeded(2), name="honest.jsonl")
    train(honest, physical_batch=16)
    expected = [entry.payload for entry in read(tmp_path / "honest.jsonl")]
    assert [json.dumps({k: v for k, v in row.items() if k not in kept}) for row in rows] == [
        json.dumps({k: v for k, v in row.items() if k not in kept}) for row in expected
    ]
    assert caplog.text == ""
    made.close()
    honest.close()


def summed(net, batch):
    return 10 * net(batch[0]).sum(1)


def partly_infinite(x):
    """The gradient of one weight overflows; the others are finite, and so is the loss while that weight is zero."""
    x[3], x[3, 0] = 1e30, 3e38


ODD = {
    **{f"{value:g}": lambda x, value=value: x[3].fill_(value) for value in (1e19, 1e20, 1e30, 1e36)},
    "partly infinite": partly_infinite,
}


def beside_an_odd_row(tmp_path, odd):
    """A run in which every look compares all eight rows, one of them odd."""
    torch.manual_seed(0)
    net, x = nn.Linear(4, 2), torch.randn(8, 4)
    ODD[odd](x)
    with torch.no_grad():
        net.weight[:, 0] = 0
    made = run(tmp_path, net=net, loss=summed, sampling=Poisson(1.0), steps=4)
    return made, TensorDataset(x, torch.arange(8) % 2)


@pytest.mark.parametrize("odd", ODD)
def test_a_row_whose_gradient_is_huge_or_partly_infinite_raises_no_alarm(tmp_path, odd):
    made, data = beside_an_odd_row(tmp_path, odd)
    train(made, data, physical_batch=8)
    assert made.steps == 4
    assert made.guarantee().epsilon.upper < 100
    made.close()


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize(("what", "factor"), [("norm2", 0.99), ("weighted", 1.01)])
def test_such_a_row_hides_no_wrong_clipping(tmp_path, monkeypatch, odd, what, factor):
    made, data = beside_an_odd_row(tmp_path, odd)
    truth = getattr(Outer, what)
    monkeypatch.setattr(Outer, what, lambda *args, **options: factor * truth(*args, **options))
    with pytest.raises(Misclipped, match="weight disagree with a loop"):
        train(made, data, physical_batch=8)
    made.close()


def test_the_method_does_not_tell_whether_a_gradient_is_finite(tmp_path):
    odd, data = beside_an_odd_row(tmp_path, "partly infinite")
    plain = run(tmp_path, net=nn.Linear(4, 2), loss=summed, sampling=Poisson(1.0), steps=4, name="plain.jsonl")
    told = []
    for made, rows in ((odd, data), (plain, TensorDataset(torch.randn(8, 4), torch.arange(8) % 2))):
        train(made, rows, physical_batch=8)
        told.append(str(replace(made.method(), steps_per_look=None)))
        made.close()
    assert told[0] == told[1]
    assert told[0].endswith("never compared: gradients that are not finite")


def test_the_method_names_the_rules_the_looks_and_what_was_not_examined(tmp_path):
    def picky(net, batch):
        if float(batch[0].abs().max()) > 3.6:
            raise ValueError("out of range")
        return losses(net, batch)

    made = run(tmp_path, loss=picky, sampling=Poisson(1.0))
    assert made.method().layers == {}
    train(made, steps=4, physical_batch=60)
    found = made.method()
    assert found.clipping == "rules"
    assert set(found.layers) == set(dict(made.net.named_parameters()))
    assert found.layers["0.weight"] == "by the rule of linear"
    assert (found.looks, found.units) == (3, 8)
    assert found.steps_per_look is not None
    assert found.steps_per_look > 0
    assert any("the model refuses such inputs" in text for text in found.unexamined)
    assert "looks: 3, at 8 units" in str(found)
    assert "not examined: units beside others that were altered" in str(found)
    made.close()


def test_a_model_that_falls_back_to_a_loop_says_so(tmp_path, caplog):
    class Branching(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = model()

        def forward(self, x):
            return torch.stack([self.first(row) if float(row.detach().sum()) > 0 else self.first(-row) for row in x])

    made = run(tmp_path, net=Branching(), sampling=Poisson(1.0))
    train(made, steps=1)
    found = made.method()
    assert found.clipping.startswith("loop over units, because of")
    assert set(found.layers.values()) == {found.clipping}
    assert "See run.method()" in caplog.text
    made.close()


def test_a_look_holds_few_gradients_at_a_time(tmp_path):
    """Three times the parameters beyond a plain step, and eight times if everything has to be confirmed."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(100, 1000), nn.ReLU(), nn.Linear(1000, 1000), nn.ReLU(), nn.Linear(1000, 2))
    batch = (torch.randn(16, 100), torch.randint(0, 2, (16,)))
    size = 4 * sum(p.numel() for p in net.parameters())

    def plain():
        losses(net, batch).mean().backward()
        net.zero_grad()

    clipper = Clipper(net, losses)
    base = peak(plain)
    assert peak(lambda: clipper.check(batch, 16, 1.0, seed=0)) - base < 3 * size
    with mock.patch.object(Comparison, "differ", confirming):
        assert peak(lambda: clipper.check(batch, 16, 1.0, seed=0)) - base < 8 * size


def confirming(self, one, other, *, copies=None, same_size=True):
    """Doubt every comparison."""
    self.run(other, one.seed)
    return self.confirmed(one.setting, other, one.seed, copies=copies, same_size=same_size)
