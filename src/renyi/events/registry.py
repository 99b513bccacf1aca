"""Names of mechanisms and samplings, as they appear in JSON and on the command line.

A class is registered when it is defined. Installed packages add theirs through an entry-point group, all of whose members are
loaded when a name is unknown: the name never decides what is imported.
"""

from __future__ import annotations

import re
from importlib.metadata import entry_points
from typing import Generic, TypeVar

from renyi.errors import InvalidInput, MalformedEvent
from renyi.signatures import meant

Kind = TypeVar("Kind", bound=type)


class Registry(Generic[Kind]):
    """Classes of one kind (mechanisms or samplings), by name."""

    def __init__(self, what: str, group: str) -> None:
        self._what = what
        self._group = group
        self._classes: dict[str, Kind] = {}
        self._loaded = False

    def add(self, name: str, cls: Kind) -> None:
        """Register a class; the same class defined again (as ``dataclass(slots=True)`` does) replaces itself."""
        known = self._classes.get(name)
        if known is not None and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise InvalidInput(
                f"the {self._what} name {name!r} is taken by {known.__module__}.{known.__qualname__}; "
                f"give {cls.__module__}.{cls.__qualname__} another name."
            )
        self._classes[name] = cls

    def get(self, name: object) -> Kind:
        """The class of that name; the error for an unknown name lists the known ones."""
        if not isinstance(name, str) or (name not in self._classes and self._load(name)):
            near = meant(name, self._classes) if isinstance(name, str) else None
            hint = f" Did you mean {near!r}?" if near else ""
            raise MalformedEvent(f"unknown {self._what} {name!r}.{hint} Known are {', '.join(sorted(self._classes))}.")
        return self._classes[name]

    def names(self) -> tuple[str, ...]:
        """Every known name, in order."""
        self._load("")
        return tuple(sorted(self._classes))

    def _load(self, name: str) -> bool:
        """Load the installed members of the group, once; return whether the name is still unknown."""
        if not self._loaded:
            self._loaded = True
            for member in entry_points(group=self._group):
                member.load()
        return name not in self._classes


def snake_case(name: str) -> str:
    """RandomizedResponse -> randomized_response, PureDP -> pure_dp."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
