"""Every error this library raises on purpose.

::

    PrivacyError
    ├── InvalidInput          a value outside its domain: says what came, what is possible, what to do
    │   ├── WrongCall         arguments that a function or class does not take, with those that were probably meant
    │   └── MalformedEvent    JSON that is not an event of a known kind and version
    ├── UnsupportedError      a combination for which no theorem is implemented
    ├── NotSerialisable       an event that holds code, so it has no JSON form
    ├── CalibrationError      no value of the parameter meets the target
    └── ConvergenceError      a computation that could not reach its accuracy
        └── TooLarge          one that would take more work or memory than a question is given
"""

from __future__ import annotations


class PrivacyError(Exception):
    """The root of the tree: catch this to catch everything raised on purpose."""


class InvalidInput(PrivacyError, ValueError):
    """A value outside its domain."""


class WrongCall(InvalidInput, TypeError):
    """Arguments that do not fit what was called."""


class MalformedEvent(InvalidInput):
    """A document that does not describe an event."""


class UnsupportedError(PrivacyError):
    """A combination of mechanism, sampling, accountant and relation for which no theorem is implemented."""


class NotSerialisable(PrivacyError):
    """An event that cannot be written as JSON."""


class CalibrationError(PrivacyError):
    """A target that no value of the parameter meets, or a parameter that does not matter."""


class ConvergenceError(PrivacyError):
    """A computation that did not reach the accuracy it promises."""


class TooLarge(ConvergenceError):
    """A computation that would take more work or memory than one question is given."""
