"""An LSTM layer over a sequence, with its derivative written out.

Step by step under autograd, a layer would keep a dozen tensors a step and visit a dozen nodes; most of that time is not
arithmetic. What does not depend on the step before, the slopes of all gates, is computed here for the whole sequence at once;
a step is then one matrix product and a few products of elements.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from renyi.training.clipping.gradients import without_autocast
from renyi.training.clipping.reading.book import Unbooked


def lstm(
    gates: Tensor, state: tuple[Tensor, ...], weight: Tensor, bias: Tensor | None
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """The hidden state after every step and the last state, from the input projections (steps, units, 4 hidden)."""
    hidden, cell, weight = (tensor.to(gates.dtype) for tensor in (*state, weight))  # under autocast they may differ
    with without_autocast(gates.device):
        outputs, last = _Layer.apply(gates, hidden, cell, weight, bias)  # type: ignore[no-untyped-call]
    return outputs, (outputs[-1], last)


class _Layer(torch.autograd.Function):
    """With i, f, g, o the gates after their functions: c' = f c + i g and h' = o tanh(c')."""

    @staticmethod
    def forward(
        ctx: Any, gates: Tensor, hidden: Tensor, cell: Tensor, weight: Tensor, bias: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """The hidden state after every step, and the last cell."""
        steps, units, size = *gates.shape[:2], hidden.shape[-1]
        acts = gates.clone(memory_format=torch.contiguous_format) if bias is None else (gates + bias).to(gates.dtype)
        outputs, cells, bent = (gates.new_empty(steps, units, size) for _ in range(3))
        first, turned = cell, weight.t()
        for act, output, new, squashed in zip(acts, outputs, cells, bent, strict=True):
            i, f, g, o = act.addmm_(hidden, turned).view(units, 4, size).unbind(1)
            act[:, : 2 * size].sigmoid_()
            g.tanh_()
            o.sigmoid_()
            torch.mul(f, cell, out=new).addcmul_(i, g)
            torch.mul(o, torch.tanh(new, out=squashed), out=output)
            hidden, cell = output, new
        ctx.save_for_backward(acts, cells, bent, first, weight)
        return outputs, cell.clone()

    @staticmethod
    def backward(ctx: Any, to_outputs: Tensor, to_last: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        """The gradients of the gates, and of the state before the first step."""
        if torch.is_grad_enabled():
            raise Unbooked("a loss that differentiates the model itself")
        with torch._C.DisableTorchFunction():
            acts, cells, bent, first, weight = ctx.saved_tensors
            i, f, g, o = acts.chunk(4, 2)
            # The derivative of what follows in each gate, but for the gradient of c' (for i, f, g) or of h' (for o).
            slopes = torch.empty_like(acts)
            of_i, of_f, of_g, of_o = slopes.chunk(4, 2)
            torch.mul(g, i * (1 - i), out=of_i)
            torch.mul(torch.cat([first.unsqueeze(0), cells[:-1]]), f * (1 - f), out=of_f)
            torch.mul(i, 1 - g * g, out=of_g)
            torch.mul(bent, o * (1 - o), out=of_o)
            to_cells = o * (1 - bent * bent)
            to_hidden, to_cell, size = torch.zeros_like(to_last), to_last, to_last.shape[-1]
            for gradient, slope, into, forget in zip(
                *(reversed(each.unbind(0)) for each in (to_outputs, slopes, to_cells, f)), strict=True
            ):
                to_hidden = to_hidden + gradient
                to_cell = torch.addcmul(to_cell, to_hidden, into)
                slope.unflatten(1, (4, size))[:, :3].mul_(to_cell.unsqueeze(1))
                slope[:, 3 * size :].mul_(to_hidden)
                to_hidden, to_cell = slope @ weight, to_cell * forget
            return slopes, to_hidden, to_cell, None, None
