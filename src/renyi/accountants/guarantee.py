"""The full answer: what is promised, of which run, for whom, by which theorem."""

from __future__ import annotations

import datetime
import html
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import renyi
from renyi.composing.question import DeltaAt, EpsilonAt, Question
from renyi.errors import InvalidInput, MalformedEvent, PrivacyError
from renyi.events import serial
from renyi.events.document import as_float, as_json, as_text, checksum, parsed, short
from renyi.events.event import Event
from renyi.events.mechanism import Mechanism
from renyi.events.nodes import Composed, Grouped, Repeated, Sampled, Tuned
from renyi.events.sampling import Sampling
from renyi.events.words import described, group_of, is_plural, ungrouped
from renyi.laws.interval import Interval
from renyi.laws.relation import Adjacency, Relation
from renyi.numerics.printing import rounded_down, rounded_up

FORMAT = "renyi-guarantee"
VERSION = 1

_AGREE = 1e-6
"""Relative distance of the two ends below which they are said to agree: the six digits that are printed are then known, up to
the rounding of the last."""


def _today() -> datetime.date:
    return datetime.datetime.now(datetime.UTC).date()


@runtime_checkable
class Proof(Protocol):
    """What a guarantee asks of a certificate, whose room knows nothing of this one."""

    @property
    def event(self) -> Event:
        """What was released."""

    @property
    def adjacency(self) -> Adjacency:
        """Which datasets count as neighbours."""

    @property
    def delta(self) -> float:
        """The delta of the claim."""

    def verify(self) -> None:
        """Raises an error unless the claim is proved."""

    def words(self) -> str:
        """What is proved, and by which file."""


