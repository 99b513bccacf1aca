"""Which way two neighbouring datasets differ.

A guarantee bounds what an observer learns by comparing the output on one dataset with the output on
a neighbour. A ``Relation`` is one ordered comparison; an ``Adjacency`` is a notion of neighbours and lists
the relations that must all be bounded.
"""

from __future__ import annotations

from enum import Enum

from renyi.errors import InvalidInput, UnsupportedError


class Relation(Enum):
    """One ordered comparison: the law of the output on the first dataset against the law on the second."""

    REMOVE = "remove"  # first has the record, second lacks it
    ADD = "add"  # first lacks the record, second has it
    REPLACE = "replace"  # one record for another
    ZERO_OUT = "zero-out"  # first has the record, second has a blank in its place
    ZERO_IN = "zero-in"  # first has a blank, second has the record

    @property
    def distance(self) -> int:
        """How far the sum of contributions moves, in units of the largest norm of one contribution."""
        return 2 if self is Relation.REPLACE else 1

    @property
    def opposite(self) -> Relation:
        """The same two datasets compared the other way round."""
        return _OPPOSITE[self]

    @property
    def record_first(self) -> bool:
        """Whether the first dataset has the record and the second lacks it."""
        return self in (Relation.REMOVE, Relation.ZERO_OUT)


_OPPOSITE = {
    Relation.REMOVE: Relation.ADD,
    Relation.ADD: Relation.REMOVE,
    Relation.REPLACE: Relation.REPLACE,
    Relation.ZERO_OUT: Relation.ZERO_IN,
    Relation.ZERO_IN: Relation.ZERO_OUT,
}


class Adjacency(Enum):
    """A notion of neighbouring datasets."""

    ADD_OR_REMOVE = "add-or-remove"
    REPLACE_ONE = "replace-one"
    ZERO_OUT = "zero-out"

    def __repr__(self) -> str:
        return f"Adjacency.{self.name}"

    @property
    def relations(self) -> tuple[Relation, ...]:
        """Every relation that a guarantee for this adjacency must bound."""
        return _RELATIONS[self]

    def change(self, unit: str, group: int = 1) -> str:
        """How two neighbours differ, in words: "one record added or removed"."""
        return f"{f'one {unit}' if group == 1 else f'a group of {group:,} {unit}s'} {_CHANGES[self]}"

    @classmethod
    def of(cls, **named: object) -> Adjacency:
        """The adjacency that was given, by itself or by its value, as in JSON and on the command line."""
        ((name, value),) = named.items()
        try:
            return cls(value)
        except ValueError:
            choices = ", ".join(repr(choice.value) for choice in cls)
            raise InvalidInput(f"{name} must be an Adjacency or one of {choices}; got {value!r}.") from None

    def expect(self, relation: Relation, what: object) -> None:
        """Refuse a relation that a statement proved for this adjacency does not cover."""
        if relation not in self.relations:
            raise UnsupportedError(
                f"{what} is a statement about {self.value} neighbours and says nothing about the relation {relation.value}. "
                "If it was proved for other neighbours, pass adjacency=... where it is made."
            )


_RELATIONS = {
    Adjacency.ADD_OR_REMOVE: (Relation.REMOVE, Relation.ADD),
    Adjacency.REPLACE_ONE: (Relation.REPLACE,),
    Adjacency.ZERO_OUT: (Relation.ZERO_OUT, Relation.ZERO_IN),
}

_CHANGES = {
    Adjacency.ADD_OR_REMOVE: "added or removed",
    Adjacency.REPLACE_ONE: "replaced by another",
    Adjacency.ZERO_OUT: "blanked out",
}
