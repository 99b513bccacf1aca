"""Making a statement: the questions that are asked of a guarantee, an event or a run."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from renyi.accountants import Guarantee, gdp, guarantee, risk
from renyi.accountants.gdp import Gdp
from renyi.certificates.certificate import Certificate
from renyi.composing.question import EpsilonAt
from renyi.errors import InvalidInput, PrivacyError, UnsupportedError
from renyi.events.document import short
from renyi.events.event import Event
from renyi.laws.interval import Interval
from renyi.laws.relation import Adjacency
from renyi.report.asked import Accountable, Audited, Facts, facts
from renyi.report.items import is_close
from renyi.report.odds import Odds
from renyi.report.shuffling import shuffled
from renyi.report.statement import Ran, Statement
from renyi.signatures import taught

SHUFFLED = "shuffled"


_ONE_RECORD = (
    "what one {unit} contributes is what the event calls one record; a {unit} with several records is described by "
    "Grouped(event, size)"
)
"""What naming another unit than a record takes for granted."""


@taught
def statement(
    subject: Guarantee | Event | Accountable,
    *,
    delta: float | None = None,
    adjacency: Adjacency | None = None,
    unit: str | None = None,
    ran: Event | str | None = None,
    data_covered: str | None = None,
    data_not_covered: str | None = None,
    other_runs: str | None = None,
    clipping: str | None = None,
    certificate: Certificate | None = None,
    audit: Audited | None = None,
) -> Statement:
    """Everything that reviewers and registries ask for about a guarantee, an event at ``delta``, or a training run.

    ``ran`` says what ran: an event, or ``"shuffled"`` if the batches that were accounted for as Poisson samples came from
    shuffling the records every epoch. If that is not what was accounted for, the statement gives both numbers and warns.
    ``audit`` is one of ``renyi.training.audit`` or ``audit_run``, about the same plan. ``certificate`` is one of
    ``renyi.certify``: it is checked again, and the proved epsilon stands in the statement and its sentence.
    A training run draws its own batches and records it. ``unit`` names whose presence is hidden, if that is not a record. The
    texts are the author's; what is not given is said to be absent.

    >>> import renyi
    >>> run = renyi.Gaussian(1.1).on(renyi.Poisson(rate=256 / 60_000)) * 14_063
    >>> made = renyi.statement(run, delta=1e-5, data_covered="60,000 images of digits", ran=run)
    >>> made.items()[6].said[0]
    'Of 100 records outside the data an attacker accuses 1 wrongly, and of 100 inside it finds at most 4.02065 on average;
    blind guessing finds 1.'
    """
    found = facts(subject) if not isinstance(subject, (Guarantee, Event)) else None
    answer = _answer(subject, delta, adjacency)
    if unit is not None:
        alone = _ONE_RECORD.format(unit=_unit(unit, answer, found))
        answer = replace(answer, unit=unit, assumptions=(alone, *answer.assumptions))
    promised, accounted, how = _sampler(answer, ran, found)
    if certificate is not None:
        promised = promised.certified(_proof(certificate))
    private = found is None or found.private
    if found is not None and clipping is not None:
        raise InvalidInput("the run's plan says how gradients were clipped: leave clipping out.")
    return Statement(
        guarantee=promised,
        accounted=accounted,
        ran=how,
        gdp=_gdp(promised) if private else None,
        odds=_odds(promised) if private else None,
        private=private,
        data_covered=data_covered,
        data_not_covered=data_not_covered,
        other_runs=other_runs,
        clipping=clipping if found is None else found.clipping,
        record=None if found is None else found.record,
        certificate=promised.certificate,
        audit=_audit(audit, promised),
    )


def _proof(given: object) -> Certificate:
    """A certificate, which can be checked; a text cannot."""
    if not isinstance(given, Certificate):
        raise InvalidInput(
            f"certificate is one of renyi.certify(run, delta=...), so that it can be checked; got {short(given)}. From a file: "
            'certificate=renyi.certificates.Certificate.from_json(Path("made.json").read_text()).'
        )
    return given


def _audit(given: Audited | None, promised: Guarantee) -> str | None:
    """What an attack has shown, in words, if it was an attack on this claim."""
    if given is None:
        return None
    if not isinstance(given, Audited) or isinstance(given, type):
        raise InvalidInput(
            f"audit is one of renyi.training.audit(plan) or audit_run(...), so that what was attacked is known; got "
            f"{short(given)}. A file of renyi audit --out is read by renyi report --audit."
        )
    if (given.event.canonical(), given.adjacency) != (promised.event.canonical(), promised.adjacency):
        raise InvalidInput(
            "the audit is about another plan than this statement: audit the plan of this run, in all its steps, for the same "
            "neighbours."
        )
    return given.words()


def _answer(subject: object, delta: float | None, adjacency: Adjacency | None) -> Guarantee:
    if isinstance(subject, Event):
        if delta is None:
            raise InvalidInput("a statement about an event needs delta, such as statement(run, delta=1e-5).")
        return guarantee(subject, delta=delta, adjacency=adjacency or Adjacency.ADD_OR_REMOVE)
    if delta is not None or adjacency is not None:
        raise InvalidInput("delta and adjacency go with an event; a guarantee or a run has its own.")
    if isinstance(subject, Guarantee):
        return subject
    if not isinstance(subject, Accountable) or isinstance(subject, type):
        raise InvalidInput(
            "a statement is about a guarantee, an event with delta=..., or a run that can be asked for its guarantee(); got "
            f"{short(subject)}."
        )
    answer = subject.guarantee()
    if not isinstance(answer, Guarantee):
        raise InvalidInput(f"guarantee() of {short(subject)} returned {short(answer)}, not a renyi.Guarantee.")
    return answer


def _unit(unit: str, answer: Guarantee, found: Facts | None) -> str:
    if found is not None:
        raise InvalidInput(f"the run's plan says that its unit is {answer.unit!r}: leave unit out.")
    if not isinstance(unit, str) or not unit.strip() or len(unit) > 100:
        raise InvalidInput(f'unit says whom the guarantee protects, as a noun such as "person"; got {short(unit)}.')
    return unit


def _sampler(
    answer: Guarantee, ran: Event | str | None, found: Facts | None
) -> tuple[Guarantee, Guarantee | None, Ran]:
    """The guarantee of what ran, the one that was accounted for if that is another, and how it is known."""
    if found is not None:
        if ran is not None:
            raise InvalidInput("the run drew its own batches and its journal records how: leave ran out.")
        return answer, None, Ran.RECORDED
    if ran is None:
        return answer, None, Ran.NOT_STATED
    if ran == SHUFFLED:
        most, least = shuffled(answer.event)
        upper, lower = _asked(most, answer), _asked(least, answer)
        ends = Interval(min(lower.answer.lower, upper.answer.upper), upper.answer.upper)
        return replace(upper, answer=ends), answer, Ran.STATED
    if not isinstance(ran, Event):
        raise InvalidInput(f"ran is the event that ran, or {SHUFFLED!r}; got {short(ran)}.")
    if ran.canonical() == answer.event.canonical():
        return answer, None, Ran.STATED
    return _asked(ran, answer), answer, Ran.STATED


def _asked(event: Event, answer: Guarantee) -> Guarantee:
    """The same question about another event; of shuffled batches only the presence of a record can be asked for."""
    asked: dict[str, Any] = (
        {"delta": answer.delta} if isinstance(answer.question, EpsilonAt) else {"epsilon": answer.epsilon.upper}
    )
    try:
        found = guarantee(event, adjacency=answer.adjacency, **asked)
    except UnsupportedError:
        if answer.adjacency is not Adjacency.ADD_OR_REMOVE:
            raise
        # A record that leaves moves others into its place; one that is blanked out does not.
        found = guarantee(event, adjacency=Adjacency.ZERO_OUT, **asked)
    return replace(found, unit=answer.unit)


def _gdp(promised: Guarantee) -> Gdp | None:
    if not is_close(promised):
        return None
    try:
        found = gdp(promised.event, delta=min(promised.delta, 0.5), adjacency=promised.adjacency)
    except PrivacyError:  # no theorem, or too much work: the statement says that there is none
        return None
    return found if found.mu.upper < math.inf else None


def _odds(promised: Guarantee) -> Odds | None:
    if promised.epsilon.upper == math.inf:
        return None
    try:
        return Odds.of(risk(promised.event, adjacency=promised.adjacency))
    except PrivacyError:
        return None
