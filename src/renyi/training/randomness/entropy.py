"""The secret of a run, from the operating system, and the keys derived from it.

Noise that can be predicted, or that is drawn twice, protects nobody. So the secret is 256 bits from the operating system, new
for every run and every resume, and kept in memory only. Each use has its own key, derived by keyed BLAKE2b from
(secret, purpose, step, name). Nothing here uses torch's generators, so ``torch.manual_seed`` has no effect on it.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Callable
from typing import Any, NoReturn

from renyi import check
from renyi.training.errors import TrainingError


class Keys:
    """A secret and the keys derived from it. It cannot be printed, copied or pickled."""

    __slots__ = ("_bound", "_owner", "_secret", "private")

    private: bool
    """Whether the secret is really secret: False for a seeded test."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)
        self._bound = False
        self._owner = os.getpid()
        self.private = True

    def bind(self) -> None:
        """Assign the keys to one run: a second run would draw the same noise, which cancels in the difference of the two."""
        self._expect_owner()
        if self._bound:
            raise TrainingError(
                "these keys already belong to a run. Two runs under the same keys draw the same noise, which cancels "
                "in their difference. Leave keys out, or make new ones for every run and every resume."
            )
        self._bound = True

    def follow(self, told: Callable[[bytes], bytes]) -> None:
        """Take the secret of the process that leads: ``told`` gives what that one passes. All of them add the same noise."""
        self._expect_owner()
        passed = told(bytes([self.private]) + self._secret)
        self.private, self._secret = bool(passed[0]), passed[1:]

    def key(self, purpose: str, step: int, name: str = "") -> bytes:
        """A 256-bit key for one use. Different uses have unrelated keys; the same use in the same run has the same key."""
        self._expect_owner()
        # Lengths in front make the encoding unambiguous: ("ab", "c") and ("a", "bc") must not share a key.
        message = b"".join(len(part).to_bytes(8, "little") + part for part in (purpose.encode(), name.encode()))
        message += step.to_bytes(8, "little")
        return hashlib.blake2b(message, key=self._secret, digest_size=32, person=b"renyi.training").digest()

    def _expect_owner(self) -> None:
        if os.getpid() != self._owner:
            raise TrainingError(
                f"these keys were made by process {self._owner}; this is process {os.getpid()}, forked from it. Both would "
                "draw the same noise, which cancels in their difference. Make a run and its keys in the process that trains."
            )

    def __repr__(self) -> str:
        return "Keys(from the operating system)" if self.private else "Keys(seeded: not private)"

    def __copy__(self) -> NoReturn:
        self._refuse()

    def __deepcopy__(self, memo: object) -> NoReturn:
        self._refuse()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise TrainingError(
            "the keys of a run are never copied or stored: whoever holds them can take the noise away. Save the run "
            "with run.save(path); it resumes under new keys."
        )


def seeded(seed: int) -> Keys:
    """Keys that anybody can compute, for reproducible tests.

    The guarantee of such a run says that it is not private.
    """
    keys = Keys()
    keys._secret = hashlib.blake2b(
        str(check.whole(0, seed=seed)).encode(), digest_size=32, person=b"renyi.seeded"
    ).digest()
    keys.private = False
    return keys
