"""``renyi ledger allot``: a share of the budget for a team or a purpose."""

from __future__ import annotations

from typing import Annotated

import typer

from renyi.cli.ledger import place
from renyi.report import Report

Share = Annotated[str, typer.Argument(help="The share, such as 0.25 or 1/4.")]
FromTeam = Annotated[str | None, typer.Option("--from-team", help="The team whose share the piece is taken from.")]
FromPurpose = Annotated[str | None, typer.Option("--from-purpose", help="The purpose whose share it is taken from.")]


def command(
    share: Share,
    team: place.Team = None,
    purpose: place.Purpose = None,
    from_team: FromTeam = None,
    from_purpose: FromPurpose = None,
    dataset: place.DatasetName = None,
    ledger: place.Where = place.BUDGET_FILE,
    who: place.Who = None,
    why: place.Why = None,
) -> Report:
    """Let a team or a purpose use at most a share of the budget; with --from-team, move a piece of that team's share to it.

    To receive a piece it needs a share, which may be 0.

    Examples:

        renyi ledger allot 0.25 --team vision

        renyi ledger allot 0 --team speech

        renyi ledger allot 0.05 --from-team vision --team speech
    """
    with place.opened(ledger, who=who) as book:
        if from_team is None and from_purpose is None:
            receipt = book.allot(share, team=team, purpose=purpose, dataset=dataset, why=why)
        else:
            receipt = book.transfer(
                share,
                from_team=from_team,
                from_purpose=from_purpose,
                team=team,
                purpose=purpose,
                dataset=dataset,
                why=why,
            )
        shares = {each.account: str(each.share) for each in book.status(receipt.dataset).accounts}
    lines = tuple(f"{account} {share}" for account, share in shares.items())
    return Report(lines, (), {"head": receipt.head, "shares": shares})
