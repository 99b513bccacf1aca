"""``renyi ledger what-if``: would a release be admitted, and how many like it?"""

from __future__ import annotations

import math

from renyi.cli import options
from renyi.cli.ledger import place
from renyi.report import Report


def command(
    run: options.Run = options.NO_RUN,
    whole_at: place.WholeAt = None,
    dataset: place.DatasetName = None,
    team: place.Team = None,
    purpose: place.Purpose = None,
    part: place.Part = None,
    ledger: place.Where = place.BUDGET_FILE,
) -> Report:
    """How many more releases like this one the budget admits now; nothing is written.

    Examples:

        renyi ledger what-if --mechanism laplace:noise_multiplier=10

        renyi ledger what-if --noise-multiplier 1.1 --rate 256/60000 --steps 1 --team vision

        renyi ledger what-if --noise-multiplier 1.1 --rate 256/60000 --steps 14063 --whole-at 1e-8
    """
    event, notes = run.event()
    with place.opened(ledger) as book:
        found = book.what_if(event, delta=whole_at, dataset=dataset, team=team, purpose=purpose, part=part)
    left = "inf" if found.left == math.inf else str(found.left)
    said = "It costs nothing." if left == "inf" else f"About {found.left:,} more releases like this one fit."
    data = {"admitted": found.admitted, "left": left if left == "inf" else found.left, "reason": found.reason}
    return Report((left,), (*notes, found.reason or said), {**data, "notes": list(notes)})
