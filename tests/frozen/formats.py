"""Documents that were written once and must be readable for ever: events as JSON, and journals of training runs.

python -m tests.frozen.formats      writes them, unless they are there: what is frozen is not written anew
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from renyi import Adjacency, Composed, Event, Grouped, NotSerialisable, Tuned, UnsupportedError, guarantee
from renyi.accountants import Guarantee
from tests import examples

FOLDER = Path(__file__).parent / "formats"
EVENTS = FOLDER / "events.json"
JOURNALS = FOLDER / "journals.json"
DELTA = 1e-6


@dataclass(frozen=True, slots=True)
class Document:
    """An event as it was written, its notation, and what was promised for it at DELTA, if anything was."""

    text: str
    notation: str
    adjacency: str | None
    epsilon: tuple[float, float] | None


def events() -> Iterator[Event]:
    """Every mechanism, every sampling and every way of combining them, as far as JSON can hold them."""
    ours = [one for one in examples.MECHANISMS_USED if not one.name.startswith("test_")]
    yield from ours
    yield from (examples.Laplace(3.0).on(sampling) for sampling in examples.SAMPLINGS_USED)
    step = examples.EVENTS[-1]  # two releases on one draw
    yield step * 1000 + examples.Laplace(5.0) * 3
    yield Composed(())
    yield Grouped(step * 10, 3)
    yield from (Tuned(examples.Laplace(4.0) * 2, 10.0, shape) for shape in (1.0, 0.0, float("inf")))


def promised(event: Event) -> tuple[Adjacency, Guarantee] | None:
    """By the default accountant, for the first notion of neighbours that has a theorem."""
    for adjacency in Adjacency:
        try:
            return adjacency, guarantee(event, delta=DELTA, adjacency=adjacency)
        except UnsupportedError:
            continue
    return None


def document(event: Event) -> Document | None:
    """An event as it is written today; None where JSON cannot hold it."""
    try:
        text = event.to_json()
    except NotSerialisable:
        return None
    found = promised(event)
    if found is None:
        return Document(text, repr(event.canonical()), None, None)
    adjacency, answer = found
    return Document(text, repr(event.canonical()), adjacency.value, (answer.epsilon.lower, answer.epsilon.upper))


def journals() -> Iterator[tuple[str, Path]]:
    """Two training runs: one that went through, and one of persons that adapts its clip, was resumed, and was stopped."""
    from renyi import Poisson
    from renyi.training import AdaptiveClip, Plan, Run, Schedule
    from tests.training import support

    for name, changes in {
        "finished": {"noise_schedule": Schedule.pieces((2, 1.0), (4, 0.5))},
        "stopped": {"clip": AdaptiveClip(1.0, count_noise_multiplier=4.0), "unit": "person", "sampling": Poisson(0.1)},
    }.items():
        path = FOLDER / f"{name}.jsonl"
        made = support.run(FOLDER, name=path.name, **changes)
        declared = {"rows_are_units": made.plan.unit != "example"}
        for ticket in made.batches(support.dataset(), steps=6 if name == "finished" else 2, **declared):
            made.step(ticket)
        made.close()
        if name == "stopped":
            net = support.model()
            plan = Plan.from_json(made.plan.to_json())
            again = Run.resume(
                plan, net, support.torch.optim.SGD(net.parameters(), lr=0.1), support.losses, journal=path
            )
            for ticket in again.batches(support.dataset(), steps=2, **declared):
                again.step(ticket)
            again.stop(data_independent=True)
            again.close()
        yield name, path


def main() -> int:
    if FOLDER.exists():
        print("the documents are there already; they are frozen", file=sys.stderr)
        return 1
    FOLDER.mkdir()
    from renyi.training import replay

    rows = [one for event in events() if (one := document(event)) is not None]
    EVENTS.write_text(json.dumps([_fields(row) for row in rows], indent=1) + "\n", encoding="utf-8")
    records = {name: replay(path) for name, path in journals()}
    found = {
        name: {
            "steps": record.steps,
            "lines": record.lines,
            "head": record.head,
            "private": record.private,
            "event": record.event.to_json(),
            "epsilon": [record.guarantee().epsilon.lower, record.guarantee().epsilon.upper],
            # Their subjects: the wording may improve.
            "assumed": [text.partition(":")[0] for text in record.guarantee().assumptions],
        }
        for name, record in records.items()
    }
    JOURNALS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


def _fields(row: Document) -> dict[str, object]:
    return {"text": row.text, "notation": row.notation, "adjacency": row.adjacency, "epsilon": row.epsilon}


if __name__ == "__main__":
    sys.exit(main())
