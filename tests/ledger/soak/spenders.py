"""Many processes that spend from one budget at once: the sum is exact, the budget holds, nobody starves."""

from __future__ import annotations

import statistics
import time

from renyi import Filter, Gaussian
from renyi.ledger import Exhausted, Ledger
from tests.ledger.soak.processes import forked, result_of

EVENT = Gaussian(400.0)
BUDGET = Filter(epsilon=1.0, delta=1e-6)


def budget_for(releases):
    """Noise with which a few more of these events are asked for than the budget admits, and the number that it admits."""
    low, high = 1.0, 1e6
    for _ in range(60):
        middle = (low * high) ** 0.5
        fits = BUDGET.left(BUDGET.nothing, Gaussian(middle)) >= releases
        low, high = (low, middle) if fits else (middle, high)
    event = Gaussian(low)
    return event, BUDGET.left(BUDGET.nothing, event)


def spend(where, event, process, spends):
    """One process: keys that were acknowledged, refusals, seconds of every spend, and seconds in all."""
    began = time.monotonic()
    acknowledged, refused, seconds = [], 0, []
    with Ledger.open(where, who=f"process {process}") as ledger:
        for number in range(spends):
            started = time.monotonic()
            try:
                acknowledged.append(ledger.spend(event, dataset="census", key=f"{process}-{number}").key)
            except Exhausted:
                refused += 1
            seconds.append(time.monotonic() - started)
    return {"keys": acknowledged, "refused": refused, "seconds": seconds, "all": time.monotonic() - began}


def trial(where, processes, spends):
    """Run the processes, and hold the ledger against what they were told."""
    event, admitted = budget_for(int(0.9 * processes * spends))
    with Ledger.open(where) as ledger:
        ledger.create("census", BUDGET)
    children = [forked(lambda process=process: spend(where, event, process, spends)) for process in range(processes)]
    results = [result_of(*child) for child in children]
    assert None not in results, "a process failed"
    keys = {key for result in results for key in result["keys"]}
    refused = sum(result["refused"] for result in results)
    with Ledger.open(where) as ledger:
        ledger.verify()
        status = ledger.status()
    seconds = sorted(second for result in results for second in result["seconds"])
    totals = sorted(result["all"] for result in results)
    return {
        "processes": processes,
        "spends": processes * spends,
        "acknowledged": len(keys),
        "refused": refused,
        "admitted by the filter": admitted,
        "entries": status.entries - 1,
        "exact": len(keys) == status.entries - 1 == min(admitted, processes * spends)
        and len(keys) + refused == processes * spends
        and status.accounts[0].odometer == BUDGET.odometer(BUDGET.price(event) * len(keys)),
        "slowest process / median process": totals[-1] / statistics.median(totals),
        "median spend, s": seconds[len(seconds) // 2],
        "99th percentile of a spend, s": seconds[int(0.99 * len(seconds))],
        "slowest spend, s": seconds[-1],
        "seconds": totals[-1],
    }
