"""Small honest models of many families, with dropout on, and couplings to plant in them, down to a chosen strength."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import peft
import torch
import transformers
from torch import Tensor, nn
from torch.distributions import Gamma
from torch.nn import functional

from renyi.training.feeding.tickets import Ticket
from renyi.training.feeding.units import Source, UnitCollate, Units

UNITS, TOKENS, WORDS, WIDTH = 12, 10, 40, 24
transformers.logging.set_verbosity_error()

Losses = Callable[[nn.Module, Any], Tensor]


@dataclass(frozen=True, eq=False)
class Case:
    """A model with fresh weights, its losses, and a fresh batch; ``fresh`` draws another batch."""

    model: nn.Module
    losses: Losses
    fresh: Callable[[], Any]


def words() -> dict[str, Tensor]:
    """Sentences of different lengths, padded."""
    lengths = torch.randint(3, TOKENS + 1, (UNITS, 1))
    lengths[0] = TOKENS
    return {
        "input_ids": torch.randint(1, WORDS, (UNITS, TOKENS)),
        "attention_mask": (torch.arange(TOKENS) < lengths).long(),
    }


def images() -> tuple[Tensor, Tensor]:
    return torch.randn(UNITS, 3, 16, 16), torch.randint(0, 5, (UNITS,))


def sequences() -> tuple[Tensor, Tensor]:
    return torch.randn(UNITS, TOKENS, 8), torch.randint(0, 5, (UNITS,))


def classified(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
    x, y = batch
    out = model(x.to(next(model.parameters()).dtype))
    out = getattr(out, "logits", out)
    return functional.cross_entropy(out, y, reduction="none")


def _over_own_tokens(loss: Tensor, mask: Tensor) -> Tensor:
    return (loss * mask).sum(1) / mask.sum(1)


def next_words(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
    logits = model(**batch).logits[:, :-1]
    loss = functional.cross_entropy(logits.transpose(1, 2), batch["input_ids"][:, 1:], reduction="none")
    return _over_own_tokens(loss, batch["attention_mask"][:, 1:])


def same_words(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
    logits = model(**batch).logits
    loss = functional.cross_entropy(logits.transpose(1, 2), batch["input_ids"], reduction="none")
    return _over_own_tokens(loss, batch["attention_mask"])


def answered(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
    logits = model(**batch, decoder_input_ids=batch["input_ids"].flip(1)).logits
    loss = functional.cross_entropy(logits.transpose(1, 2), batch["input_ids"], reduction="none")
    return _over_own_tokens(loss, batch["attention_mask"])


def denoised(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
    x = batch[0].to(next(model.parameters()).dtype)
    return (model(x + torch.randn_like(x)) - x).square().flatten(1).mean(1)


def gpt2() -> nn.Module:
    config = transformers.GPT2Config(
        n_layer=2, n_embd=WIDTH, n_head=2, n_positions=16, vocab_size=WORDS, bos_token_id=0, eos_token_id=0
    )
    return transformers.GPT2LMHeadModel(config)


def bert() -> nn.Module:
    config = transformers.BertConfig(
        num_hidden_layers=2, hidden_size=WIDTH, num_attention_heads=2, intermediate_size=32, vocab_size=WORDS
    )
    return transformers.BertForMaskedLM(config)


def t5() -> nn.Module:
    config = transformers.T5Config(
        num_layers=1, d_model=WIDTH, d_kv=8, d_ff=32, num_heads=2, vocab_size=WORDS, decoder_start_token_id=0
    )
    return transformers.T5ForConditionalGeneration(config)


def vit() -> nn.Module:
    config = transformers.ViTConfig(
        num_hidden_layers=2,
        hidden_size=WIDTH,
        num_attention_heads=2,
        intermediate_size=32,
        image_size=16,
        patch_size=8,
        num_labels=5,
        hidden_dropout_prob=0.1,
        attention_probs_dropout_prob=0.1,
    )
    return transformers.ViTForImageClassification(config)


def lora() -> nn.Module:
    config = peft.LoraConfig(r=4, lora_alpha=8, lora_dropout=0.1, target_modules=["c_attn"], fan_in_fan_out=True)
    model: Any = peft.get_peft_model(gpt2(), config)
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            nn.init.normal_(parameter, std=0.2)  # zero at first, and then nothing reaches the other factor
    return model


class Residual(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1),
            nn.GroupNorm(2, channels),
            nn.ReLU(),
            nn.Dropout2d(0.1),
            nn.Conv2d(channels, channels, 3, padding=1),
            nn.GroupNorm(2, channels),
        )

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(x + self.body(x))


def resnet() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.ReLU(),
        Residual(8),
        nn.MaxPool2d(2),
        Residual(8),
        nn.Flatten(),
        nn.Linear(512, 5),
    )


def cnn() -> nn.Module:
    return nn.Sequential(
        *(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1), nn.ReLU()),
        *(nn.MaxPool2d(2), nn.Dropout(0.2), nn.Flatten(), nn.Linear(256, 5)),
    )


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.into, self.down = nn.Conv2d(3, 6, 3, padding=1), nn.Conv2d(6, 8, 3, stride=2, padding=1)
        self.up, self.out = nn.ConvTranspose2d(8, 6, 2, stride=2), nn.Conv2d(12, 3, 3, padding=1)
        self.drop = nn.Dropout(0.1)

    def forward(self, x: Tensor) -> Tensor:
        high = functional.relu(self.into(x))
        low = self.drop(functional.silu(self.down(high)))
        return self.out(torch.cat([high, self.up(low)], 1))


class Mixer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Conv2d(3, WIDTH, 4, stride=4)
        self.tokens = nn.Sequential(nn.Linear(16, 20), nn.GELU(), nn.Dropout(0.1), nn.Linear(20, 16))
        self.channels = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 32), nn.GELU(), nn.Linear(32, WIDTH))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = self.embed(x).flatten(2).transpose(1, 2)
        x = x + self.tokens(self.norm(x).transpose(1, 2)).transpose(1, 2)
        x = x + self.channels(x)
        return self.head(x.mean(1))


class Recurrent(nn.Module):
    def __init__(self, kind: type[nn.Module]) -> None:
        super().__init__()
        self.cell = kind(8, 12, num_layers=2, dropout=0.1, batch_first=True)
        self.head = nn.Linear(12, 5)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.cell(x)[0][:, -1])


class Experts(nn.Module):
    """Every token goes to its best expert, however many others do: no capacity, and dropout inside the experts."""

    def __init__(self) -> None:
        super().__init__()
        self.router, self.head = nn.Linear(8, 3), nn.Linear(8, 5)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(8, 12), nn.ReLU(), nn.Dropout(0.1), nn.Linear(12, 8)) for _ in range(3)
        )

    def forward(self, x: Tensor) -> Tensor:
        rows = x.flatten(0, 1)
        share, chosen = self.router(rows).softmax(-1).max(-1)
        out = torch.zeros_like(rows)
        for number, expert in enumerate(self.experts):
            mine = (chosen == number).nonzero().flatten()
            if len(mine):
                out = out.index_add(0, mine, (expert(rows[mine]) * share[mine, None]).to(out.dtype))
        return self.head((rows + out).view(x.shape).mean(1))


class Attention(nn.Module):
    """Attention written by hand, time first inside, with noise and dropout of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out, self.head = nn.Linear(8, 24), nn.Linear(8, 8), nn.Linear(8, 5)
        self.scale = nn.Parameter(torch.ones(8))

    def forward(self, x: Tensor) -> Tensor:
        x = x.transpose(0, 1)
        q, k, v = self.qkv(x).chunk(3, -1)
        weights = torch.einsum("tbd,sbd->bts", q, k).div(8**0.5).softmax(-1)
        if self.training:
            weights = weights * (torch.rand_like(weights) > 0.1) / 0.9
        mixed = torch.einsum("bts,sbd->tbd", weights, v)
        x = x + functional.dropout(self.out(mixed), 0.1, self.training) * self.scale
        return self.head(x.transpose(0, 1).mean(1))


