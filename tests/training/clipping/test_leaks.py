"""Units that see each other are found, and the place is named."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional

from renyi.training.clipping.clipper import Clipper
from renyi.training.clipping.fallback import Fallback
from renyi.training.clipping.gradients import Dense
from renyi.training.errors import ClippingError, LeakError
from tests.training.clipping.reference import squared

UNITS = 5


class Centred(nn.Module):
    def forward(self, x):
        return x - x.mean(0)


class Capacity(nn.Module):
    """Only so many rows of the batch are let through: nothing to differentiate."""

    def forward(self, x):
        first = (x.sum(1) > 0).cumsum(0) <= 1
        return x * first.unsqueeze(1)


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(8))

    def forward(self, x):
        self.total = self.total + x.detach().sum(0)
        return x


class Direct(nn.Module):
    """Batch statistics by the function underneath, without a module that says so."""

    def forward(self, x):
        return torch.batch_norm(x, None, None, None, None, True, 0.1, 1e-5, False)


def model_with(module):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 8), nn.Tanh(), module, nn.Linear(8, 3))


def batch():
    torch.manual_seed(1)
    return torch.randn(UNITS, 8)


def padded(model, batch):
    """A mean over the tokens of the whole batch that are not padding."""
    mask = (batch > 0).float()
    return (model(batch).sum(1, keepdim=True) * mask).sum(1) / mask.sum()


def negatives(model, batch):
    x = functional.normalize(model(batch), dim=1)
    return functional.cross_entropy(x @ x.T, torch.arange(len(x)), reduction="none")


def divided(model, batch):
    return squared(model, batch) / len(batch)


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (nn.BatchNorm1d(8), r"module 2 .*GroupNorm"),
        (nn.BatchNorm1d(8, affine=False), r"module 2 .*GroupNorm"),
        (nn.BatchNorm1d(8, affine=False, track_running_stats=False), r"module 2 .*GroupNorm"),
        (Centred(), r"module 2 \(Centred\).*normalise within a unit"),
        (Capacity(), r"module 2 \(Capacity\)"),
        (Counting(), r"buffer 2\.total of the module 2 \(Counting\)"),
    ],
    ids=["batch norm", "no affine", "no statistics", "centred", "capacity", "counting"],
)
def test_the_check_names_the_module_and_the_fix(module, words):
    model = model_with(module)
    before = {name: buffer.clone() for name, buffer in model.named_buffers()}
    with pytest.raises(LeakError, match=words):
        Clipper(model, squared).check(batch(), UNITS, 1.0)
    assert all(torch.equal(buffer, before[name]) for name, buffer in model.named_buffers())
    assert all(module.training and not module._forward_hooks for module in model.modules())


@pytest.mark.parametrize("module", [nn.BatchNorm1d(8), nn.BatchNorm1d(8, affine=False), Centred(), Direct()], ids=repr)
def test_a_step_refuses_too_without_a_check(module):
    with pytest.raises(LeakError):
        Clipper(model_with(module), squared).sums(batch(), UNITS, 1.0)


def test_a_frozen_batch_norm_leaks_as_well():
    model = model_with(nn.BatchNorm1d(8).requires_grad_(False))
    with pytest.raises(LeakError, match="GroupNorm"):
        Clipper(model, squared).sums(batch(), UNITS, 1.0)


@pytest.mark.parametrize("losses", [padded, negatives, divided])
def test_losses_that_couple_units_are_named(losses):
    with pytest.raises(LeakError, match=r"loss function.*reduction=.none"):
        Clipper(model_with(nn.Identity()), losses).check(batch(), UNITS, 1.0)


@pytest.mark.parametrize(
    "module",
    [nn.GroupNorm(2, 8), nn.BatchNorm1d(8).eval(), nn.LayerNorm(8), nn.Dropout(0.5), nn.AlphaDropout(0.3)],
    ids=repr,
)
def test_what_keeps_units_apart_passes(module):
    Clipper(model_with(module), squared).check(batch(), UNITS, 1.0)


def test_the_random_state_of_the_caller_is_kept():
    clipper = Clipper(model_with(nn.Dropout(0.5)), squared)
    data = batch()
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    clipper.check(data, UNITS, 1.0)
    assert torch.equal(torch.rand(3), expected)


def test_dropout_elsewhere_in_attention_and_recurrence_passes():
    class Text(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.3, batch_first=True)
            self.lstm = nn.LSTM(8, 4, num_layers=2, dropout=0.3, batch_first=True)

        def forward(self, x):
            return self.lstm(self.encoder(x))[0]

    torch.manual_seed(0)
    Clipper(Text(), squared).check(torch.randn(UNITS, 4, 8), UNITS, 1.0)


@pytest.mark.parametrize("booked", [True, False], ids=["rules", "fallback"])
def test_a_wrong_rule_is_caught_by_the_loop(monkeypatch, booked):
    clipper = Clipper(model_with(nn.Identity()), squared)
    clipper._fallback = None if booked else Fallback(clipper.model)
    truth = clipper._measured

    def wrong(batch, units, losses):
        for values, forms in truth(batch, units, losses):
            with torch._C.DisableTorchFunction():
                yield values, {**forms, "0.weight": Dense(1.01 * forms["0.weight"].dense())}

    monkeypatch.setattr(clipper, "_measured", wrong)
    with pytest.raises(ClippingError, match=r"0\.weight disagree with a loop"):
        clipper.check(batch(), UNITS, 1.0)


def test_a_model_that_fails_alone_is_named():
    def losses(model, batch):
        return model(batch).squeeze()[:, 0].square()

    with pytest.raises(ClippingError, match="single unit"):
        Clipper(model_with(nn.Identity()), losses).check(batch(), UNITS, 1.0)


def blended(model, batch):
    return squared(model, 0.6 * batch + 0.4 * batch.roll(1, 0))


@pytest.mark.parametrize("model", [nn.Linear(8, 3), model_with(nn.Identity())], ids=["one layer", "several"])
def test_a_loss_that_mixes_units_is_blamed_and_not_the_model(model):
    with pytest.raises(LeakError, match=r"the loss function .*before they reach the model"):
        Clipper(model, blended).check(batch(), UNITS, 1.0)


def test_the_model_is_blamed_where_its_own_forward_mixes_units():
    class Whole(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(8, 3)

        def forward(self, x):
            return self.layer(x - x.mean(0))

    with pytest.raises(LeakError, match=r"the model itself \(Whole\) lets units see each other"):
        Clipper(Whole(), squared).check(batch(), UNITS, 1.0)


@pytest.mark.parametrize("parametrization", [True, False])
@pytest.mark.filterwarnings("ignore:.*spectral_norm.*:FutureWarning")
def test_spectral_norm_is_named_with_its_fix(parametrization):
    normed = nn.utils.parametrizations.spectral_norm if parametrization else nn.utils.spectral_norm
    clipper = Clipper(model_with(normed(nn.Linear(8, 8))), squared)
    with pytest.raises(LeakError, match=r"spectral_norm turns its vectors .*parametrizations\.weight\.eval\(\)"):
        clipper.check(batch(), UNITS, 1.0)


def test_spectral_norm_in_eval_mode_passes():
    model = model_with(nn.utils.parametrizations.spectral_norm(nn.Linear(8, 8)))
    model[2].parametrizations.weight.eval()
    clipper = Clipper(model, squared)
    clipper.sums(batch(), UNITS, 1.0)
    clipper.check(batch(), UNITS, 1.0)
