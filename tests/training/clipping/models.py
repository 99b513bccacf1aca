"""A model for every rule, each with an input of `UNITS` units."""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.training.clipping.reference import UNITS, randomised

Case = tuple[nn.Module, Tensor]


class Attention(nn.Module):
    """Self- or cross-attention with any layout and kind of projection."""

    def __init__(self, *, batch_first: bool = True, cross: bool = False, **options: int) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=batch_first, **options)
        self.other = nn.Linear(8, options.get("kdim", 8))
        self.cross = cross

    def forward(self, x: Tensor) -> Tensor:
        x = x if self.attention.batch_first else x.transpose(0, 1)
        memory = self.other(x) if self.cross else x
        x, _ = self.attention(x, memory, memory)
        return x if self.attention.batch_first else x.transpose(0, 1)


class Recurrent(nn.Module):
    def __init__(self, kind: type[nn.RNNBase], **options: object) -> None:
        super().__init__()
        self.embedding = nn.Embedding(11, 8)
        self.network = kind(8, 5, **options)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens)
        x = x if self.network.batch_first else x.transpose(0, 1)
        x, state = self.network(x)
        x = x if self.network.batch_first else x.transpose(0, 1)
        last = state[0] if isinstance(state, tuple) else state
        return torch.cat([x.flatten(1), last.transpose(0, 1).flatten(1)], 1)


class Cell(nn.Module):
    def __init__(self, kind: type[nn.RNNCellBase]) -> None:
        super().__init__()
        self.cell = kind(8, 5)

    def forward(self, x: Tensor) -> Tensor:
        state = None
        for now in x.unbind(1):
            state = self.cell(now, state)
        return state[0] if isinstance(state, tuple) else state


class Bare(nn.Module):
    """A class token, positions, a scale and a matrix that no module owns."""

    def __init__(self) -> None:
        super().__init__()
        self.token = nn.Parameter(torch.zeros(1, 1, 8))
        self.position = nn.Parameter(torch.zeros(1, 5, 8))
        self.scale = nn.Parameter(torch.ones(8))
        self.matrix = nn.Parameter(torch.zeros(8, 3))

    def forward(self, x: Tensor) -> Tensor:
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.position
        return (x * self.scale) @ self.matrix


class Tied(nn.Module):
    """One matrix as embedding and as head: by assignment, or by hand."""

    def __init__(self, *, by_hand: bool, words: int = 11) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, 8, padding_idx=0)
        self.positions = nn.Embedding(6, 8)
        self.middle = nn.Linear(8, 8)
        self.head = nn.Linear(8, words, bias=False)
        self.head.weight = self.embedding.weight
        self.by_hand = by_hand

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens) + self.positions(torch.arange(tokens.shape[1]))
        x = torch.tanh(self.middle(x))
        return x @ self.embedding.weight.T if self.by_hand else self.head(x)


class Reused(nn.Module):
    """One module called several times."""

    def __init__(self, module: nn.Module, times: int = 3) -> None:
        super().__init__()
        self.module = module
        self.times = times

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(self.times):
            x = torch.tanh(self.module(x))
        return x


class Turned(nn.Linear):
    """A subclass that is not what its base is: the input is reversed, and the weight scaled."""

    def forward(self, x: Tensor) -> Tensor:
        return functional.linear(x.flip(-1), self.weight * 2, self.bias) + self.bias.sum()


class Flattened(nn.Module):
    """Units of several examples, which the model sees as one long batch."""

    def __init__(self, *, interleaved: bool) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(8, 4), nn.Tanh(), nn.Linear(4, 3))
        self.interleaved = interleaved

    def forward(self, x: Tensor) -> Tensor:
        if self.interleaved:
            return self.inner(x.transpose(0, 1).flatten(0, 1)).view(x.shape[1], x.shape[0], 3).transpose(0, 1)
        return self.inner(x.flatten(0, 1)).view(*x.shape[:2], 3)


def image(channels: int = 4, *size: int) -> Tensor:
    return torch.randn(UNITS, channels, *(size or (7, 6)))


def sequence(length: int = 4) -> Tensor:
    return torch.randn(UNITS, length, 8)


def tokens(length: int = 6) -> Tensor:
    return torch.randint(0, 11, (UNITS, length))


def conv(*layers: nn.Module, size: tuple[int, ...] = (7, 6)) -> Callable[[], Case]:
    return lambda: (nn.Sequential(*layers), image(4, *size))


