"""The calculator's fields: texts of bounded length, as a page's address carries them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Self, TypeVar
from urllib.parse import parse_qsl, urlencode

from renyi.cli.run import with_adjacency
from renyi.errors import InvalidInput, PrivacyError
from renyi.events.document import short
from renyi.laws.relation import Adjacency

Choice = TypeVar("Choice", bound=StrEnum)

LONGEST_NUMBER = 60
"""Characters of a number: a fraction of two floats takes about 50."""

LONGEST_TEXT = 12_000
"""Characters of further releases, of an event, and of another run to compare with; larger events go to the command."""


class Solve(StrEnum):
    """Which of the figures is found from the others."""

    EPSILON = "epsilon"
    DELTA = "delta"
    NOISE = "noise"
    RATE = "rate"
    STEPS = "steps"


class By(StrEnum):
    """How sampling and length of the run are said."""

    RATE = "rate"
    SIZES = "sizes"


@dataclass(frozen=True, slots=True)
class Form:
    """What was written into the fields; what an address leaves out stands as in the first example."""

    solve: str = Solve.EPSILON.value
    by: str = By.SIZES.value
    noise: str = "1.1"
    rate: str = "256/60000"
    steps: str = "14063"
    batch: str = "256"
    dataset: str = "60000"
    epochs: str = "60"
    epsilon: str = "2"
    delta: str = "1e-5"
    adjacency: str = Adjacency.ADD_OR_REMOVE.value
    more: str = ""
    event: str = ""
    beside: str = ""

    def __post_init__(self) -> None:
        for field in fields(self):
            text, most = getattr(self, field.name), LONGEST_TEXT if field.name in LONG else LONGEST_NUMBER
            if len(text) > most:
                raise InvalidInput(f"{field.name} may have {most:,} characters; got {len(text):,}.")

    @classmethod
    def of(cls, pairs: Sequence[tuple[str, str]]) -> Self:
        """The form that an address describes; one that this page cannot have written is refused."""
        known = {field.name for field in fields(cls)}
        given: dict[str, str] = {}
        for name, text in pairs:
            if name not in known:
                raise InvalidInput(f"there is no field {short(name)}; there are {', '.join(sorted(known))}.")
            if name in given:
                raise InvalidInput(f"the field {name} is given twice.")
            given[name] = text.replace("\r\n", "\n").strip()
        return cls(**given)

    @property
    def solved(self) -> Solve:
        """Which figure is found."""
        return _choice(Solve, "solve", self.solve)

    @property
    def described_by(self) -> By:
        """Whether rate and steps, or batch, dataset and epochs count."""
        return _choice(By, "by", self.by)

    @property
    def neighbours(self) -> Adjacency:
        """Which datasets count as neighbours."""
        return Adjacency.of(adjacency=self.adjacency)

    def query(self, **changed: str) -> str:
        """The address of this form after the question mark: only what differs from the first example."""
        first = Form()
        texts = {field.name: changed.get(field.name, getattr(self, field.name)) for field in fields(self)}
        return urlencode({name: text for name, text in texts.items() if text != getattr(first, name)})

    def to_dict(self) -> dict[str, str]:
        """The fields by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_dict(cls, values: Mapping[str, str]) -> Self:
        """The form that ``to_dict`` wrote."""
        return cls(**values)


LONG = ("more", "event", "beside")
"""Fields that hold more than a number."""


def other_form(form: Form) -> Form:
    """The run to compare with."""
    try:
        pairs = parse_qsl(form.beside, keep_blank_values=True, errors="strict", max_num_fields=len(fields(Form)))
    except ValueError:
        raise InvalidInput(
            "the other run is described like an address of this page, such as noise=2&epochs=30."
        ) from None
    return Form.of([(name, text) for name, text in pairs if name != "beside"])


def on_the_page(error: PrivacyError) -> str:
    """An error in words; neighbours are said as in the field of the form."""
    return with_adjacency(str(error), lambda one: f"neighbours that differ in {one.change('record')}")


def _choice(kind: type[Choice], name: str, text: str) -> Choice:
    try:
        return kind(text)
    except ValueError:
        raise InvalidInput(f"{name} is one of {', '.join(each.value for each in kind)}; got {short(text)}.") from None
