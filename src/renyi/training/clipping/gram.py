"""Norms of sums of outer products from inner products alone, with a proven bound on what rounding may have hidden.

The squared norm of sum_t l_t r_t' is the sum over pairs of <l_i, l_j> <r_i, r_j>. Its terms may cancel: then the estimate is
worth nothing, and could be zero for a gradient that is not. So every estimate comes with its error. A dot product of length D
in float32 is off by at most D 2^-24 of the lengths' product, hence a term by at most that share of |l_i| |l_j| |<r_i, r_j>| +
|<l_i, l_j>| |r_i| |r_j|, and the share's square. Dot products are taken in runs, and the runs added up in float64, so D counts
no more than a run; on a device without float64 they are added up in float32, and the error says so.

Where the error is not small the unit is in doubt: its norm is given as infinite, and asked for again, in float64 throughout.
An estimate that is no more than its error never passes for a small norm.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

RUN = 128  # floats of a dot product that are added up in float32
DOUBT = 2.0**-10  # relative error of a squared norm from which on float64 decides
HARMLESS = 1e-30  # and an error that no clip bound is small enough to notice: bounds start at 1e-12
SUMMED = 2.0**-22  # rounding of the sum that is released later, as a share of its terms
TINY = 2.0**-126  # what the square of a float32 may lose by underflow
WITHOUT_FLOAT64 = {"mps"}


def widest(device: torch.device) -> torch.dtype:
    """The dtype in which a device adds up."""
    return torch.float32 if device.type in WITHOUT_FLOAT64 else torch.float64


def home(device: torch.device) -> torch.device:
    """Where float64 is: the device itself, else the host."""
    return torch.device("cpu") if device.type in WITHOUT_FLOAT64 else device


def cast(tensor: Tensor, *, wide: bool) -> Tensor:
    """The tensor in float32, or in float64 where that is."""
    return tensor.to(home(tensor.device), torch.float64) if wide else tensor.float()


def lengths(rows: Tensor) -> Tensor:
    """The norms along the last axis in the widest dtype, never too small: what underflow may have hidden is added."""
    if rows.dtype == torch.float64:
        return torch.linalg.vector_norm(rows, dim=-1)
    return (torch.linalg.vector_norm(rows, dim=-1).to(widest(rows.device)).square() + rows.shape[-1] * TINY).sqrt()


def products(left: Tensor, right: Tensor) -> tuple[Tensor, float]:
    """All inner products of rows (..., i, d) and (..., j, d), and the share of the lengths they are off by."""
    width = left.shape[-1]
    if left.dtype == torch.float64:
        return left @ right.transpose(-1, -2), (width + 2) * 2.0**-53
    dtype = widest(left.device)
    total: Tensor | None = None
    for start in range(0, width, RUN):
        part = left[..., start : start + RUN] @ right[..., start : start + RUN].transpose(-1, -2)
        total = part.to(dtype) if total is None else total.add_(part)
    if total is None:
        total = left.new_zeros(*left.shape[:-1], right.shape[-2], dtype=dtype)
    return total, (min(width, RUN) + 2) * 2.0**-24 + (width // RUN) * _unit(total)


def paired(left: Tensor, right: Tensor, shares: tuple[float, float], sizes: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """The sum over pairs of the products of two tables of inner products (..., i, j), and how far it may be off.

    `shares` are the tables' relative errors; `sizes` the lengths of the rows behind them: of i and j on the left, then of
    i and j on the right.
    """
    of_left, of_right = shares
    first, second, third, fourth = sizes
    terms = (left * right).sum((-1, -2))
    by_left = _form(right.abs(), first, second) if of_left else torch.zeros_like(terms)
    by_right = _form(left.abs(), third, fourth)
    both = (first * third).sum(-1) * (second * fourth).sum(-1)
    pairs = left.shape[-1] * left.shape[-2] * _unit(terms)
    return terms, (of_left * by_left + of_right * by_right + (of_left * of_right + pairs) * both) * (1 + 2 * pairs)


def norm2_upper(estimate: Tensor, error: Tensor, size: Tensor, *, wide: bool) -> Tensor:
    """Squared norms that no rounding makes too small; infinite where only `wide` arithmetic can tell.

    `size` is the sum of |l_t| |r_t|: it bounds how the terms' own rounding may show in the sum that is released.
    """
    upper = ((estimate.clamp_min(0) + error).sqrt() + SUMMED * size).square()
    return upper if wide else torch.where(error <= DOUBT * estimate.clamp_min(HARMLESS / DOUBT), upper, torch.inf)


def _form(table: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """The sum over pairs of |row| |column| times the table's entry."""
    return ((table @ columns.unsqueeze(-1)).squeeze(-1) * rows).sum(-1)


def _unit(tensor: Tensor) -> float:
    """By what share one addition in this dtype rounds."""
    return 2.0**-53 if tensor.dtype == torch.float64 else 2.0**-24
