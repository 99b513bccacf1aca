"""``renyi audit``: an attack on the release step of training."""

from __future__ import annotations

import importlib.util
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from renyi.cli import options
from renyi.errors import InvalidInput, PrivacyError
from renyi.laws.relation import Adjacency
from renyi.numerics.printing import rounded_down, rounded_up
from renyi.report import Report
from renyi.sampling.poisson.poisson import Poisson

if TYPE_CHECKING:
    from renyi.training import Plan

Delta = Annotated[
    float | None, typer.Option(parser=options.number, metavar="NUMBER", help="Probability of failure, e.g. 1e-5.")
]
Journal = Annotated[
    Path | None,
    typer.Option("--journal", help="The journal of a training run, whose plan is audited; it is only read."),
]
Trials = Annotated[
    int, typer.Option(parser=options.whole, metavar="INTEGER", help="Releases, half of them with a canary.")
]
Turns = Annotated[
    int,
    typer.Option("--epoch-trials", parser=options.whole, metavar="INTEGER", help="Trials of a whole epoch each, or 0."),
]
Confidence = Annotated[float, typer.Option(metavar="NUMBER", help="Of all that is said together.")]
Out = Annotated[
    Path | None, typer.Option("--out", help="A file for the whole audit as JSON, for renyi report --audit.")
]


def command(
    delta: Delta = None,
    noise_multiplier: options.NoiseMultiplier = None,
    rate: options.Rate = None,
    steps: options.Steps = None,
    journal: Journal = None,
    trials: Trials = 2_000,
    epochs: Turns = 0,
    confidence: Confidence = 0.99,
    out: Out = None,
    adjacency: Annotated[Adjacency | None, typer.Option(help="Which datasets count as neighbours.")] = None,
) -> Report:
    """Attack the release step of training on data that were made up; exit code 5 if the claim is refuted. Needs torch.

    Prints the epsilon that the attacker's errors correspond to within the claimed family of noise, and the claimed one.

    Examples:

        renyi audit --noise-multiplier 2 --rate 1/2 --steps 10 --delta 1e-5

        renyi audit --journal run.jsonl --trials 20000 --out audit.json
    """
    if importlib.util.find_spec("torch") is None:
        raise PrivacyError(
            "an audit runs the release step of training: pip install 'renyi[training]', in a clone '.[training]'"
        )
    from renyi.training import audit, replay

    described = (delta, noise_multiplier, rate, steps, adjacency)
    if journal is None:
        plan = _plan(*described)
    elif any(value is not None for value in described):
        raise InvalidInput("--journal holds the plan; give no other option that describes one.")
    else:
        plan = replay(journal).plan
    made = audit(plan, trials=trials, epochs=epochs, confidence=confidence)
    document = made.to_dict()
    if out is not None:
        try:
            out.write_text(made.to_json() + "\n", encoding="utf-8")
        except OSError as error:
            raise InvalidInput(f"cannot write {out}: {error.strerror or error}.") from None
    lines = (
        f"epsilon within the claimed family of noise\t{rounded_down(made.epsilon_within_family())}",
        f"epsilon claimed\t{rounded_up(made.claimed())}",
        f"refuted\t{'yes' if made.refuted else 'no'}",
    )
    return Report(lines, (made.words(),), document, promises_nothing=made.refuted)


def _plan(
    delta: float | None,
    noise: float | None,
    rate: Fraction | None,
    steps: int | None,
    adjacency: Adjacency | None,
) -> Plan:
    """A plan with this release step. Its clip bound is 1, and its batch too: neither changes what is claimed."""
    from renyi.training import Plan

    if noise is None or delta is None:
        raise InvalidInput(
            "give --noise-multiplier and --delta, with --rate and --steps for a sampled run; or --journal."
        )
    drawn = options.schedule(rate, steps, None, None, None)
    return Plan(
        sampling=drawn.sampling if isinstance(drawn.sampling, Poisson) else Poisson(1.0),
        steps=drawn.steps,
        clip=1.0,
        expected_batch=1.0,
        noise_multiplier=noise,
        delta=delta,
        adjacency=adjacency or Adjacency.ADD_OR_REMOVE,
    )
