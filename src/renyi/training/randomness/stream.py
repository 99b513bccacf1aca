"""Random words from a key: the ChaCha20 stream of RFC 8439, the same on every device.

On the CPU the cipher is OpenSSL's, through the package ``cryptography``. Elsewhere ``chacha`` computes it on the device itself,
so that the words need not be transferred.
"""

from __future__ import annotations

import numpy as np
import torch
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms
from numpy.typing import NDArray

from renyi.training.errors import TrainingError
from renyi.training.randomness import chacha

WORDS = 16
"""32-bit words of one block; a stretch of the stream must begin at a multiple of this."""

MOST_WORDS = WORDS * chacha.MOST_BLOCKS
"""Words under one key: the block counter has 32 bits, and beyond it the stream would repeat."""

SOURCE = "ChaCha20 (RFC 8439), 256-bit keys, 32-bit block counter"


def on_host(key: bytes, first: int, count: int) -> NDArray[np.int32]:
    """``count`` words of the stream starting at word ``first``, as signed integers."""
    _expect_within(first, count)
    made = np.empty(count, dtype=np.int32)
    if count:
        _encryptor(key, first).update_into(bytes(4 * count), made.view(np.uint8).data)
    return made


def on_device(key: bytes, device: torch.device, first: int, count: int) -> torch.Tensor:
    """The same words as ``on_host``, computed on a device."""
    _expect_within(first, count)
    made = chacha.blocks(key, -(-count // WORDS), device, first=first // WORDS)
    return made.T.reshape(-1)[:count].to(torch.int32)


class Reader:
    """The stream on the host, read from its beginning."""

    def __init__(self, key: bytes) -> None:
        self._encryptor = _encryptor(key, 0)
        self._words = 0

    def numbers(self, count: int) -> NDArray[np.uint64]:
        """The next ``count`` uniform numbers of 64 bits."""
        self._words += 2 * count
        _expect_within(0, self._words)
        return np.frombuffer(self._encryptor.update(bytes(8 * count)), dtype=np.uint64)


def _encryptor(key: bytes, first: int) -> CipherContext:
    """The cipher as an encryptor: encrypting zeros gives the stream."""
    counter = (first // WORDS).to_bytes(4, "little")
    return Cipher(algorithms.ChaCha20(key, counter + bytes(12)), mode=None).encryptor()


def _expect_within(first: int, count: int) -> None:
    if first % WORDS:
        raise ValueError(f"a stretch of the stream begins at a multiple of {WORDS} words; got {first}")
    if first + count > MOST_WORDS:
        raise TrainingError(
            f"one key gives at most {MOST_WORDS:,} random words, then its stream would repeat; words up to "
            f"{first + count:,} were asked for. Split the parameter: every parameter has a key of its own."
        )
