"""The backward pass over a book, and the probes that find out where the units lie in the output of each call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from renyi.training.clipping.gradients import CHUNK, Dense, Outer, PerUnit, joined
from renyi.training.clipping.reading.book import Book, Memory, Shared, Unbooked
from renyi.training.clipping.reading.composite import opened
from renyi.training.clipping.reading.layout import Layout, candidates
from renyi.training.clipping.reading.tap import Call
from renyi.training.errors import ClippingError

PROBES = 4
"""Single units whose losses are followed back before a layout is accepted."""

VERIFYING_PROBES = 2
"""Single units whose losses are followed back to verify a layout that is known."""


class Retry(Exception):
    """A booked call turned out to see no units; now that this is known, the forward pass must be booked again."""


def backward(book: Book, losses: Tensor, memory: Memory, *, verify: bool) -> None:
    """Fill the calls of the book with per-unit gradients; with `verify`, also probe calls whose layout is known."""
    parameters = [shared.tensor for shared in book.shared_tensors.values() if shared.is_parameter]
    unknown = [call for call in book.calls if call.layout is None]
    again = bool(unknown) or verify
    gradients = _grad(book, losses, torch.ones_like(losses), parameters, retain_graph=again)
    if book.overwritten:
        raise Unbooked("something computed from parameters that was then changed in place")
    # A gradient that reaches a parameter directly came through a use that was not booked.
    strays = [name for p, g in zip(parameters, gradients, strict=True) if g is not None for name in book.names(p)]
    if strays:
        raise Unbooked(f"a use of {', '.join(strays)} that no rule covers")
    if book.backward.twice:
        raise Unbooked("a loss that differentiates the model itself")
    if verify or any(call.gradient is not None for call in unknown):
        _locate(book, losses, unknown, [call for call in book.calls if call.layout is not None], memory)


def gathered(book: Book) -> dict[str, PerUnit]:
    """The per-unit gradients of every parameter that was reached, summed over its uses."""
    parts: dict[int, list[PerUnit]] = {}
    for call in book.calls:
        for tensor, part in call.parts:
            parts.setdefault(id(tensor), []).append(part)
        call.parts, call.contribute = [], None  # also lets go of the inputs of calls that were not reached
    for shared in reversed(
        list(book.shared_tensors.values())
    ):  # latest first: a tensor may be computed from earlier ones
        if not shared.is_parameter and id(shared.tensor) in parts:
            whole = joined(parts.pop(id(shared.tensor)))
            for source, part in _pulled(shared, whole, book):
                parts.setdefault(id(source), []).append(part)
    return {book.shared_tensors[key].names[0]: joined(found) for key, found in parts.items()}


def _grad(
    book: Book, losses: Tensor, weights: Tensor, parameters: Sequence[Tensor], *, retain_graph: bool
) -> Sequence[Tensor | None]:
    """Run the backward pass under the book, so that checkpointed activations are recomputed as they were first computed."""
    grad: Any = opened(torch.autograd.grad)
    book.backward.active = True
    try:
        with book:
            gradients = grad(losses, [book.anchor, *parameters], weights, retain_graph=retain_graph, allow_unused=True)
    except RuntimeError as error:
        if "use_reentrant" in str(error) or "Checkpointing is not compatible" in str(error):
            raise ClippingError(
                "torch.utils.checkpoint with use_reentrant=True hides the layers inside it from the clipping. "
                "Pass use_reentrant=False: it saves the same memory."
            ) from error
        raise
    return list(gradients[1:])


def _locate(book: Book, losses: Tensor, unknown: list[Call], known: list[Call], memory: Memory) -> None:
    """Follow the losses of single units back: each reaches only its own part of a call's output."""
    units = book.units
    totals = {id(call): call.gradient for call in unknown}
    pending = [call for call in unknown if call.gradient is not None]
    possible = {id(call): list(candidates(call.shape, call.axes, units)) for call in pending}
    seen = {id(call): 0 for call in pending}
    book.backward.streaming = False
    memory.probed += 1
    for count, unit in enumerate(_order(units, memory.probed)):
        if count >= (PROBES if pending else VERIFYING_PROBES) and all(
            (seen[id(call)] >= 2 and len(possible[id(call)]) <= 1) or not _any(totals[id(call)]) for call in pending
        ):
            break
        # The loss of one unit alone: wherever its gradient is not zero, that unit lies.
        for call in book.calls:
            call.gradient = None
        weights = torch.zeros_like(losses)
        weights[unit] = 1
        _grad(book, losses, weights, (), retain_graph=True)
        for call in pending:
            if call.gradient is not None and _any(call.gradient):
                seen[id(call)] += 1
                possible[id(call)] = [
                    layout for layout in possible[id(call)] if _only(layout, call.gradient, unit, units)
                ]
        for call in known if count < VERIFYING_PROBES else ():
            assert call.layout is not None
            if call.gradient is not None and not _only(call.layout, call.gradient, unit, units):
                raise Unbooked(f"units of {', '.join(call.owners)} that change places from step to step")
    for call in book.calls:
        call.gradient = None
    # No layout fits: the units of this call are mixed, or it sees none.
    moved = [call for call in pending if seen[id(call)] and not possible[id(call)]]
    if any(not call.optional for call in moved):
        raise Unbooked(f"units that no axis of {', '.join(moved[0].owners)} tells apart")
    if moved:
        memory.unitless.update(call.key for call in moved)
        raise Retry
    for call in pending:
        if seen[id(call)]:
            call.layout, call.gradient = possible[id(call)][0], totals[id(call)]
            # Remembered only if two units have been seen and one layout is left; otherwise it is probed again next time.
            if seen[id(call)] >= 2 and len(possible[id(call)]) == 1:
                memory.layouts[call.key] = call.layout
            call.settle(units)


def _order(units: int, turn: int) -> Iterator[int]:
    """All units, beginning with a few that are far apart and that differ from turn to turn."""
    first = dict.fromkeys((turn + apart) % units for apart in (0, 1, units // 2, units - 1))
    yield from first
    yield from (unit for unit in range(units) if unit not in first)


def _any(tensor: Tensor | None) -> bool:
    return tensor is not None and bool((tensor != 0).any())


def _only(layout: Layout, gradient: Tensor, unit: int, units: int) -> bool:
    """Whether, under this layout, the gradient reaches no other unit."""
    reached = layout.reached(gradient, units)
    return int(reached.sum()) == int(reached[unit])


def _pulled(shared: Shared, whole: PerUnit, book: Book) -> Iterator[tuple[Tensor, PerUnit]]:
    """Per-unit gradients of a tensor computed from parameters, carried back to these parameters."""
    if shared.transpose_of is not None and isinstance(whole, Outer):
        turned = whole.transposed()
        if turned is not None:
            yield shared.transpose_of, turned
            return
    sources = [
        each.tensor for each in book.shared_tensors.values() if each.is_parameter and each.names[0] in shared.names
    ]
    values = whole.dense().to(shared.tensor.dtype)
    step = max(1, CHUNK // max(1, sum(source.numel() for source in sources)))
    chunks = [
        torch.autograd.grad(
            shared.tensor,
            sources,
            values[start : start + step],
            is_grads_batched=True,
            retain_graph=True,
            allow_unused=True,
        )
        for start in range(0, values.shape[0], step)
    ]
    for source, *parts in zip(sources, *chunks, strict=True):
        if parts[0] is not None:
            yield source, Dense(torch.cat(parts).float())
