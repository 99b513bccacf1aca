"""The size of an event, known when it is built: no walk over it overflows the stack, no count overflows a float."""

from __future__ import annotations

from typing import NamedTuple

from renyi.errors import InvalidInput
from renyi.events.limits import DEEPEST, LARGEST_UNSORTED, MOST_EVENTS, MOST_NESTED, MOST_RELEASES


class Extent(NamedTuple):
    """The size of an event; the default is that of a mechanism."""

    depth: int = 1
    """Events nested inside each other."""
    nested: int = 0
    """Samples, groups and searches among those levels, which the canonical form cannot flatten."""
    releases: int = 1
    """Releases in all; those of one draw, or of one search, count as one."""
    group: int = 1
    """Records of the largest group."""
    events: int = 1
    """Events in all, the event itself included; one that appears in two places counts twice."""

    def beside(self, other: Extent) -> Extent:
        """The extent of a sum of this extent after an event is added to it."""
        return Extent(
            max(self.depth, other.depth + 1),
            max(self.nested, other.nested),
            self.releases + other.releases,
            max(self.group, other.group),
            self.events + other.events,
        )

    def without(self, other: Extent) -> Extent:
        """The extent of a sum of this extent after an event is removed; depth and largest group are kept, as upper bounds."""
        return self._replace(releases=self.releases - other.releases, events=self.events - other.events)

    @property
    def needs_flattening(self) -> bool:
        """Whether the event should be put into canonical form before its size is judged."""
        return self.depth > DEEPEST or self.nested > MOST_NESTED or self.events > LARGEST_UNSORTED

    def expect_possible(self) -> None:
        """Raise ``InvalidInput`` if an event of this extent is too large."""
        if self.nested > MOST_NESTED:
            raise InvalidInput(
                f"samples, groups and searches are nested at most {MOST_NESTED} deep; got {self.nested}. Sums and "
                "repetitions do not count. Describe the run with fewer levels: a search among searches is a longer search."
            )
        if self.events > MOST_EVENTS:
            raise InvalidInput(
                f"an event consists of at most {MOST_EVENTS:,} others; got {self.events:,}. Equal parts count once."
            )
        if self.releases > MOST_RELEASES or self.group > MOST_RELEASES:
            what = "releases in all" if self.releases > MOST_RELEASES else "records in a group"
            raise InvalidInput(
                f"there can be at most 1e300 {what}; got more. Nested counts multiply: did you mean only one of them?"
            )


NONE = Extent(releases=0)
"""The extent of a sum of nothing."""
