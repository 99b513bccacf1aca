"""Looks at honest models, none of which may raise an alarm, and at planted couplings, nearly all of which must be caught.

    make false-alarms                                                  the whole campaign; writes docs/false-alarms.json
    python -m tests.training.false_alarm_campaign --looks 300 --planted 100         a small one, which writes nothing

Every look has fresh weights and a fresh batch. A planted coupling is scaled until it moves some unit's gradient by the wanted
share, from 1 % up, when the other half of the batch is exchanged. The tolerances are those of every run. A campaign that is
stopped goes on where it was, if src/renyi/training is what it was: results are bound to the hash of its tree.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import math
import platform
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch.utils._pytree import tree_map

from renyi.training.checks.comparison import Comparison, Setting
from renyi.training.checks.look import Look
from renyi.training.checks.looks import FINDINGS
from renyi.training.clipping.clipper import Clipper
from tests.soundness.journal import CHANGED, Chunk, Journal, tree_of_source
from tests.training import families
from tests.training.families import COUPLINGS, FAMILIES, PRECISIONS, UNITS

RESULT = Path(__file__).resolve().parents[2] / "docs" / "false-alarms.json"
TRAINING = "src/renyi/training"
SEED = 20261118
LOOKS, PLANTED = 10_000, 2_000
CHUNK = 50
WEAKEST, STRONGEST = 0.01, 0.3
"""Shares of a unit's gradient that the planted couplings move."""