RULES: dict[str, Callable[[], Case]] = {
    "linear": lambda: (nn.Sequential(nn.Linear(8, 5), nn.Tanh(), nn.Linear(5, 3, bias=False)), torch.randn(UNITS, 8)),
    "linear, middle axes": lambda: (nn.Sequential(nn.Linear(8, 5), nn.Linear(5, 3)), torch.randn(UNITS, 2, 3, 8)),
    "linear, long": lambda: (nn.Linear(8, 3), sequence(40)),
    "linear, as long as units": lambda: (nn.Linear(8, UNITS), sequence(UNITS)),
    "conv1d": conv(nn.Conv1d(4, 8, 3, stride=2, padding=1), size=(9,)),
    "conv1d, few positions": conv(nn.Conv1d(4, 64, 3, groups=2), size=(5,)),
    "conv2d": conv(nn.Conv2d(4, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 6, (3, 2), stride=(2, 1))),
    "conv2d, groups and dilation": conv(nn.Conv2d(4, 8, 2, groups=2, dilation=(2, 1)), nn.Conv2d(8, 8, 3, groups=8)),
    "conv2d, few positions": conv(nn.Conv2d(4, 32, (5, 4), groups=2, dilation=(1, 1), stride=2, padding=1)),
    "conv2d, same": conv(nn.Conv2d(4, 8, 3, padding="same", dilation=2), nn.Conv2d(8, 4, 3, padding="valid")),
    "conv2d, circular": conv(nn.Conv2d(4, 8, 3, padding=2, padding_mode="circular")),
    "conv2d, reflect": conv(nn.Conv2d(4, 8, 3, padding=1, padding_mode="reflect")),
    "conv2d, replicate": conv(nn.Conv2d(4, 8, 3, padding=1, padding_mode="replicate")),
    "conv3d": conv(nn.Conv3d(4, 6, 2, stride=(1, 2, 1)), size=(3, 4, 3)),
    "embedding": lambda: (nn.Embedding(11, 8, padding_idx=0), tokens()),
    "embedding, long": lambda: (nn.Embedding(11, 3, padding_idx=-1), tokens(20)),
    "layer norm": lambda: (nn.LayerNorm((3, 8)), torch.randn(UNITS, 2, 3, 8)),
    "rms norm": lambda: (nn.RMSNorm(8), sequence()),
    "group norm": conv(nn.GroupNorm(2, 4)),
    "instance norm": conv(nn.InstanceNorm2d(4, affine=True)),
    "batch norm, eval": conv(nn.BatchNorm2d(4).eval(), nn.Conv2d(4, 3, 2)),
    "attention": lambda: (Attention(), sequence()),
    "attention, time first": lambda: (Attention(batch_first=False), sequence()),
    "attention, time as long as units": lambda: (Attention(batch_first=False), sequence(UNITS)),
    "attention, cross": lambda: (Attention(cross=True), sequence()),
    "attention, separate": lambda: (Attention(cross=True, kdim=3, vdim=3), sequence()),
    "attention, bias keys": lambda: (Attention(add_bias_kv=True), sequence()),
    "encoder": lambda: (nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), sequence()),
    "decoder": lambda: (Decoder(), sequence()),
    "lstm": lambda: (Recurrent(nn.LSTM, batch_first=True), tokens()),
    "lstm, deep": lambda: (Recurrent(nn.LSTM, num_layers=2, bidirectional=True), tokens(UNITS)),
    "gru": lambda: (Recurrent(nn.GRU), tokens()),
    "gru, deep": lambda: (Recurrent(nn.GRU, num_layers=2, bidirectional=True, batch_first=True), tokens()),
    "rnn": lambda: (Recurrent(nn.RNN, nonlinearity="relu", bias=False), tokens()),
    "lstm cell": lambda: (Cell(nn.LSTMCell), sequence()),
    "gru cell": lambda: (Cell(nn.GRUCell), sequence()),
    "rnn cell": lambda: (Cell(nn.RNNCell), sequence()),
    "bare": lambda: (Bare(), sequence()),
    "tied": lambda: (Tied(by_hand=False), tokens()),
    "tied, many words": lambda: (Tied(by_hand=False, words=200), tokens()),
    "tied by hand, many words": lambda: (Tied(by_hand=True, words=200), tokens()),
    "tied by hand": lambda: (Tied(by_hand=True), tokens()),
    "reused linear": lambda: (Reused(nn.Linear(8, 8)), sequence()),
    "reused conv": lambda: (Reused(nn.Conv2d(4, 4, 3, padding=1)), image()),
    "reused norm": lambda: (Reused(nn.LayerNorm(8)), sequence()),
    "subclass": lambda: (nn.Sequential(Turned(8, 5), nn.Tanh(), Turned(5, 3)), sequence()),
    "prelu": lambda: (nn.Sequential(nn.Linear(8, 4), nn.PReLU()), torch.randn(UNITS, 8)),
    "transposed conv": conv(nn.ConvTranspose2d(4, 3, 3, stride=2)),
    "weight norm": lambda: (nn.utils.parametrizations.weight_norm(nn.Linear(8, 5)), sequence()),
    "flattened": lambda: (Flattened(interleaved=False), sequence(5)),
    "interleaved": lambda: (Flattened(interleaved=True), sequence(5)),
}


class Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        return self.layer(x, x.flip(1) * 0.5, tgt_mask=mask, tgt_is_causal=True)


def case(name: str) -> Case:
    torch.manual_seed(0)
    model, batch = RULES[name]()
    return randomised(copy.deepcopy(model)), batch
