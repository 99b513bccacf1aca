"""Norms of sums of outer products from inner products alone, with a proven bound on the rounding error.

The squared norm of sum_t l_t r_t' is the sum over pairs of <l_i, l_j> <r_i, r_j>. Its terms may cancel; then the estimate is
worthless, and could be zero for a gradient that is not. So every estimate comes with a bound on its error. A dot product of
length D in float32 is off by at most D 2^-24 times the product of the lengths, hence a term by at most that share of |l_i|
|l_j| |<r_i, r_j>| + |<l_i, l_j>| |r_i| |r_j|, plus the square of the share. Dot products are taken in runs, and the runs are
summed in float64, so that D is at most the length of a run; on a device without float64 they are summed in float32, and the
error bound accounts for it.

Where the bound is not small the unit is in doubt: its norm is reported as infinite, and computed again in float64 throughout.
So an estimate no larger than its error never passes for a small norm.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

DOT_RUN = 128
"""Floats of a dot product that are summed in float32; shorter runs round less and take more calls."""

LARGEST_ERROR = 2.0**-10
"""Relative error of a squared norm above which float64 decides."""

HARMLESS_ERROR = 1e-30
"""Absolute error of a squared norm that no clip bound notices: bounds start at 1e-12, their squares at 1e-24."""

SUM_ROUNDING = 2.0**-22
"""Rounding of the sum that is released later, relative to the lengths of its terms."""

UNDERFLOW = 2.0**-126
"""What the square of a float32 may lose by underflow: the smallest normal float32."""

WITHOUT_FLOAT64 = {"mps"}
"""Types of device that have no float64."""


def widest(device: torch.device) -> torch.dtype:
    """The widest dtype in which a device can sum."""
    return torch.float32 if device.type in WITHOUT_FLOAT64 else torch.float64


def home(device: torch.device) -> torch.device:
    """The device if it has float64, else the host."""
    return torch.device("cpu") if device.type in WITHOUT_FLOAT64 else device


def cast(tensor: Tensor, *, wide: bool) -> Tensor:
    """The tensor in float32 or, if `wide`, in float64 on a device that has it."""
    return tensor.to(home(tensor.device), torch.float64) if wide else tensor.float()


def lengths(rows: Tensor) -> Tensor:
    """The norms along the last axis in the widest dtype, never too small."""
    return squares(rows).sqrt()


def squares(rows: Tensor) -> Tensor:
    """The squared norms along the last axis in the widest dtype, never too small: what underflow may have lost is added."""
    if rows.dtype == torch.float64:
        return torch.linalg.vector_norm(rows, dim=-1).square()
    return torch.linalg.vector_norm(rows, dim=-1).to(widest(rows.device)).square() + rows.shape[-1] * UNDERFLOW


def products(left: Tensor, right: Tensor) -> tuple[Tensor, float]:
    """All inner products of rows (..., i, d) and (..., j, d), and a bound on their error relative to the rows' lengths."""
    width = left.shape[-1]
    if left.dtype == torch.float64:
        return left @ right.transpose(-1, -2), (width + 2) * 2.0**-53
    dtype = widest(left.device)
    total: Tensor | None = None
    for start in range(0, width, DOT_RUN):
        part = left[..., start : start + DOT_RUN] @ right[..., start : start + DOT_RUN].transpose(-1, -2)
        total = part.to(dtype) if total is None else total.add_(part)
    if total is None:
        total = left.new_zeros(*left.shape[:-1], right.shape[-2], dtype=dtype)
    return total, (min(width, DOT_RUN) + 2) * 2.0**-24 + (width // DOT_RUN) * unit(total)


def lengths_from(table: Tensor, share: float, width: int) -> Tensor:
    """The lengths of rows of this width, from the diagonal of the table of their own inner products; never too small.

    The table is there anyway, and its diagonal costs nothing; the rows would have to be read again.
    """
    squares = table.diagonal(dim1=-2, dim2=-1)
    return (squares * (1 + 2 * share) + width * UNDERFLOW).sqrt()


def paired(left: Tensor, right: Tensor, shares: tuple[float, float], sizes: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """The sum over pairs of the products of two tables of inner products (..., i, j), and a bound on its error.

    `shares` are the tables' relative errors; `sizes` the lengths of the rows behind them: of i and j on the left, then of
    i and j on the right.
    """
    of_left, of_right = shares
    first, second, third, fourth = sizes
    terms = (left * right).sum((-1, -2))
    by_left = _form(right.abs(), first, second) if of_left else torch.zeros_like(terms)
    by_right = _form(left.abs(), third, fourth)
    both = (first * third).sum(-1) * (second * fourth).sum(-1)
    # Summing the pairs rounds as well: each of them by one unit, relative to the sum of their sizes.
    pairs = left.shape[-1] * left.shape[-2] * unit(terms)
    return terms, (of_left * by_left + of_right * by_right + (of_left * of_right + pairs) * both) * (1 + 2 * pairs)


def norm2_upper(estimate: Tensor, error: Tensor, size: Tensor, *, wide: bool) -> Tensor:
    """Squared norms that rounding never makes too small; infinite where only `wide` arithmetic can determine them.

    `size` is the sum of |l_t| |r_t|: it bounds the effect of the terms' own rounding on the sum that is released.
    """
    # Cancellation may leave an estimate below zero; the error bound then stands for the whole norm.
    upper = ((estimate.clamp_min(0) + error).sqrt() + SUM_ROUNDING * size).square()
    return (
        upper
        if wide
        else torch.where(error <= LARGEST_ERROR * estimate.clamp_min(HARMLESS_ERROR / LARGEST_ERROR), upper, torch.inf)
    )


def _form(table: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """The sum over pairs of |row| |column| times the table's entry."""
    return ((rows.unsqueeze(-2) @ table).squeeze(-2) * columns).sum(-1)


def unit(tensor: Tensor) -> float:
    """The relative rounding error of one addition in this dtype."""
    return 2.0**-53 if tensor.dtype == torch.float64 else 2.0**-24