def honest_look(seed: int) -> tuple[str, str, str | None]:
    """Family, precision, and the alarm that a look at an honest model raised, if any."""
    names = [*FAMILIES, "padded"]
    family, precision = names[seed % len(names)], PRECISIONS[seed // len(names) % len(PRECISIONS)]
    if family == "padded":
        model, ticket = padded(precision, seed)
        return (
            family,
            precision,
            padding_alarm(model, families.over_padding(0.0, autocast=precision == "autocast"), ticket, seed),
        )
    case = families.case(family, precision, seed)
    return family, precision, alarm(case.model, case.losses, case.fresh(), seed)


def alarm(model: Any, losses: Any, batch: Any, seed: int) -> str | None:
    look = Look(model, losses, random.Random(seed))
    try:
        Clipper(model, losses).looked_at_by(look, batch, UNITS)
    except FINDINGS as error:
        return f"{type(error).__name__}: {error}"
    return None


def planted_look(seed: int) -> tuple[str, str, float, bool]:
    """Coupling, precision, the share of a unit's gradient that it moves, and whether a look caught it."""
    choice = random.Random(f"strength {seed}")
    wanted = math.exp(choice.uniform(math.log(WEAKEST), math.log(STRONGEST)))
    kinds = [*COUPLINGS, "padding"]
    kind, precision = kinds[seed % len(kinds)], PRECISIONS[seed // len(kinds) % len(PRECISIONS)]
    if kind == "padding":
        return planted_padding(seed, wanted)
    case = families.case(choice.choice(list(FAMILIES)), precision, seed)
    while True:  # until the exchanged half happens to move some unit by as much as the weakest coupling
        batch, other = case.fresh(), case.fresh()
        strength = 0.1 * wanted
        for _ in range(5):  # nearly linear in the strength, so this settles soon
            losses = families.planted(case.losses, kind, strength)
            with torch.random.fork_rng():
                moved = movement(case.model, losses, batch, other)
            if moved >= WEAKEST and 0.8 * wanted <= moved <= 1.5 * wanted:
                break
            if moved < 1e-6:
                break
            strength = min(strength * 1.1 * wanted / moved, 10.0)
        if moved >= WEAKEST:
            return kind.__name__, precision, moved, alarm(case.model, losses, batch, seed) is not None


def movement(model: Any, losses: Any, batch: Any, other: Any) -> float:
    """The largest share by which a unit's gradient moves in float64 when the other half of the batch is exchanged."""
    comparison = Comparison(model, losses, random.Random(0))
    half = UNITS // 2
    exchanged = tree_map(lambda old, new: torch.cat([old[:half], new[half:]]), batch, other)
    moved = 0.0
    for unit in range(half):
        one, two = (
            comparison.run(Setting(given, UNITS, (unit,), (1.0,)), 0, wide=True).gradient
            for given in (batch, exchanged)
        )
        assert one is not None
        assert two is not None
        apart = torch.stack([(a - b).double().norm() for a, b in zip(one, two, strict=True)]).norm()
        whole = torch.stack([a.double().norm() for a in one]).norm()
        moved = max(moved, float(apart / whole))
    return moved


def planted_padding(seed: int, wanted: float) -> tuple[str, str, float, bool]:
    """Means that go over padding: the share is that of the padding's weight."""
    precision = PRECISIONS[seed // 7 % len(PRECISIONS)]
    model, ticket = padded(precision, seed)
    losses = families.over_padding(wanted, autocast=precision == "autocast")
    return "padding", precision, wanted, padding_alarm(model, losses, ticket, seed) is not None


def padded(precision: str, seed: int) -> tuple[Any, Any]:
    torch.manual_seed(seed)
    model, ticket = families.per_token().train(), families.padded_ticket()
    return model.to(torch.bfloat16) if precision == "bfloat16" else model, ticket


def padding_alarm(model: Any, losses: Any, ticket: Any, seed: int) -> str | None:
    try:
        Look(model, losses, random.Random(seed)).at_padding(ticket)
    except FINDINGS as error:
        return str(error)
    return None


def run(what: str, count: int, journal: Journal | None, tree: str) -> Iterator[tuple[Any, ...]]:
    """The rows of this many looks; those that this tree has had already are taken from the journal."""
    look = honest_look if what == "honest" else planted_look
    done = {chunk.task: chunk.rows for chunk in journal or () if chunk.tree == tree}
    for start in range(0, count, CHUNK):
        task = (what, start, min(CHUNK, count - start))
        if task not in done:
            done[task] = [look(SEED + start + number) for number in range(task[2])]
            if journal is not None:
                journal.add(Chunk(task, tree, done[task]))
            print(f"{what}: {start + task[2]} of {count}", flush=True)
        yield from map(tuple, done[task])


def summary(honest: list[tuple[Any, ...]], planted: list[tuple[Any, ...]]) -> dict[str, Any]:
    caught = [row for row in planted if row[3]]
    return {
        "looks": len(honest),
        "alarms": sum(row[2] is not None for row in honest),
        "what they said": sorted({f"{row[0]}, {row[1]}: {row[2]}" for row in honest if row[2] is not None}),
        "looks by family": dict(Counter(row[0] for row in honest)),
        "looks by precision": dict(Counter(row[1] for row in honest)),
        "planted": len(planted),
        "caught": len(caught),
        "weakest planted": min((row[2] for row in planted), default=None),
        "planted and caught by kind": {
            kind: [sum(row[0] == kind for row in planted), sum(row[0] == kind for row in caught)]
            for kind in sorted({row[0] for row in planted})
        },
        "missed": [row[:3] for row in planted if not row[3]],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--looks", type=int, default=LOOKS)
    parser.add_argument("--planted", type=int, default=PLANTED)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    whole = (arguments.looks, arguments.planted) == (LOOKS, PLANTED)
    tree = tree_of_source(TRAINING)
    if whole and tree.endswith(CHANGED):
        parser.error(f"{TRAINING} differs from what is committed: what is found would belong to no commit.")
    journal = Journal.of("false-alarms", SEED) if whole else None
    started = time.process_time()
    found = summary(
        list(run("honest", arguments.looks, journal, tree)), list(run("planted", arguments.planted, journal, tree))
    )
    print(json.dumps(found, indent=2))
    print(f"{time.process_time() - started:.0f} s of processor time")
    if whole:
        versions = {name: importlib.metadata.version(name) for name in ("torch", "transformers", "peft")}
        document = {
            "tree of src/renyi/training": tree,
            "seed": SEED,
            "python": platform.python_version(),
            **versions,
            **found,
        }
        RESULT.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
