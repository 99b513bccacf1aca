"""A wrapper for statistics that were computed from private data without noise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NoReturn, TypeVar

from renyi.training.errors import TrainingError

T = TypeVar("T")

PLACEHOLDER = "<private; .reveal()>"
"""What is shown instead of a private value, whatever it is."""


class Private(Generic[T]):
    """A value that must not leak by accident: printed, it shows a placeholder; computing or comparing with it raises.

    ``reveal`` returns it. A loss or a clipped fraction says something about the people in the batch, and no noise was added to
    it. It may be looked at for debugging; what is published, logged or decided because of it is outside the guarantee.
    """

    __slots__ = ("_value", "_what")

    def __init__(self, what: str, value: Callable[[], T]) -> None:
        self._what = what
        self._value = value

    def reveal(self) -> T:
        """The value itself, on purpose. The guarantee does not cover what is done with it."""
        return self._value()

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TrainingError(
            f"the {self._what} was computed from private data without noise, so it is not shown. Call .reveal() if "
            "you mean to see it: what you then print, log or decide by it is not covered by the guarantee."
        )

    def __repr__(self) -> str:
        return PLACEHOLDER

    def __format__(self, spec: str) -> str:
        """The placeholder; a format for numbers asks for the number itself, and raises."""
        if spec:
            self._refuse()
        return PLACEHOLDER

    __bool__ = __float__ = __int__ = __complex__ = _refuse
    __eq__ = __ne__ = __hash__ = __reduce__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __iter__ = __len__ = __array__ = __index__ = __neg__ = __abs__ = __round__ = _refuse
