"""``renyi ledger spend``: charge a release before its noise is drawn."""

from __future__ import annotations

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
    key: place.Key = None,
    ledger: place.Where = place.BUDGET_FILE,
    who: place.Who = None,
    why: place.Why = None,
) -> Report:
    """Charge a release to a budget, or refuse it (exit code 6); draw its noise only once it was charged.

    What is printed is the head of the ledger. Kept elsewhere, it shows whether the ledger was changed: see verify --head.

    Examples:

        renyi ledger spend --mechanism laplace:noise_multiplier=10 --why "counts by district" --key 2026-q1

        renyi ledger spend --noise-multiplier 1.1 --rate 256/60000 --steps 14063 --team vision
    """
    event, notes = run.event()
    with place.opened(ledger, who=who) as book:
        if whole_at is None:
            receipt = book.spend(event, dataset=dataset, team=team, purpose=purpose, part=part, key=key, why=why)
        else:
            receipt = book.book(
                event, delta=whole_at, dataset=dataset, team=team, purpose=purpose, part=part, key=key, why=why
            )
        status = book.status(receipt.dataset)
    said = "charged before, under this key" if receipt.replayed else "charged"
    messages = (*notes, f"{said}: entry {receipt.sequence} of {receipt.dataset}. {status.accounts[0].odometer}")
    data = {
        "dataset": receipt.dataset,
        "entry": receipt.sequence,
        "head": receipt.head,
        "key": receipt.key,
        "replayed": receipt.replayed,
        "notes": list(notes),
        "accounts": [spent.to_dict() for spent in status.accounts],
    }
    return Report((receipt.head,), messages, data)
