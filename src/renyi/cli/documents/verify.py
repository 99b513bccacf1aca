"""``renyi verify``: is a certificate a proof?"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from renyi.accountants.guarantee import FORMAT as GUARANTEE
from renyi.certificates.certificate import CertificateRefused, verified
from renyi.cli import options
from renyi.errors import InvalidInput, MalformedEvent
from renyi.events.document import parsed
from renyi.events.limits import MOST_CHARACTERS
from renyi.events.serial import FORMAT as EVENT
from renyi.report import Report
from renyi.report.statement import FORMAT as STATEMENT

_OTHERS: dict[str, str] = {STATEMENT: "a statement", GUARANTEE: "a guarantee", EVENT: "an event"}

File = Annotated[Path, typer.Argument(metavar="FILE", help="The certificate; - reads standard input.")]
Bits = Annotated[int, typer.Option("--bits", parser=options.whole, metavar="INTEGER", help="Precision of the balls.")]


def command(file: File, bits: Bits = 128) -> Report:
    """Check a certificate from the file alone, in ball arithmetic; exit code 9 if it is refused. Needs python-flint.

    The checker is one file that needs nothing else of this library: docs/certificates.md shows how to run it alone.

    Examples:

        renyi verify laplace.json

        renyi verify laplace.json --bits 256
    """
    content = _read(file)
    _expect_certificate(content)
    made = verified(content, bits)
    # Words round; the event as the file has it does not.
    event = json.dumps(made.to_dict()["event"]["event"])
    known_by = f"The SHA-256 of the file is {hashlib.sha256(content).hexdigest()}"
    return Report((repr(made.epsilon),), (f"Proved: {made}", f"The event is {event}", known_by), made.to_dict())


def _expect_certificate(text: bytes) -> None:
    """Refuse another document of ours by its name; whatever else comes is for the checker."""
    try:
        found = parsed(text)
    except MalformedEvent:
        return
    other = _OTHERS.get(str(found.get("format"))) if isinstance(found, dict) else None
    if other is not None:
        raise CertificateRefused(f"this is {other} and no certificate: renyi certify --out makes one of the same run.")


def _read(path: Path) -> bytes:
    """The bytes of a file, or enough of them to show that it is too large."""
    try:
        if str(path) == "-":
            return sys.stdin.buffer.read(MOST_CHARACTERS + 1)
        with path.open("rb") as file:
            return file.read(MOST_CHARACTERS + 1)
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror or error}.") from None
