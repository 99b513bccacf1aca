"""``renyi ledger plot``: the budget, entry by entry."""

from __future__ import annotations

from renyi.cli.documents.plot import Out
from renyi.cli.ledger import place
from renyi.plots.backend import SIZE, house_style, own_figure
from renyi.plots.budget import budget_over_time
from renyi.plots.drawing import caption_of
from renyi.plots.saving import checked, save
from renyi.report import Report


def command(out: Out, dataset: place.DatasetName = None, ledger: place.Where = place.BUDGET_FILE) -> Report:
    """Plot what was spent of a budget, by the dataset and by every team and purpose.

    Examples:

        renyi ledger plot --out budget.png
    """
    target = checked(out)
    with place.opened(ledger) as book:
        with house_style():
            ax = own_figure(*SIZE).add_subplot()
        budget_over_time(book, dataset=dataset, ax=ax)
    save(ax, target)
    caption = caption_of(ax)
    return Report((str(target),), (caption,), {"file": str(target), "caption": caption})
