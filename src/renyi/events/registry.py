"""Names of mechanisms and samplings, as they appear in JSON and on the command line.

A class is registered when it is defined. Our own are defined when they are first asked for; if a name is unknown, all of them
are, and then those that installed packages add through an entry-point group: the name never decides what is imported.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Generic, TypeVar

from renyi.errors import InvalidInput, MalformedEvent
from renyi.signatures import meant

Kind = TypeVar("Kind", bound=type)


@dataclass(frozen=True)
class Room:
    """A package whose files are loaded when something of them is asked for; ``files`` says where its public classes are."""

    package: str
    path: Iterable[str]
    files: Mapping[str, str]

    def attribute(self, name: str) -> Any:
        """What the package's ``__getattr__`` answers: the class, which is an attribute from then on."""
        if name not in self.files:
            raise AttributeError(f"module {self.package!r} has no attribute {name!r}")
        found = getattr(import_module(f"{self.package}.{self.files[name]}"), name)
        setattr(sys.modules[self.package], name, found)
        return found

    def load(self) -> None:
        """Load every file, those included that ``files`` does not name: adding a file adds a class."""
        for name in (*self.files.values(), *(module.name for module in iter_modules(self.path))):
            import_module(f"{self.package}.{name}")


class Registry(Generic[Kind]):
    """Classes of one kind (mechanisms or samplings), by name."""

    def __init__(self, what: str, group: str) -> None:
        self._what = what
        self._group = group
        self._room: Room | None = None
        self._classes: dict[str, Kind] = {}
        self._loaded = False

    def open(self, room: Room) -> None:
        """Say where our own classes are."""
        self._room = room

    def add(self, name: str, cls: Kind) -> None:
        """Register a class; the same class defined again (as ``dataclass(slots=True)`` does) replaces itself."""
        if self._room is not None and not cls.__module__.startswith(f"{self._room.package}."):
            self._room.load()  # our own names are taken, whether or not their classes were asked for
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
        """Load our own classes and the installed members of the group, once; return whether the name is still unknown."""
        if not self._loaded:
            from importlib.metadata import entry_points

            self._loaded = True
            if self._room is not None:
                self._room.load()
            for member in entry_points(group=self._group):
                member.load()
        return name not in self._classes


def snake_case(name: str) -> str:
    """RandomizedResponse -> randomized_response, PureDP -> pure_dp."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