class Random(nn.Module):
    """Random slopes, counts and factors, for which torch draws as many numbers as the data ask for."""

    def __init__(self) -> None:
        super().__init__()
        self.into, self.slopes, self.head = nn.Linear(8, 12), nn.RReLU(), nn.Linear(12, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = self.slopes(self.into(x))
        counts = torch.poisson(20 * x.detach().sigmoid()) / 20
        return self.head((x * counts * Gamma(1 + x.exp(), torch.ones_like(x)).rsample()).mean(1))


FAMILIES: dict[str, tuple[Callable[[], nn.Module], Losses, Callable[[], Any]]] = {
    "gpt2": (gpt2, next_words, words),
    "bert": (bert, same_words, words),
    "t5": (t5, answered, words),
    "vit": (vit, classified, images),
    "resnet with group norm": (resnet, classified, images),
    "cnn": (cnn, classified, images),
    "u-net": (UNet, denoised, images),
    "mlp-mixer": (Mixer, classified, images),
    "lstm": (lambda: Recurrent(nn.LSTM), classified, sequences),
    "gru": (lambda: Recurrent(nn.GRU), classified, sequences),
    "mixture of experts": (Experts, classified, sequences),
    "lora": (lora, next_words, words),
    "own attention": (Attention, classified, sequences),
    "random layers": (Random, classified, sequences),
}
PRECISIONS = ("float32", "bfloat16", "autocast")


def case(family: str, precision: str, seed: int) -> Case:
    """A model of this family with weights and data from this seed."""
    torch.manual_seed(seed)
    make, losses, fresh = FAMILIES[family]
    model = make().train()
    if precision == "bfloat16":
        model = model.to(torch.bfloat16)

    def cast(net: nn.Module, batch: Any) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            return losses(net, batch).float()

    return Case(model, cast if precision == "autocast" else losses, fresh)


# Couplings: each takes the losses of a batch and a strength, and lets units see each other.


def batch_statistics(v: Tensor, strength: float) -> Tensor:
    return v + strength * v.mean()


def mining(v: Tensor, strength: float) -> Tensor:
    """Losses above the median count more."""
    return v * (1 + strength * (v > v.median()))


def token_mean(v: Tensor, strength: float) -> Tensor:
    """Weights that each unit has by itself, between one and two, normalised over the batch."""
    weight = 1 + (1000 * v.detach().double()).frac().abs()
    return v * (1 - strength + strength * weight / weight.mean())


def contrastive(v: Tensor, strength: float) -> Tensor:
    """Every other unit is a negative."""
    return v + strength * torch.logsumexp(-(v[:, None] - v[None]).abs(), 1)


def detached_factor(v: Tensor, strength: float) -> Tensor:
    """The gradient alone is scaled, by the skewness of the batch's losses."""
    apart = v.detach() - v.detach().mean()
    skewness = (apart / apart.square().mean().sqrt()).pow(3).mean()
    return v.detach() + (v - v.detach()) * (1 + strength * skewness)


def centred(v: Tensor, strength: float) -> Tensor:
    """Gradients are taken relative to their mean."""
    return v - strength * v.sum() / len(v)


COUPLINGS = (batch_statistics, mining, token_mean, contrastive, detached_factor, centred)


def planted(honest: Losses, coupling: Callable[[Tensor, float], Tensor], strength: float) -> Losses:
    return lambda model, batch: coupling(honest(model, batch), strength)


# Padding: sequences that are collated to the longest.


class Sentences(torch.utils.data.Dataset[Tensor]):
    def __init__(self) -> None:
        self.rows = [torch.randn(int(length), 8) for length in torch.randint(2, TOKENS, (UNITS,))]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, row: int) -> Tensor:
        return self.rows[row]


def to_the_longest(items: list[Tensor]) -> tuple[Tensor, Tensor]:
    return nn.utils.rnn.pad_sequence(items, batch_first=True), torch.tensor([len(item) for item in items])


def over_padding(share: float, *, autocast: bool) -> Losses:
    """A mean over each unit's own tokens; a share of it goes over the padding as well."""

    def losses(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        x, lengths = batch
        mask = (torch.arange(x.shape[1])[None] < lengths[:, None]).float()
        mask = mask + share * (1 - mask)
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            out = model(x.to(next(model.parameters()).dtype))
        return (out.square().sum(-1) * mask).sum(1) / lengths

    return losses


def padded_ticket() -> Ticket:
    units = Units(Sentences())
    collate = UnitCollate(to_the_longest, grouped=False)
    drawn = list(range(len(units)))
    return Ticket(0, 0, 1, len(drawn), collate([units[row] for row in drawn]), Source(units, collate, drawn))


def per_token() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 12), nn.ReLU(), nn.Dropout(0.1), nn.Linear(12, 4))
