"""``renyi report``: a statement that can be filed."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from renyi.accountants.guarantee import FORMAT as GUARANTEE
from renyi.accountants.guarantee import Guarantee
from renyi.certificates.certificate import Certificate
from renyi.cli import options
from renyi.errors import InvalidInput, PrivacyError
from renyi.events import Event, from_json
from renyi.events.document import parsed
from renyi.events.limits import MOST_CHARACTERS
from renyi.laws.relation import Adjacency
from renyi.report import Report, Statement, statement
from renyi.report.asked import Audited
from renyi.report.stating import SHUFFLED
from renyi.sampling.shuffled import Shuffled


class Form(StrEnum):
    """The forms of a statement."""

    SENTENCE = "sentence"
    TEXT = "text"
    MARKDOWN = "markdown"
    HTML = "html"
    JSON = "json"
    YAML = "yaml"
    MODEL_CARD = "model-card"


WRITTEN: dict[Form, Callable[[Statement], str]] = {
    Form.SENTENCE: str,
    Form.TEXT: Statement.to_text,
    Form.MARKDOWN: Statement.to_markdown,
    Form.HTML: Statement.to_html,
    Form.JSON: Statement.to_json,
    Form.YAML: Statement.to_yaml,
    Form.MODEL_CARD: Statement.to_model_card,
}

SUFFIXES: dict[str, tuple[Form, ...]] = {
    ".txt": (Form.TEXT, Form.SENTENCE),
    ".md": (Form.MARKDOWN, Form.MODEL_CARD),
    ".html": (Form.HTML,),
    ".htm": (Form.HTML,),
    ".json": (Form.JSON,),
    ".yaml": (Form.YAML,),
    ".yml": (Form.YAML,),
}
"""The forms that a file of this name may hold; the first is written if none is asked for."""

Delta = Annotated[
    float | None,
    typer.Option(parser=options.number, metavar="NUMBER", help="Probability of failure of an event, e.g. 1e-5."),
]
FormOption = Annotated[
    Form | None,
    typer.Option(
        "--form",
        help="yaml: for the public registry of deployments; html: one page with plots. By default that of --out, or text.",
    ),
]
Out = Annotated[Path | None, typer.Option("--out", help="The file to write; without it, standard output.")]
Journal = Annotated[Path | None, typer.Option("--journal", help="The journal of a training run, instead of an event.")]
Filed = Annotated[
    Path | None,
    typer.Option("--filed", help="A statement or guarantee that was filed as JSON: it is read, not computed again."),
]
Ran = Annotated[
    str | None,
    typer.Option(
        "--ran", help="What ran, if not what is accounted for: 'shuffled' for shuffled batches, or an event as JSON."
    ),
]
AuditFile = Annotated[
    Path | None, typer.Option("--audit", help="An audit of this run, as renyi audit --out wrote it. Needs torch.")
]
CertificateFile = Annotated[
    Path | None,
    typer.Option("--certificate", help="A certificate of this run, as renyi certify --out wrote it: it is checked."),
]
Unit = Annotated[str | None, typer.Option("--unit", help="Whose presence is hidden: record, person, ...")]
Covered = Annotated[str | None, typer.Option("--data-covered", help="Which data the statement is about, in words.")]
NotCovered = Annotated[str | None, typer.Option("--data-not-covered", help="Which data it is not about, in words.")]
OtherRuns = Annotated[str | None, typer.Option("--other-runs", help="What else was released from the data, in words.")]
Clipping = Annotated[str | None, typer.Option("--clipping", help="How contributions were bounded, in words.")]


def command(
    delta: Delta = None,
    form: FormOption = None,
    out: Out = None,
    run: options.Run = options.NO_RUN,
    journal: Journal = None,
    filed: Filed = None,
    adjacency: Annotated[Adjacency | None, typer.Option(help="Which datasets count as neighbours.")] = None,
    ran: Ran = None,
    unit: Unit = None,
    data_covered: Covered = None,
    data_not_covered: NotCovered = None,
    other_runs: OtherRuns = None,
    clipping: Clipping = None,
    audit: AuditFile = None,
    certificate: CertificateFile = None,
) -> Report:
    """Everything that reviewers and registries ask for about a run, as a document that can be filed.

    Examples:

        renyi report --noise-multiplier 1.1 --rate 256/60000 --steps 14063 --delta 1e-5

        renyi report --noise-multiplier 1.1 --rate 256/60000 --steps 14063 --delta 1e-5 --ran shuffled --form sentence

        renyi report --mechanism laplace:noise_multiplier=10 --delta 1e-6 --unit person --form yaml

        renyi report --journal run.jsonl --out statement.html
    """
    form = _form(form, out)
    texts: dict[str, Any] = {
        "unit": unit,
        "ran": _ran(ran),
        "data_covered": data_covered,
        "data_not_covered": data_not_covered,
        "other_runs": other_runs,
        "clipping": clipping,
        "audit": None if audit is None else _audit(audit),
        "certificate": None if certificate is None else Certificate.from_json(_read(certificate)),
    }
    notes: tuple[str, ...] = ()
    if journal is not None:
        _expect_alone("--journal", (*run.given, delta, adjacency, filed))
        made = _of_journal(journal, texts)
    elif filed is not None:
        _expect_alone("--filed", (*run.given, delta, adjacency))
        made = _of_file(filed, texts)
    else:
        event, notes = run.event()
        if ran == SHUFFLED:
            texts["ran"] = _shuffled(run)
        made = statement(event, delta=delta, adjacency=adjacency, **texts)
        notes = (*notes, *options.remarks(made.guarantee.delta, run.dataset_size))
    nothing = made.guarantee.epsilon.upper == math.inf
    text = WRITTEN[form](made)
    if out is None:
        warnings = () if form is Form.SENTENCE else made.warnings()
        return Report((text.rstrip("\n"),), (*notes, *warnings), made.to_dict(), promises_nothing=nothing)
    try:
        out.write_text(text if text.endswith("\n") else f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"cannot write {out}: {error.strerror or error}.") from None
    return Report((str(out),), (*notes, str(made)), made.to_dict(), promises_nothing=nothing)


def _form(asked: Form | None, out: Path | None) -> Form:
    """The form that was asked for, or that of the file's suffix; the two must not contradict each other."""
    if out is None or not out.suffix:
        return asked or Form.TEXT
    fitting = SUFFIXES.get(out.suffix.lower(), ())
    if fitting and (asked is None or asked in fitting):
        return asked or fitting[0]
    known = ", ".join(f"{suffix} ({' or '.join(forms)})" for suffix, forms in SUFFIXES.items())
    wrong = (
        f"--form {asked} is not what {out.name} would hold" if asked and fitting else f"{out.suffix!r} names no form"
    )
    raise InvalidInput(f"{wrong}. Possible suffixes of --out: {known}; without a suffix any --form, by default text.")


