"""A guarantee as a document that can be filed: everything that reviewers and registries ask for, or that it is absent."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from enum import Enum
from typing import Any

from renyi.accountants.gdp import Gdp
from renyi.accountants.guarantee import FORMAT as GUARANTEE
from renyi.accountants.guarantee import Guarantee
from renyi.errors import InvalidInput, MalformedEvent, NotSerialisable, PrivacyError
from renyi.events.document import as_float, as_json, as_text, checksum, expect_size, parsed, short
from renyi.laws.relation import Relation
from renyi.numerics.printing import rounded_down, rounded_up
from renyi.report import items
from renyi.report.forms.card import card
from renyi.report.forms.markdown import markdown
from renyi.report.forms.registry import registry
from renyi.report.forms.table import shown
from renyi.report.forms.text import text
from renyi.report.odds import Odds, interval
from renyi.report.said import Item, Said, plain

FORMAT = "renyi-statement"
VERSION = 1

LONGEST_TEXT = 10_000
"""Characters of one text that an author writes into a statement: some pages."""


class Ran(Enum):
    """How it is known which sampler ran."""

    NOT_STATED = "not-stated"
    STATED = "stated"
    RECORDED = "recorded"


_HOW = {
    Ran.NOT_STATED: None,
    Ran.STATED: "as stated by the author of this statement",
    Ran.RECORDED: "drawn by the run itself, as its journal records",
}


@dataclass(frozen=True, slots=True)
class Statement:
    """What is promised, of which run, for whom, and what is not known; ``renyi.statement`` makes one.

    ``guarantee`` is about what ran. Where another sampler was accounted for, ``accounted`` holds that number, and every form
    warns. The forms: ``str``, ``to_text``, ``to_markdown``, ``to_html``, ``to_json`` (``from_json`` reads it back),
    ``to_yaml`` and ``to_model_card``.
    """

    guarantee: Guarantee
    accounted: Guarantee | None = None
    ran: Ran = Ran.NOT_STATED
    gdp: Gdp | None = None
    odds: Odds | None = None
    private: bool = True
    """False if the noise came from a public seed, as in tests."""
    data_covered: str | None = None
    data_not_covered: str | None = None
    other_runs: str | None = None
    clipping: str | None = None
    record: tuple[str, ...] | None = None
    """What a run's journal says, None if the statement is not about a run with a journal."""
    certificate: str | None = None
    audit: str | None = None

    def __post_init__(self) -> None:
        for name in ("data_covered", "data_not_covered", "other_runs", "clipping", "certificate", "audit"):
            _expect_text(name, getattr(self, name))

    def __str__(self) -> str:
        return " ".join((str(self.guarantee), *(f"WARNING: {warning}" for warning in self.warnings())))

    def warnings(self) -> tuple[str, ...]:
        """What nobody who reads the number may miss."""
        found = []
        if not self.private:
            found.append("NOT PRIVATE: the noise came from a public seed, for testing; anybody can take it away.")
        if self.guarantee.epsilon.upper == math.inf:
            found.append("epsilon has no upper end, so nothing is promised.")
        if self.accounted is not None:
            found.append(f"what ran is not what was accounted for. {self._both()}")
        return tuple(found)

    def _both(self) -> str:
        """What was accounted for, and what can be said of what ran."""
        ran, other = self.guarantee, self.accounted
        assert other is not None
        lower = ran.epsilon.lower
        least = f", and no epsilon below {rounded_down(lower)} holds" if lower > 0.0 else ""
        return (
            f"Accounted for: epsilon {rounded_up(other.epsilon.upper)} at delta {rounded_up(other.delta)} for "
            f"{other.adjacency.value} neighbours, a number for something else, which says nothing of this run. Of what ran: "
            f"epsilon is at most {rounded_up(ran.epsilon.upper)} at delta {rounded_up(ran.delta)} for {ran.adjacency.value} "
            f"neighbours{least}."
        )

    def items(self) -> tuple[Item, ...]:
        """Everything that reviewers ask for, in this order; what is absent says so."""
        guarantee = self.guarantee
        return (
            items.unit(guarantee),
            items.adjacency(guarantee),
            items.stated("data_covered", "Data covered", self.data_covered, "not stated"),
            items.stated("data_not_covered", "Data not covered", self.data_not_covered, "not stated"),
            items.epsilon(guarantee),
            items.gdp(self.gdp, guarantee, self.private),
            items.risk(self.odds, guarantee, self.private),
            items.sampler_run(guarantee, _HOW[self.ran]),
            items.sampler_accounted(guarantee, self.accounted),
            items.method(guarantee),
            items.composition(guarantee),
            items.search(guarantee),
            items.stated(
                "other_runs",
                "Other runs",
                self.other_runs,
                "not stated; whatever else was released from the same data adds to this",
            ),
            items.noise(guarantee),
            items.clipping(self.clipping),
            items.steps(guarantee),
            items.assumptions(guarantee, self.record or ()),
            items.on_record(self.record),
            items.references(guarantee),
            items.stated(
                "certificate",
                "Certificate",
                self.certificate,
                "none is stated: the upper end is as this library computed it",
            ),
            items.stated(
                "audit",
                "Audit",
                self.audit,
                "none is stated: whether attacks were tried on what was released is not known here",
            ),
        )

    def said(self) -> Said:
        """What every form shows."""
        return Said(self.guarantee, plain(str(self.guarantee)), tuple(map(plain, self.warnings())), self.items())

    def to_text(self) -> str:
        """Plain text."""
        return text(self.said())

    def to_markdown(self) -> str:
        """Markdown, with a heading of its own."""
        return markdown(self.said())

    def to_html(self) -> str:
        """One HTML page with plots, which needs nothing from elsewhere; it is computed for a second or more."""
        from renyi.report.forms.page import page  # and with it plots

        return page(self.said(), self.odds, curves=self.private and items.is_close(self.guarantee))

    def _repr_html_(self) -> str:
        """Sentence, warnings and items, which notebooks show in place of the fields."""
        return shown(self.said())

    def to_yaml(self) -> str:
        """An entry for the public registry of deployments; what only its author can know is left to be filled in."""
        return registry(self.said())

    def to_model_card(self) -> str:
        """The metadata and the section on privacy of a model card."""
        return card(self.said())

    def to_dict(self) -> dict[str, Any]:
        """The same for machines, with a checksum. An infinite number is the string "inf", because JSON has none."""
        document = self._document()
        return {**document, "sha256": checksum(document)}

    def to_json(self) -> str:
        """The statement as a document to file: versioned, dated, with a checksum. ``schema`` says what it holds."""
        written = json.dumps(self.to_dict(), indent=1, allow_nan=False)
        try:
            expect_size(written, written.count("{"))
        except MalformedEvent as error:
            raise NotSerialisable(f"what cannot be read back is not written: {error}") from None
        return written

    @classmethod
    def from_json(cls, text: str | bytes) -> Statement:
        """The statement that ``to_json``, or the command ``renyi report --form json``, wrote. It is read, not computed again.

        Raises ``MalformedEvent`` if the document was altered, cut off, or is of another version.
        """
        try:
            found = parsed(text)
        except MalformedEvent as error:
            raise MalformedEvent(f"this statement cannot be read: {error}") from None
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise MalformedEvent(f"a statement is a JSON object of format {FORMAT!r}; got {short(found)}.")
        if found.get("version") != VERSION or isinstance(found["version"], bool):
            raise MalformedEvent(
                f"this renyi reads statements of version {VERSION}; got version {short(found.get('version'))}. "
                "Use the release that wrote it, or a newer one."
            )
        document = {name: value for name, value in found.items() if name != "sha256"}
        if found.get("sha256") != checksum(document):
            raise MalformedEvent("this statement is not as it was written: its checksum does not fit its contents.")
        try:
            made = cls._read(document)
        except PrivacyError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            # A checksum can be computed for any contents.
            raise MalformedEvent(f"this statement lacks a field or has a wrong one: {short(error)}.") from None
        if checksum(made._document()) != checksum(document):
            raise MalformedEvent(
                "the fields of this statement contradict each other: its items are not about its numbers."
            )
        return made

    def _document(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": VERSION,
            "sentence": str(self),
            "warnings": list(self.warnings()),
            "guarantee": self.guarantee.to_dict(),
            "accounted": None if self.accounted is None else self.accounted.to_dict(),
            "ran": self.ran.value,
            "gdp": None if self.gdp is None else _mu(self.gdp),
            "risk": None if self.odds is None else self.odds.to_dict(),
            "private": self.private,
            "data_covered": self.data_covered,
            "data_not_covered": self.data_not_covered,
            "other_runs": self.other_runs,
            "clipping": self.clipping,
            "record": None if self.record is None else list(self.record),
            "certificate": self.certificate,
            "audit": self.audit,
            "items": [
                {"name": item.name, "title": item.title, "said": list(item.said), "known": item.known}
                for item in self.items()
            ],
        }

    @classmethod
    def _read(cls, document: dict[str, Any]) -> Statement:
        guarantee = _guarantee(document["guarantee"])
        record, mu = document["record"], document["gdp"]
        if not isinstance(document["private"], bool):
            raise InvalidInput(f"private is true or false; got {short(document['private'])}.")
        return cls(
            guarantee=guarantee,
            accounted=None if document["accounted"] is None else _guarantee(document["accounted"]),
            ran=Ran(document["ran"]),
            gdp=None
            if mu is None
            else Gdp(
                interval(mu["mu"]),
                as_float(mu["floor"]),
                as_float(mu["regret"]),
                guarantee.event,
                guarantee.adjacency,
                Relation(mu["relation"]),
            ),
            odds=None if document["risk"] is None else Odds.from_dict(document["risk"]),
            private=document["private"],
            data_covered=document["data_covered"],
            data_not_covered=document["data_not_covered"],
            other_runs=document["other_runs"],
            clipping=document["clipping"],
            record=None if record is None else tuple(map(as_text, record)),
            certificate=document["certificate"],
            audit=document["audit"],
        )


def _guarantee(values: object) -> Guarantee:
    if not isinstance(values, dict) or values.get("format") != GUARANTEE:
        raise InvalidInput(f"a statement holds a guarantee; got {short(values)}.")
    return Guarantee.from_json(json.dumps(values))


def _mu(found: Gdp) -> dict[str, Any]:
    """The claim without the event, which the guarantee holds."""
    ends = {"lower": as_json(found.mu.lower), "upper": as_json(found.mu.upper)}
    return {"mu": ends, "floor": found.floor, "regret": found.regret, "relation": found.relation.value}


def _expect_text(name: str, value: object) -> None:
    if value is None:
        return
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST_TEXT:
        raise InvalidInput(
            f"{name} must be a text of at most {LONGEST_TEXT:,} characters that is not blank, or None if it is not known; got "
            f"{short(value)}."
        )
