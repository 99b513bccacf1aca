"""The models of ``benchmarks.clipping``: each as we train it, as plain SGD trains it, and as Opacus can."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


class Text(nn.Module):
    """Tokens to logits: embedding and learned positions, a Transformer, a head.

    Opacus cannot train a bare parameter or PyTorch's own attention; it gets an embedding of the positions and its own
    attention.
    """

    def __init__(self, attention: Callable[..., nn.Module] | None = None) -> None:
        super().__init__()
        self.embedding = nn.Embedding(1000, 128)
        if attention is None:
            self.position: nn.Module | nn.Parameter = nn.Parameter(torch.randn(1, 64, 128) * 0.02)
        else:
            self.position = nn.Embedding(64, 128)
        layers = [nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True) for _ in range(2)]
        for layer in layers if attention is not None else ():
            layer.self_attn = attention(128, 4, dropout=0.0, batch_first=True)  # type: ignore[misc, assignment]
        self.layers = nn.ModuleList(layers)
        self.head = nn.Linear(128, 10)

    def forward(self, tokens: Tensor) -> Tensor:
        places = self.position if isinstance(self.position, nn.Parameter) else self.position(self._places(tokens))
        hidden = self.embedding(tokens) + places
        for layer in self.layers:
            hidden = layer(hidden)
        logits: Tensor = self.head(hidden.mean(1))
        return logits

    def _places(self, tokens: Tensor) -> Tensor:
        return torch.arange(tokens.shape[1]).expand(tokens.shape)


class Recurrent(nn.Module):
    """Tokens to logits by an LSTM: PyTorch's own, or another of the same interface."""

    def __init__(self, lstm: Callable[..., nn.Module]) -> None:
        super().__init__()
        self.embedding = nn.Embedding(1000, 64)
        self.lstm = lstm(64, 128, batch_first=True)
        self.head = nn.Linear(128, 2)

    def forward(self, tokens: Tensor) -> Tensor:
        logits: Tensor = self.head(self.lstm(self.embedding(tokens))[0][:, -1])
        return logits


class Unrolled(nn.Module):
    """An LSTM written in Python: what a per-unit method has to see."""

    def __init__(self, inputs: int, hidden: int, *, batch_first: bool) -> None:
        super().__init__()
        assert batch_first
        self.entry, self.again = nn.Linear(inputs, 4 * hidden), nn.Linear(hidden, 4 * hidden)

    def forward(self, sequence: Tensor) -> tuple[Tensor, None]:
        hidden = cell = sequence.new_zeros(sequence.shape[0], self.again.in_features)
        outputs = []
        for now in self.entry(sequence).unbind(1):
            i, f, g, o = (now + self.again(hidden)).chunk(4, 1)
            cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
            hidden = torch.sigmoid(o) * torch.tanh(cell)
            outputs.append(hidden)
        return torch.stack(outputs, 1), None


@dataclass(frozen=True)
class Case:
    """A model as we train it, as plain SGD and as Opacus do, each made anew, and a batch."""

    name: str
    model: Callable[[], nn.Module]
    plain: Callable[[], nn.Module]
    opacus: Callable[[], nn.Module]
    batch: tuple[Tensor, Tensor]


def losses(model: nn.Module, batch: Any) -> Tensor:
    """One loss per example."""
    return functional.cross_entropy(model(batch[0]), batch[1], reduction="none")


def small() -> nn.Module:
    """The smallest model: what a step costs that has nothing to compute."""
    return nn.Linear(4, 2)


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))


def cnn() -> nn.Module:
    return nn.Sequential(
        *(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(64, 128, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10)),
    )


def fused() -> nn.Module:
    return Recurrent(nn.LSTM)


def unrolled() -> nn.Module:
    return Recurrent(Unrolled)


def opacus_text() -> nn.Module:
    from opacus.layers import DPMultiheadAttention

    return Text(DPMultiheadAttention)


def opacus_fused() -> nn.Module:
    from opacus.layers import DPLSTM

    return Recurrent(DPLSTM)


def cases() -> list[Case]:
    """The five rows of the table, and the smallest step."""
    torch.manual_seed(0)
    tokens, words = torch.randint(0, 1000, (32, 64)), torch.randint(0, 1000, (64, 32))
    label = [torch.randint(0, 2, (size,)) for size in (256, 128, 32, 64, 8)]
    return [
        Case("MLP 784-512-512-10, 256", mlp, mlp, mlp, (torch.randn(256, 784), label[0])),
        Case("CNN 32x32x3, 128", cnn, cnn, cnn, (torch.randn(128, 3, 32, 32), label[1])),
        Case("Transformer d=128 L=2 T=64, 32", Text, Text, opacus_text, (tokens, label[2])),
        Case("LSTM T=32, 64 (plain unrolled)", fused, unrolled, unrolled, (words, label[3])),
        Case("LSTM T=32, 64 (plain fused)", fused, fused, opacus_fused, (words, label[3])),
        Case("smallest: linear 4-2, 8", small, small, small, (torch.randn(8, 4), label[4])),
    ]
