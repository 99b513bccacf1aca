"""One library behind a pipe: reads a question a line, answers with a value and the time it took (benchmarks/rdp.py)."""

from __future__ import annotations

import importlib.metadata
import json
import logging
import os
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

Question = dict[str, Any]


def ours() -> dict[str, Callable[[Question], Any]]:
    import numpy as np

    import renyi
    from renyi import Gaussian, Poisson

    def curve(question: Question) -> float:
        event = Gaussian(question["noise"]).on(Poisson(question["rate"]))
        return float(np.sum(renyi.divergence(event, order=question["orders"])))

    def epsilon(question: Question) -> float:
        event = Gaussian(question["noise"]).on(Poisson(question["rate"])) * question["steps"]
        return renyi.epsilon(event, delta=question["delta"], accountant=renyi.Rdp())

    return {"curve": curve, "epsilon": epsilon}


def dp_accounting() -> dict[str, Callable[[Question], Any]]:
    from dp_accounting import dp_event
    from dp_accounting.rdp import rdp_privacy_accountant as rdp

    def event(question: Question) -> Any:
        return dp_event.PoissonSampledDpEvent(question["rate"], dp_event.GaussianDpEvent(question["noise"]))

    def curve(question: Question) -> float:
        accountant = rdp.RdpAccountant(question["orders"])
        accountant.compose(event(question), 1)
        return float(sum(accountant._rdp))

    def epsilon(question: Question) -> float:
        accountant = rdp.RdpAccountant()
        accountant.compose(event(question), question["steps"])
        return float(accountant.get_epsilon(question["delta"]))

    return {"curve": curve, "epsilon": epsilon}


def opacus() -> dict[str, Callable[[Question], Any]]:
    from opacus.accountants import RDPAccountant
    from opacus.accountants.analysis import rdp

    def curve(question: Question) -> float:
        values = rdp.compute_rdp(
            q=question["rate"], noise_multiplier=question["noise"], steps=1, orders=question["orders"]
        )
        return float(sum(values))

    def epsilon(question: Question) -> float:
        accountant = RDPAccountant()
        accountant.history = [(question["noise"], question["rate"], question["steps"])]
        return float(accountant.get_epsilon(question["delta"]))

    return {"curve": curve, "epsilon": epsilon}


LIBRARIES = {"renyi": ours, "dp-accounting": dp_accounting, "opacus": opacus}


def integral(question: Question) -> Question:
    """Orders that are whole numbers as integers: the peers have a separate, exact path for them."""
    if "orders" in question:
        question["orders"] = [int(order) if order.is_integer() else order for order in question["orders"]]
    return question


def main() -> None:
    name = sys.argv[1]
    answers, sys.stdout = sys.stdout, open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    tasks = LIBRARIES[name]()
    for line in sys.stdin:
        question = integral(json.loads(line))
        if question["task"] == "versions":
            packages = {name, "numpy", "scipy"} if name == "renyi" else {name}
            reply: Any = {package: importlib.metadata.version(package) for package in packages}
        else:
            started = time.perf_counter()
            value = tasks[question["task"]](question)
            reply = {"seconds": time.perf_counter() - started, "value": value}
        answers.write(json.dumps(reply) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