def _expect_alone(option: str, others: tuple[object, ...]) -> None:
    if any(other is not None for other in others):
        raise InvalidInput(f"{option} holds the whole run with its delta; give no other option that describes one.")


def _of_journal(path: Path, texts: dict[str, Any]) -> Statement:
    if importlib.util.find_spec("torch") is None:
        raise PrivacyError(
            "reading the journal of a training run needs torch: pip install 'renyi[training]', in a clone '.[training]'"
        )
    from renyi.training import replay

    return statement(replay(path), **texts)


def _of_file(path: Path, texts: dict[str, Any]) -> Statement:
    text = _read(path)
    values = parsed(text)
    if isinstance(values, dict) and values.get("format") == GUARANTEE:
        return statement(Guarantee.from_json(text), **texts)
    if any(value is not None for value in texts.values()):
        raise InvalidInput("a statement that was filed is not added to: give --form and --out alone beside it.")
    return Statement.from_json(text)


def _audit(path: Path) -> Audited:
    if importlib.util.find_spec("torch") is None:
        raise PrivacyError(
            "an audit is about a training plan, and reading one needs torch: pip install 'renyi[training]', "
            "in a clone '.[training]'"
        )
    from renyi.training.auditing.filed import filed

    return filed(_read(path))


def _shuffled(run: options.Run) -> Event | str:
    """The epochs of the options on shuffled batches; without whole epochs they are found from the rate and the steps."""
    batch, dataset, epochs = run.batch_size, run.dataset_size, run.epochs
    if batch is None or dataset is None or not epochs or epochs.denominator > 1 or batch == dataset:
        return SHUFFLED
    batches, count = options.in_epochs(batch, dataset, epochs)
    return options.one_release(run.noise_multiplier, run.mechanism).on(Shuffled(batches)) * count


def _ran(text: str | None) -> Event | str | None:
    return text if text is None or text == SHUFFLED else from_json(_read(Path(text)))


def _read(path: Path) -> bytes:
    """The bytes of a file, or enough of them to show that it is too large."""
    try:
        with path.open("rb") as file:
            return file.read(MOST_CHARACTERS + 1)
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror or error}.") from None