@dataclass(frozen=True, slots=True)
class Guarantee:
    """An event is (epsilon.upper, delta)-differentially private for an adjacency, and for no epsilon below epsilon.lower.

    ``question`` says what was given (delta, or epsilon), and ``answer`` holds both ends of the other. The lower end is a
    statement about the worst neighbours; where a part stands for all mechanisms of a level (``PureDP``, ``ApproximateDP``),
    about the worst of these mechanisms. The upper end takes the ``assumptions`` for granted: among them, that curves and
    densities which the user gave are right.
    """

    question: Question
    answer: Interval
    adjacency: Adjacency
    event: Event
    method: str
    relation: Relation
    order: float | None
    assumptions: tuple[str, ...]
    references: tuple[str, ...]
    unit: str = "record"
    """Whose presence is hidden: a record, or what the event was built for, such as a user."""
    version: str = renyi.__version__
    """The release of this library that computed it."""
    date: datetime.date = field(default_factory=_today, compare=False)
    """The day on which it was computed, in UTC."""
    certificate: str | None = None
    """What a certificate of the same claim proves, in words; see ``certified``."""

    def certified(self, certificate: Proof) -> Guarantee:
        """The same guarantee, which names a certificate of ``renyi.certify`` for its run, once that is checked again.

        >>> import renyi
        >>> run = renyi.Gaussian(2.0) * 10
        >>> print(renyi.guarantee(run, delta=1e-5).certified(renyi.certify(run, delta=1e-5)))
        10 releases of Gaussian noise ... Certified: epsilon 7.51... at delta 1e-05 is proved in ball arithmetic; renyi ...
        """
        if not isinstance(certificate, Proof):
            raise InvalidInput(f"certificate must be what renyi.certify returns; got {short(certificate)}.")
        asked = self.delta if isinstance(self.question, EpsilonAt) else None
        if (certificate.event, certificate.adjacency, certificate.delta) != (self.event, self.adjacency, asked):
            raise InvalidInput(
                "the certificate is about another event, delta or adjacency than this guarantee: make it by "
                f"certify(event, delta=..., adjacency=...) with the same ones; it is about {short(str(certificate))}."
            )
        certificate.verify()
        return replace(self, certificate=certificate.words())

    @property
    def epsilon(self) -> Interval:
        """Both ends of epsilon; where epsilon was given, both are the given number."""
        return self.answer if isinstance(self.question, EpsilonAt) else Interval(*[self.question.epsilon] * 2)

    @property
    def delta(self) -> float:
        """The delta that was given, or else the upper end of the one that was found."""
        return self.question.delta if isinstance(self.question, EpsilonAt) else self.answer.upper

    def __str__(self) -> str:
        plural = is_plural(self.event)
        run = self._run()
        neighbours = f"for {self._neighbours()}"
        at = f" at order {self.order:.6g}" if self.order is not None else ""
        proved = "" if self.certificate is None else f" Certified: {self.certificate}."
        origin = f"{self._closeness()}, by {self.method}{at}, renyi {self.version}.{proved}"
        if self.epsilon.upper == math.inf:
            has = "have" if plural else "has"
            return f"{_capital(run)} {has} no finite epsilon at delta {rounded_up(self.delta)} {neighbours}; {origin}"
        level = f"({rounded_up(self.epsilon.upper)}, {rounded_up(self.delta)})-differentially private"
        return f"{_capital(run)} {'are' if plural else 'is'} {level} {neighbours}; {origin}"

    def _run(self) -> str:
        return described(ungrouped(self.event) if group_of(self.event) > 1 else self.event)

    def _neighbours(self) -> str:
        return self.adjacency.change(self.unit, group_of(self.event))

    def _closeness(self) -> str:
        """Whether the answer is exact, or a bound and how far from the truth it may be."""
        lower, upper = self.answer.lower, self.answer.upper
        if upper == lower or upper - lower <= _AGREE * upper < math.inf:
            return "both ends agree"
        if lower <= 0.0:
            return "an upper bound"
        name = "epsilon" if isinstance(self.question, EpsilonAt) else "delta"
        return f"an upper bound (the least {name} is at least {rounded_down(lower)})"

    def _repr_html_(self) -> str:
        """A small table, which notebooks show in place of the fields."""
        asked = isinstance(self.question, EpsilonAt)
        ends = f"[{rounded_down(self.answer.lower)}, {rounded_up(self.answer.upper)}]"
        if self.answer.upper == math.inf:
            least = self.answer.lower
            ends = "no finite epsilon" if least == math.inf else f"at least {rounded_down(least)}; no finite upper end"
        rows = {
            "epsilon": ends if asked else f"{self.epsilon.upper:.6g} (given)",
            "delta": f"{self.delta:.6g} (given)" if asked else ends,
            "of": self._run(),
            "for": self._neighbours(),
            "by": f"{self.method}; {self.relation.value} decides",
            "assuming": "; ".join(self.assumptions) or "nothing further",
            "computed": f"renyi {self.version}, {self.date.isoformat()}",
            **({} if self.certificate is None else {"certified": self.certificate}),
        }
        cells = "".join(f"<tr><th>{name}</th><td>{html.escape(text)}</td></tr>" for name, text in rows.items())
        return f"<table>{cells}</table>"

    def to_dict(self) -> dict[str, Any]:
        """The same for machines, with a checksum. An infinite number is the string "inf", because JSON has none."""
        document = self._document()
        return {**document, "sha256": checksum(document)}

    def _document(self) -> dict[str, Any]:
        asked = isinstance(self.question, EpsilonAt)
        ends = {"lower": as_json(self.answer.lower), "upper": as_json(self.answer.upper)}
        return {
            "format": FORMAT,
            "version": VERSION,
            "library": self.version,
            "date": self.date.isoformat(),
            "sentence": str(self),
            "question": "epsilon" if asked else "delta",
            "epsilon": ends if asked else as_json(self.epsilon.upper),
            "delta": self.delta if asked else ends,
            "unit": self.unit,
            "adjacency": self.adjacency.value,
            "method": self.method,
            "relation": self.relation.value,
            "order": None if self.order is None else as_json(self.order),
            "assumptions": list(self.assumptions),
            "references": list(self.references),
            "event": serial.document(self.event),
            **({} if self.certificate is None else {"certificate": self.certificate}),
        }

    def to_json(self) -> str:
        """The guarantee as a document to file: versioned, dated, with a checksum that shows whether it was altered."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> Guarantee:
        """The guarantee that ``to_json``, or a command with ``--json``, wrote.

        It is read, not computed again: ask ``renyi.guarantee`` of its event for that. Notes of a command are passed over.
        Raises ``MalformedEvent`` if the document was altered, cut off, or is of another version.
        """
        found = parsed(text)
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise MalformedEvent(f"a guarantee is a JSON object of format {FORMAT!r}; got {short(found)}.")
        if found.get("version") != VERSION or isinstance(found["version"], bool):
            raise MalformedEvent(
                f"this renyi reads guarantees of version {VERSION}; got version {short(found.get('version'))}. "
                "Use the release that wrote it, or a newer one."
            )
        document = {name: value for name, value in found.items() if name not in ("sha256", "notes")}
        if found.get("sha256") != checksum(document):
            raise MalformedEvent("this guarantee is not as it was written: its checksum does not fit its contents.")
        try:
            return cls._read(document)
        except PrivacyError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            # A checksum can be computed for any contents.
            raise MalformedEvent(f"this guarantee lacks a field or has a wrong one: {short(error)}.") from None

    @classmethod
    def _read(cls, document: dict[str, Any]) -> Guarantee:
        asked = document["question"] == "epsilon"
        ends = document["epsilon" if asked else "delta"]
        given = as_float(document["delta" if asked else "epsilon"])
        made = cls(
            question=EpsilonAt(given) if asked else DeltaAt(given),
            answer=Interval(as_float(ends["lower"]), as_float(ends["upper"])),
            adjacency=Adjacency(document["adjacency"]),
            event=serial.from_document(document["event"]),
            method=as_text(document["method"]),
            relation=Relation(document["relation"]),
            order=None if document["order"] is None else as_float(document["order"]),
            assumptions=tuple(map(as_text, document["assumptions"])),
            references=tuple(map(as_text, document["references"])),
            unit=as_text(document["unit"]),
            version=as_text(document["library"]),
            date=datetime.date.fromisoformat(as_text(document["date"])),
            certificate=as_text(document["certificate"]) if "certificate" in document else None,
        )
        if checksum(made._document()) != checksum(document):
            raise MalformedEvent(
                "the fields of this guarantee contradict each other: its sentence is not about its numbers."
            )
        return made


def guarantee_of(
    event: Event,
    question: Question,
    adjacency: Adjacency,
    answer: Interval,
    method: str,
    relation: Relation,
    order: float | None,
) -> Guarantee:
    """A guarantee with the assumptions and references of everything the event consists of."""
    parts = tuple(_parts(event))
    return Guarantee(
        question=question,
        answer=answer,
        adjacency=adjacency,
        event=event,
        method=method,
        relation=relation,
        order=order,
        assumptions=tuple(dict.fromkeys(text for part in parts for text in part.assumptions)),
        references=tuple(dict.fromkeys(text for part in parts for text in part.references)),
    )


def large_delta(delta: float, dataset_size: int) -> str | None:
    """What is to be said of a delta above 1/n for a dataset whose size is public; None of a smaller one."""
    if delta <= 1.0 / dataset_size:
        return None
    return (
        f"delta={delta:g} is above 1/n = {1.0 / dataset_size:g} for the declared dataset of {dataset_size} units: "
        "such a guarantee allows one of them to be published outright. Take a delta well below 1/n."
    )


def _parts(event: Event) -> Iterator[Mechanism | Sampling | Tuned]:
    match event:
        case Mechanism():
            yield event
        case Sampled(inner, sampling):
            yield sampling
            yield from _parts(inner)
        case Tuned(inner, _, _):
            yield event
            yield from _parts(inner)
        case Repeated(inner, _) | Grouped(inner, _):
            yield from _parts(inner)
        case Composed(events):
            for part in events:
                yield from _parts(part)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
