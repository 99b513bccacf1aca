"""Choices that stay secret: how often, which, and who wins a tie."""

from __future__ import annotations

import secrets
from collections.abc import Callable

WIDTH = 256
"""Bits behind each choice."""


class Chance:
    """Choices by the operating system's random bytes, or by those of another ``source``, for tests."""

    __slots__ = ("_source",)

    def __init__(self, source: Callable[[int], bytes] | None = None) -> None:
        self._source = source

    def bits(self) -> int:
        """A whole number below 2^256, each as likely as any other."""
        source = secrets.token_bytes if self._source is None else self._source
        return int.from_bytes(source(WIDTH // 8), "big")

    def below(self, count: int) -> int:
        """A whole number below ``count``, each as likely as any other up to a share of 2^-256 times ``count``."""
        return self.bits() * count >> WIDTH
