"""The table of rules: how each torch function that reads parameters gives per-unit gradients.

Read ``linear`` first: a rule runs the function on plain parameters, keeps what the backward pass will need, and says what
each unit contributes; it raises ``Unbooked`` where it does not apply. A new rule is a file here and a line in the table
below.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from renyi.training.clipping.reading.book import Rules
from renyi.training.clipping.rules import norms, recurrent
from renyi.training.clipping.rules.conv import convolution
from renyi.training.clipping.rules.elementwise import broadcast, elementwise
from renyi.training.clipping.rules.embedding import bag_guard as embedding_bag_guard
from renyi.training.clipping.rules.embedding import embedding
from renyi.training.clipping.rules.embedding import guard as embedding_guard
from renyi.training.clipping.rules.generic import generic
from renyi.training.clipping.rules.linear import addmm, linear, matmul

_VF: Any = torch._C._VariableFunctions
_ELEMENTWISE: list[Any] = [
    *(torch.add, torch.sub, torch.mul, torch.div),
    *(Tensor.add, Tensor.sub, Tensor.mul, Tensor.div),
    *(Tensor.__add__, Tensor.__radd__, Tensor.__sub__, Tensor.__mul__, Tensor.__rmul__, Tensor.__truediv__),
]
_BROADCAST: list[Any] = [Tensor.expand, Tensor.expand_as, Tensor.repeat, torch.broadcast_to, Tensor.broadcast_to]

RULES = Rules(
    table={
        functional.linear: linear,
        torch.matmul: matmul,
        Tensor.matmul: matmul,
        Tensor.__matmul__: matmul,
        torch.mm: matmul,
        Tensor.mm: matmul,
        torch.addmm: addmm,
        functional.conv1d: convolution(functional.conv1d, 1),
        functional.conv2d: convolution(functional.conv2d, 2),
        functional.conv3d: convolution(functional.conv3d, 3),
        functional.embedding: embedding,
        functional.layer_norm: norms.layer_norm,
        functional.rms_norm: norms.rms_norm,
        functional.group_norm: norms.group_norm,
        functional.instance_norm: norms.instance_norm,
        functional.batch_norm: norms.batch_norm,
        _VF.lstm: recurrent.layered(recurrent.lstm, 2),
        _VF.gru: recurrent.layered(recurrent.stepped(recurrent.gru_step), 1),
        _VF.rnn_tanh: recurrent.layered(recurrent.stepped(recurrent.tanh_step), 1),
        _VF.rnn_relu: recurrent.layered(recurrent.stepped(recurrent.relu_step), 1),
        _VF.lstm_cell: recurrent.celled(recurrent.lstm, 2),
        _VF.gru_cell: recurrent.celled(recurrent.stepped(recurrent.gru_step), 1),
        _VF.rnn_tanh_cell: recurrent.celled(recurrent.stepped(recurrent.tanh_step), 1),
        _VF.rnn_relu_cell: recurrent.celled(recurrent.stepped(recurrent.relu_step), 1),
        **{function: elementwise(function) for function in _ELEMENTWISE},
        **{function: broadcast(function) for function in _BROADCAST},
    },
    without_data=frozenset({functional.embedding, *_ELEMENTWISE, *_BROADCAST}),
    generic=generic,
    guards={
        _VF.batch_norm: norms.batch_norm_core_guard,
        _VF.native_batch_norm: norms.batch_norm_core_guard,
        _VF.instance_norm: norms.instance_norm_core_guard,
        functional.embedding: embedding_guard,
        functional.embedding_bag: embedding_bag_guard,
        functional.batch_norm: norms.batch_norm_guard,
        functional.instance_norm: norms.instance_norm_guard,
    },
)
