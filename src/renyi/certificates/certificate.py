"""A certificate: the claim, and the few numbers that choose its proof. It holds no results: the checker computes them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, fields
from importlib import import_module
from typing import Any

from renyi.errors import InvalidInput, MalformedEvent, PrivacyError
from renyi.events import serial
from renyi.events.document import parsed, short
from renyi.events.event import Event
from renyi.events.words import described
from renyi.laws.relation import Adjacency, Relation
from renyi.numerics.printing import rounded_up

FORMAT = "renyi-certificate"
VERSION = 1


class CertificateRefused(InvalidInput):
    """A certificate that proves nothing, and the reason."""


@dataclass(frozen=True, slots=True)
class ByContour:
    """The tight route: a sum along the line of real part ``tilt``, with ``nodes`` of distance ``step`` to either side."""

    tilt: float
    step: float
    nodes: int
    blur: float
    """The variance of a normal release that is composed with the run."""

    route = "contour"

    def words(self) -> str:
        """What proves the claim, in words."""
        return f"a line of {self.nodes:,} nodes"


@dataclass(frozen=True, slots=True)
class ByOrder:
    """The Renyi route: the divergence of one order, and the two ratios of its conversion, as logarithms (None: ratio 0)."""

    order: float
    low: float | None
    high: float

    route = "renyi"

    def words(self) -> str:
        """What proves the claim, in words."""
        return f"the Renyi divergence of order {self.order:.6g}"


ROUTES: dict[str, type[ByContour] | type[ByOrder]] = {one.route: one for one in (ByContour, ByOrder)}


@dataclass(frozen=True, slots=True)
class Certificate:
    """A claim that ``event`` is (``epsilon``, ``delta``)-differentially private, with a proof for each relation.

    ``verify`` runs the checker. Reading one from JSON does not: a claim is a claim until it is checked.
    """

    event: Event
    adjacency: Adjacency
    delta: float
    epsilon: float
    proofs: tuple[tuple[Relation, ByContour | ByOrder], ...]

    def __str__(self) -> str:
        how = "; ".join(f"{relation.value}: {proof.words()}" for relation, proof in self.proofs)
        return (
            f"{described(self.event)}: epsilon {self.epsilon!r} at delta {self.delta!r} for {self.adjacency.value} neighbours, "
            f"by {how}"
        )

    def words(self) -> str:
        """What is proved, and by which file."""
        tight = "" if self.route == "contour" else ", by one Renyi order, which is not the closest bound"
        return (
            f"epsilon {rounded_up(self.epsilon)} at delta {rounded_up(self.delta)} is proved in ball arithmetic{tight}; "
            f"renyi verify checks the file, whose SHA-256 is {self.digest}"
        )

    @property
    def digest(self) -> str:
        """The SHA-256 of the file, as ``sha256sum`` prints it."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    @property
    def route(self) -> str:
        """``contour``, or ``renyi`` if that proves one of the relations."""
        return "renyi" if any(isinstance(proof, ByOrder) for _, proof in self.proofs) else "contour"

    def to_dict(self) -> dict[str, Any]:
        """The certificate as JSON values."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "event": serial.document(self.event),
            "adjacency": self.adjacency.value,
            "delta": self.delta,
            "epsilon": self.epsilon,
            "relations": {relation.value: {"route": proof.route, **asdict(proof)} for relation, proof in self.proofs},
        }

    def to_json(self) -> str:
        """The whole file that ``renyi verify``, and the checker alone, read; it ends with a line break."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Certificate:
        """The certificate that ``to_json`` wrote, not checked; raises ``MalformedEvent`` if it is not one."""
        found = parsed(text)
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise MalformedEvent(f"a certificate is a JSON object of format {FORMAT!r}; got {short(found)}.")
        if found.get("version") != VERSION or isinstance(found["version"], bool):
            raise MalformedEvent(
                f"this renyi reads certificates of version {VERSION}; got version {short(found.get('version'))}. "
                "Use the release that wrote it, or a newer one."
            )
        try:
            made = cls(
                serial.from_document(found["event"]),
                Adjacency(found["adjacency"]),
                _number(found["delta"]),
                _number(found["epsilon"]),
                tuple((Relation(name), _proof(values)) for name, values in found["relations"].items()),
            )
        except PrivacyError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise MalformedEvent(f"this certificate lacks a field or has a wrong one: {short(error)}.") from None
        if json.loads(made.to_json()) != found:
            raise MalformedEvent("this certificate has fields that none has, or its event is not in canonical form.")
        return made

    def verify(self, bits: int = 128) -> None:
        """Check the proof, in balls of so many bits; raises ``CertificateRefused`` if it is none."""
        verified(self.to_json(), bits)


def verified(text: str | bytes, bits: int = 128) -> Certificate:
    """The certificate in a text, after the checker has accepted it; raises ``CertificateRefused``."""
    if isinstance(bits, bool) or not isinstance(bits, int) or not 64 <= bits <= 4096:
        raise InvalidInput(f"bits must be an integer from 64 to 4096; got {short(bits)}.")
    checker = loaded_checker()
    try:
        checker.verify(text, bits)
    except checker.Refused as refusal:
        raise CertificateRefused(f"the certificate is refused: {refusal}.") from None
    return Certificate.from_json(text)


def loaded_checker() -> Any:
    """The module of the checker, which needs python-flint."""
    try:
        return import_module("renyi.certificates.checker")
    except ModuleNotFoundError as error:
        if error.name != "flint":
            raise
        raise PrivacyError(
            "certificates need python-flint: pip install 'renyi[certify]', in a clone '.[certify]'."
        ) from None


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput(f"a number is wanted; got {short(value)}.")
    return value


def _proof(values: dict[str, Any]) -> ByContour | ByOrder:
    route = ROUTES[values["route"]]
    given = {name: value for name, value in values.items() if name != "route"}
    if given.keys() != {field.name for field in fields(route)}:
        raise InvalidInput(f"a proof by the route {route.route} has other fields; got {short(sorted(given))}.")
    return route(**{name: value if value is None else _number(value) for name, value in given.items()})  # type: ignore[arg-type]
