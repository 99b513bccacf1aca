"""An audit as it was filed: its counts are read, and everything that is said of them is computed again."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

from renyi import check
from renyi.errors import InvalidInput, PrivacyError
from renyi.events.document import as_text, parsed, short
from renyi.training.auditing.attack import Attack
from renyi.training.auditing.audit import DIFFERENCE, EPOCH, STEP, Audit
from renyi.training.auditing.document import FORMAT, VERSION, Stamp
from renyi.training.auditing.one_run import Guessed, OneRunAudit
from renyi.training.auditing.rates import Rates, confidence_of
from renyi.training.planning.plan import Plan

_WORD = re.compile(r"[0-9A-Za-z.+-]{1,64}")
"""A hash, a version, a date: no room for a sentence."""


def filed(text: str | bytes) -> Attack:
    """The audit that ``to_json`` wrote. Its words are not read but made anew, so that they say what its counts say."""
    found = parsed(text)
    if not isinstance(found, dict) or (found.get("format"), found.get("version")) != (FORMAT, VERSION):
        raise InvalidInput(f"this is not an audit of version {VERSION}, as renyi audit --out writes it.")
    try:
        return _read(found)
    except PrivacyError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidInput(f"this audit lacks a field or has a wrong one: {short(error)}.") from None


def _read(found: dict[str, Any]) -> Attack:
    plan, confidence = Plan.from_dict(found["plan"]), confidence_of(found["confidence"])
    booked = None if found["booked"] is None else _word(found["booked"])
    stamp = Stamp(**{field.name: _word(found["made"][field.name]) for field in fields(Stamp)})
    if found["kind"] == "trials":
        rates = tuple(_rates(one) for one in found["findings"])
        return Audit(plan, _some(rates), confidence, booked, stamp)
    if found["kind"] == "one-run":
        canaries = check.whole(1, canaries=found["canaries"])
        guesses = tuple(Guessed(*_part("right", one["right"], one["guesses"])) for one in found["guesses"])
        if any(one.guesses > canaries for one in guesses):
            raise InvalidInput(f"this audit counts more guesses than its {canaries:,} canaries.")
        return OneRunAudit(plan, canaries, _some(guesses), confidence, booked, stamp)
    raise InvalidInput(f"this audit is of a kind that is not known here: {short(found['kind'])}.")


def _rates(one: dict[str, Any]) -> Rates:
    absent, alarms = _part("false_alarms", one["false_alarms"], one["absent"])
    present, missed = _part("missed", one["missed"], one["present"])
    if one["statistic"] not in (STEP, DIFFERENCE, EPOCH):
        raise InvalidInput(f"this audit has a statistic that is not known here: {short(one['statistic'])}.")
    steps, threshold = check.whole(1, steps=one["steps"]), check.real(threshold=one["threshold"])
    return Rates(one["statistic"], steps, threshold, absent, alarms, present, missed)


def _part(name: str, part: object, whole: object) -> tuple[int, int]:
    """A number of trials or guesses, and how many of them were of a kind."""
    of, some = check.whole(1, trials=whole), check.count(**{name: part})
    if some > of:
        raise InvalidInput(f"this audit counts {some:,} {name} of {of:,}.")
    return of, some


def _some(counted: tuple[Any, ...]) -> tuple[Any, ...]:
    if not counted:
        raise InvalidInput("this audit has counted nothing.")
    return counted


def _word(value: object) -> str:
    if not _WORD.fullmatch(as_text(value)):
        raise InvalidInput(f"this audit has a text where a hash, a version or a date belongs: {short(value)}.")
    return str(value)
