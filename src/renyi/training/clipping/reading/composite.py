"""Opening functions that hide others from a mode: torch functions written in Python, and compiled modules."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any, cast

import torch


def eager() -> AbstractContextManager[None]:
    """Run compiled modules in eager mode: the compiler would trace the mode itself, and lose what it records.

    The compiler is not imported for this: if it has not been imported, nothing can have been compiled.
    """
    if "torch._dynamo" not in sys.modules:
        return nullcontext()
    stance: Any = torch.compiler.set_stance("force_eager")
    return cast(AbstractContextManager[None], stance)


def _never(*_: object) -> bool:
    return False


@cache
def opened(function: Callable[..., Any]) -> Callable[..., Any]:
    """A copy of a torch function that does not hand itself over to the mode, although the functions it calls still do.

    `F.multi_head_attention_forward` starts by asking whether a mode wants to handle all of it. In the copy the answer is no, so
    the mode sees its two projections as the `F.linear` calls they are, and attention needs no rule of its own.
    """
    assert isinstance(function, types.FunctionType)
    scope = {
        name: _never if name.startswith("has_torch_function") else value for name, value in function.__globals__.items()
    }
    copy = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy
