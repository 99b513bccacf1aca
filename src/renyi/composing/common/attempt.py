"""One method, tried: what it finds, or what is known without it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from renyi.errors import ConvergenceError, PrivacyError

Found = TypeVar("Found")
Known = TypeVar("Known")


def attempt(ask: Callable[[], Found], otherwise: Known) -> Found | Known:
    """What ``ask`` finds; ``otherwise`` where it would take too much work, or meets numbers beyond what floats hold."""
    try:
        return ask()
    except (ConvergenceError, ArithmeticError):
        return otherwise
    except PrivacyError:  # about the question itself: for whoever asked
        raise
    except (ValueError, IndexError):
        return otherwise
