"""A worker process: reads questions from standard input, one line of JSON each, and writes one line for each answer.

``python -P -m renyi.web.working`` is started by ``workers``; it keeps nothing from one question to the next. With the argument
``ledger`` it answers questions about a ledger, and no others.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

from renyi.errors import PrivacyError

MOST_MEMORY = 4 << 30
"""Bytes of address space of a worker. Most of it is reserved by libraries and never used; an answer takes a hundredth."""


def main() -> None:
    """Answer until there are no more questions."""
    # What is printed by accident must not stand among the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    _bound_memory()
    ask = _answers(sys.argv[1:])

    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(_answered(ask, json.loads(line)), allow_nan=False), file=answers, flush=True)


def _answers(arguments: list[str]) -> Callable[..., dict[str, Any]]:
    if arguments == ["ledger"]:
        from renyi.web.ledger.asking import ask as of_a_ledger

        return of_a_ledger
    from renyi.web.answers.asking import ask

    return ask


def _answered(ask: Any, question: list[Any]) -> dict[str, Any]:
    try:
        return {"answer": ask(*question)}
    except PrivacyError as error:
        return {"refused": str(error), "kind": type(error).__name__}
    except MemoryError:
        return {"refused": "this takes more memory than a question to the page is given.", "kind": "TooLarge"}


def _bound_memory() -> None:
    try:
        import resource
    except ImportError:  # not on Windows
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = MOST_MEMORY if hard == resource.RLIM_INFINITY else min(MOST_MEMORY, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))


if __name__ == "__main__":
    main()
