"""``renyi ledger what-if``: would a release be admitted, and how many like it?"""

from __future__ import annotations

import math

from renyi.cli import options
from renyi.cli.ledger import place
from renyi.report import Report


def command(
    noise_multiplier: options.NoiseMultiplier = None,
    mechanism: options.MechanismText = None,
    event: options.EventFile = None,
    rate: options.Rate = None,
    sampling: options.SamplingText = None,
    steps: options.Steps = None,
    epochs: options.Epochs = None,
    batch_size: options.BatchSize = None,
    dataset_size: options.DatasetSize = None,
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
    """
    run, notes = options.event(
        noise_multiplier, mechanism, event, rate, steps, epochs, batch_size, dataset_size, sampling
    )
    with place.opened(ledger) as book:
        found = book.what_if(run, dataset=dataset, team=team, purpose=purpose, part=part)
    left = "inf" if found.left == math.inf else str(found.left)
    said = "It costs nothing." if left == "inf" else f"About {found.left:,} more releases like this one fit."
    data = {"admitted": found.admitted, "left": left if left == "inf" else found.left, "reason": found.reason}
    return Report((left,), (*notes, found.reason or said), {**data, "notes": list(notes)})
