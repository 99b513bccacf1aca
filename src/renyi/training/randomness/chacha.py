"""The ChaCha20 block function in integer tensor operations, on any device.

Reference: RFC 8439, section 2.3. Words are held in int64, masked to 32 bits: torch has no unsigned arithmetic on every
device. The key enters as numbers, so no tensor travels from the host to the device.
"""

from __future__ import annotations

import struct

import torch

MASK = 0xFFFFFFFF
"""The low 32 bits of an int64."""

CONSTANTS = struct.unpack("<4I", b"expand 32-byte k")
"""The four constant words of the cipher's state."""

MOST_BLOCKS = 2**32
"""Values of the block counter."""


def blocks(key: bytes, count: int, device: torch.device, *, first: int = 0, nonce: bytes = bytes(12)) -> torch.Tensor:
    """The words of ``count`` blocks starting at block number ``first``, as an int64 tensor of shape (16, count)."""
    words = struct.unpack("<8I", key)
    fixed = (*CONSTANTS, *words, 0, *struct.unpack("<3I", nonce))
    start = torch.empty((4, 4, count), dtype=torch.int64, device=device)
    for place, word in enumerate(fixed):
        start[place // 4, place % 4] = word
    start[3, 0] = torch.arange(first, first + count, device=device)
    rows = [start[row].clone() for row in range(4)]
    for _ in range(10):
        _quarter_rounds(rows)
        _turn(rows, -1)  # the diagonals become columns
        _quarter_rounds(rows)
        _turn(rows, 1)
    return torch.stack(rows).add_(start).bitwise_and_(MASK).reshape(16, count)


def _turn(rows: list[torch.Tensor], direction: int) -> None:
    """Rotate row i of the state by i places, so that diagonals and columns change roles."""
    for row in (1, 2, 3):
        rows[row] = rows[row].roll(direction * row, 0)


def _quarter_rounds(rows: list[torch.Tensor]) -> None:
    """Four quarter rounds at once, one on each column."""
    a, b, c, d = rows
    for first, second, third, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        first.add_(second).bitwise_and_(MASK)
        third.bitwise_xor_(first)
        high = third.bitwise_left_shift(bits).bitwise_and_(MASK)
        third.bitwise_right_shift_(32 - bits).bitwise_or_(high)
