"""Recurrent networks, unrolled in time so that each weight matrix is used in one product with data per direction.

A fused LSTM hides its steps. Here the input projection of a layer is one product over all steps and carries the only tap. The
gradient of the gates is the output gradient of both projections, input and recurrent, so with the hidden states kept beside it
every weight has its outer products.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from renyi.training.clipping.block import Block
from renyi.training.clipping.gradients import Dense, Outer
from renyi.training.clipping.reading.book import Book, Unbooked
from renyi.training.clipping.reading.layout import Place
from renyi.training.clipping.reading.tap import Contribution, Kept
from renyi.training.clipping.rules.lstm import lstm as lstm_layer
from renyi.training.errors import ClippingError

State = tuple[Tensor, ...]
Step = Callable[[Tensor, State, Tensor, Tensor | None], tuple[State, Tensor | None]]
Layer = Callable[[Tensor, State, Tensor, Tensor | None], tuple[Tensor, State, Tensor | None]]
"""From the input projections of all steps to the hidden states after each, the last state, and what scales the recurrent
projection, if anything does."""


def lstm(gates: Tensor, state: State, weight: Tensor, bias: Tensor | None) -> tuple[Tensor, State, None]:
    """The layer of an LSTM."""
    return *lstm_layer(gates, state, weight, bias), None


def stepped(step: Step) -> Layer:
    """A layer that takes one step after another."""

    def layer(gates: Tensor, state: State, weight: Tensor, bias: Tensor | None) -> tuple[Tensor, State, Tensor | None]:
        outputs: list[Tensor] = []
        scales: list[Tensor] = []
        for now in gates.unbind(0):
            state, scale = step(now, state, weight, bias)
            outputs.append(state[0])
            if scale is not None:
                scales.append(scale)
        return torch.stack(outputs), state, torch.stack(scales) if scales else None

    return layer


def gru_step(gates: Tensor, state: State, weight: Tensor, bias: Tensor | None) -> tuple[State, Tensor]:
    """One step of a GRU. It also returns the reset gate, which scales the recurrent projection and hence its gradient."""
    (hidden,) = state
    size = hidden.shape[-1]
    recurrent = functional.linear(hidden, weight, bias)
    reset, update = torch.sigmoid(gates[..., : 2 * size] + recurrent[..., : 2 * size]).chunk(2, -1)
    new = torch.tanh(gates[..., 2 * size :] + reset * recurrent[..., 2 * size :])
    return (new + update * (hidden - new),), reset.detach()


def tanh_step(gates: Tensor, state: State, weight: Tensor, bias: Tensor | None) -> tuple[State, None]:
    """One step of a plain recurrent network."""
    return (torch.tanh(gates + functional.linear(state[0], weight, bias)),), None


def relu_step(gates: Tensor, state: State, weight: Tensor, bias: Tensor | None) -> tuple[State, None]:
    """One step of a plain recurrent network with rectified units."""
    return (torch.relu(gates + functional.linear(state[0], weight, bias)),), None


def layered(layer: Layer, states: int) -> Callable[..., tuple[Tensor, ...]]:
    """The rule of `torch.lstm`, `torch.gru` or `torch.rnn_tanh`: any number of layers, one or both directions."""

    def rule(book: Book, input: Tensor, hx: Any, flat: Any, *options: Any) -> tuple[Tensor, ...]:
        if not isinstance(options[0], bool):
            raise ClippingError(
                f"the recurrent module of {', '.join(book.names(*_flat(hx, flat, options)))} got a packed sequence, whose "
                "rows mix the units. Pass it the padded tensor, and mask or gather what you need from its output."
            )
        has_biases, layers, dropout, train, bidirectional, batch_first = options
        start: Sequence[Tensor] = [hx] if isinstance(hx, Tensor) else list(hx)
        per_direction = 4 if has_biases else 2
        directions = 2 if bidirectional else 1
        if (
            book.shared(input)
            or any(book.shared(state) for state in start)
            or len(flat) != per_direction * layers * directions
        ):
            raise Unbooked  # the last condition also excludes a projected LSTM, which has one more weight
        sequence = input.transpose(0, 1) if batch_first else input
        ends: list[State] = []
        for depth in range(layers):
            outputs = []
            for direction in range(directions):
                nth = depth * directions + direction
                weights = list(flat[nth * per_direction : (nth + 1) * per_direction]) + [None] * (4 - per_direction)
                output, end = _unrolled(
                    book, layer, sequence, tuple(s[nth] for s in start), weights, backwards=direction == 1
                )
                outputs.append(output)
                ends.append(end)
            sequence = torch.cat(outputs, -1) if directions == 2 else outputs[0]
            if dropout and train and depth < layers - 1:
                sequence = functional.dropout(sequence, dropout)
        result = sequence.transpose(0, 1) if batch_first else sequence
        return (result, *(torch.stack([end[kind] for end in ends]) for kind in range(states)))

    return rule


def celled(layer: Layer, states: int) -> Callable[..., Any]:
    """The rule of `torch.lstm_cell` and similar cells: one step."""

    def rule(
        book: Book,
        input: Tensor,
        hx: Any,
        w_ih: Tensor,
        w_hh: Tensor,
        b_ih: Tensor | None = None,
        b_hh: Tensor | None = None,
    ) -> Any:
        start = (hx,) if isinstance(hx, Tensor) else tuple(hx)
        if book.shared(input) or any(book.shared(state) for state in start):
            raise Unbooked
        _, end = _unrolled(book, layer, input.unsqueeze(0), start, [w_ih, w_hh, b_ih, b_hh], backwards=False)
        return end if states > 1 else end[0]

    return rule


def _unrolled(
    book: Book, layer: Layer, sequence: Tensor, state: State, weights: list[Any], *, backwards: bool
) -> tuple[Tensor, State]:
    """One layer in one direction over a time-first sequence."""
    w_ih, w_hh, b_ih, b_hh = weights
    # Contiguous, as in the rule of `F.linear`.
    projected = functional.linear(sequence.contiguous(), book.plain(w_ih), book.plain(b_ih))
    inputs, first = book.kept(sequence, w_ih), book.kept(state[0], w_hh)
    made: list[Kept] = []
    scales: list[Tensor] = []

    def contribute(gradient: Tensor, place: Place) -> Iterator[Contribution]:
        recurrent = gradient
        # A GRU's reset gate multiplies the last third of the recurrent projection.
        for scale in scales:
            size = scale.shape[-1]
            recurrent = torch.cat([gradient[..., : 2 * size], gradient[..., 2 * size :] * scale], -1)
        after = made[0].value()
        start = first.value().unsqueeze(0).to(after.dtype)
        before = torch.cat([after[1:], start]) if backwards else torch.cat([start, after[:-1]])
        for weight, bias, rows, data in ((w_ih, b_ih, gradient, inputs.value()), (w_hh, b_hh, recurrent, before)):
            left = place.rows(rows)
            if book.shared(weight):
                yield weight, Outer((Block(left, place.rows(data)),), (weight.shape[0], weight.shape[1])).settled()
            if book.shared(bias):
                yield bias, Dense(left.sum(1, dtype=torch.float32))

    gates = book.tap("recurrent", projected, weights, (1,), contribute)
    outputs, end, scale = layer(gates.flip(0) if backwards else gates, state, book.plain(w_hh), book.plain(b_hh))
    if backwards:
        outputs, scale = outputs.flip(0), None if scale is None else scale.flip(0)
    made.append(book.kept(outputs, w_hh))
    scales += [] if scale is None else [scale]
    return outputs, end


def _flat(*values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _flat(*value)
        else:
            yield value
