"""What a statement says, item by item, before it takes a form."""

from __future__ import annotations

from dataclasses import dataclass

from renyi.accountants.guarantee import Guarantee


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that a reviewer asks for: its name for machines, its title, and what is said of it.

    ``known`` is false where the item is absent, and what is said then says so: no item is ever dropped.
    """

    name: str
    title: str
    said: tuple[str, ...]
    known: bool = True

    @classmethod
    def of(cls, name: str, title: str, *said: str) -> Item:
        """An item that is known."""
        return cls(name, title, tuple(map(plain, said)))

    @classmethod
    def absent(cls, name: str, title: str, why: str) -> Item:
        """An item that is not known, or that there is not; ``why`` says which."""
        return cls(name, title, (plain(why),), known=False)


@dataclass(frozen=True, slots=True)
class Said:
    """Everything that a form shows: the sentence, warnings that nobody may miss, and the items in their order."""

    guarantee: Guarantee
    sentence: str
    warnings: tuple[str, ...]
    items: tuple[Item, ...]

    def item(self, name: str) -> Item:
        """The item of this name."""
        return next(item for item in self.items if item.name == name)

    def of(self, *names: str) -> str:
        """Items as lines; if there are several, each line stands behind its title."""
        found = [self.item(name) for name in names]
        return "\n".join(f"{item.title}: {line}" if len(found) > 1 else line for item in found for line in item.said)


def plain(text: str) -> str:
    """A text on one line, without characters that could steer a terminal or turn the direction of writing."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in " ".join(text.split()))
