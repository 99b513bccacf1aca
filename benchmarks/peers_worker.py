"""One library, one question, in a process of its own: first call, warm calls, peak of memory (benchmarks/peers.py)."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import logging
import os
import resource
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

Question = dict[str, Any]
Tasks = dict[str, Callable[[Question], Any]]

# How precise the peers are asked to be. The page and the README print these numbers beside every table.
LOSS_INTERVAL = 1e-4
"""Distance of the losses on the grid of dp-accounting's PLD (its default)."""
EPSILON_ERROR = 0.01
"""Error in epsilon that opacus PRV (its default) and prv-accountant are allowed."""
DELTA_SHARE = 1000
"""Error in delta that they are allowed: this fraction of delta (opacus' default)."""
NOISE_TOLERANCE = 1e-6
"""Error in the noise that dp-accounting's calibration is allowed."""
EPSILON_TOLERANCE = 0.01
"""How far below the target epsilon opacus' calibration may stop (its default)."""


def unsupported(what: object) -> Any:
    raise NotImplementedError(f"not offered: {what}")


def ours(method: str) -> Tasks:
    import renyi
    from renyi import Builder, Event, Gaussian, Laplace, Poisson, RandomizedResponse

    kinds: dict[str, Callable[[float], Event]] = {
        "Gaussian": Gaussian,
        "Laplace": Laplace,
        "RandomizedResponse": RandomizedResponse,
    }
    accountant = renyi.Rdp() if method == "RDP" else None

    def step(part: Question) -> Event:
        release = kinds[part["mechanism"]](part["parameter"])
        return release if part["rate"] == 1.0 else release.on(Poisson(part["rate"]))

    def epsilon(question: Question) -> float:
        builder = Builder()
        for part in question["parts"]:
            builder.add(step(part), part["count"])
        return renyi.epsilon(builder.build(), delta=question["delta"], accountant=accountant)

    def tracked(question: Question) -> float:
        (part,) = question["parts"]
        builder = Builder()
        for _ in range(part["count"]):
            builder.add(step(part))
        return renyi.epsilon(builder.build(), delta=question["delta"], accountant=accountant)

    def calibrate(question: Question) -> float:
        (part,) = question["parts"]
        return renyi.noise_multiplier(
            epsilon=question["epsilon"],
            delta=question["delta"],
            rate=part["rate"],
            steps=part["count"],
            accountant=accountant,
        )

    return {"epsilon": epsilon, "tracked": tracked, "calibrate": calibrate}


def dp_accounting(method: str) -> Tasks:
    import dp_accounting
    from dp_accounting import dp_event
    from dp_accounting.pld import pld_privacy_accountant as pld
    from dp_accounting.rdp import rdp_privacy_accountant as rdp

    def fresh() -> Any:
        if method == "RDP":
            return rdp.RdpAccountant()
        return pld.PLDAccountant(value_discretization_interval=LOSS_INTERVAL)

    def step(part: Question) -> Any:
        match part["mechanism"]:
            case "Gaussian":
                release = dp_event.GaussianDpEvent(part["parameter"])
            case "Laplace":
                release = dp_event.LaplaceDpEvent(part["parameter"])
            case _:  # truthful with probability 1 - p/2
                release = dp_event.RandomizedResponseDpEvent(2.0 * (1.0 - part["parameter"]), 2)
        return release if part["rate"] == 1.0 else dp_event.PoissonSampledDpEvent(part["rate"], release)

    def epsilon(question: Question) -> float:
        accountant = fresh()
        for part in question["parts"]:
            accountant.compose(step(part), part["count"])
        return float(accountant.get_epsilon(question["delta"]))

    def tracked(question: Question) -> float:
        (part,) = question["parts"]
        accountant, event = fresh(), step(part)
        for _ in range(part["count"]):
            accountant.compose(event)
        return float(accountant.get_epsilon(question["delta"]))

    def calibrate(question: Question) -> float:
        (part,) = question["parts"]
        noise = dp_accounting.calibrate_dp_mechanism(
            fresh,
            lambda noise: dp_event.SelfComposedDpEvent(step({**part, "parameter": noise}), part["count"]),
            question["epsilon"],
            question["delta"],
            dp_accounting.LowerEndpointAndGuess(0.2, 1.0),
            tol=NOISE_TOLERANCE,
        )
        return float(noise)

    return {"epsilon": epsilon, "tracked": tracked, "calibrate": calibrate}


def opacus(method: str) -> Tasks:
    from opacus.accountants import PRVAccountant, RDPAccountant
    from opacus.accountants.utils import get_noise_multiplier

    fresh: Callable[[], Any] = RDPAccountant if method == "RDP" else PRVAccountant

    def precision(delta: float) -> dict[str, float]:
        return {} if method == "RDP" else {"eps_error": EPSILON_ERROR, "delta_error": delta / DELTA_SHARE}

    def asked(accountant: Any, delta: float) -> float:
        return float(accountant.get_epsilon(delta, **precision(delta)))

    def epsilon(question: Question) -> float:
        accountant = fresh()
        for part in question["parts"]:
            if part["mechanism"] != "Gaussian":
                unsupported(part["mechanism"])
            accountant.history.append((part["parameter"], part["rate"], part["count"]))
        return asked(accountant, question["delta"])

    def tracked(question: Question) -> float:
        (part,) = question["parts"]
        accountant = fresh()
        for _ in range(part["count"]):
            accountant.step(noise_multiplier=part["parameter"], sample_rate=part["rate"])
        return asked(accountant, question["delta"])

    def calibrate(question: Question) -> float:
        (part,) = question["parts"]
        noise = get_noise_multiplier(
            target_epsilon=question["epsilon"],
            target_delta=question["delta"],
            sample_rate=part["rate"],
            steps=part["count"],
            accountant="rdp" if method == "RDP" else "prv",
            epsilon_tolerance=EPSILON_TOLERANCE,
            **precision(question["delta"]),
        )
        return float(noise)

    return {"epsilon": epsilon, "tracked": tracked, "calibrate": calibrate}


def prv_accountant(_method: str) -> Tasks:
    prv = importlib.import_module("prv_accountant")
    dpsgd = importlib.import_module("prv_accountant.dpsgd")

    def variable(part: Question) -> Any:
        match part["mechanism"]:
            case "Gaussian" if part["rate"] == 1.0:
                return prv.GaussianMechanism(noise_multiplier=part["parameter"])
            case "Gaussian":
                return prv.PoissonSubsampledGaussianMechanism(
                    sampling_probability=part["rate"], noise_multiplier=part["parameter"]
                )
            case "Laplace" if part["rate"] == 1.0:
                return prv.LaplaceMechanism(mu=1.0 / part["parameter"])
        return unsupported(f"{part['mechanism']} at rate {part['rate']}")

    def epsilon(question: Question) -> float:
        counts = [part["count"] for part in question["parts"]]
        accountant = prv.PRVAccountant(
            prvs=[variable(part) for part in question["parts"]],
            max_self_compositions=counts,
            eps_error=EPSILON_ERROR,
            delta_error=question["delta"] / DELTA_SHARE,
        )
        return float(accountant.compute_epsilon(delta=question["delta"], num_self_compositions=counts)[2])

    def calibrate(question: Question) -> float:
        (part,) = question["parts"]
        noise = dpsgd.find_noise_multiplier(
            sampling_probability=part["rate"],
            num_steps=part["count"],
            target_epsilon=question["epsilon"],
            target_delta=question["delta"],
            eps_error=EPSILON_ERROR,
        )
        return float(noise)

    return {"epsilon": epsilon, "tracked": unsupported, "calibrate": calibrate}


def autodp(_method: str) -> Tasks:
    acct = importlib.import_module("autodp.rdp_acct")
    bank = importlib.import_module("autodp.rdp_bank")

    def curve(part: Question) -> Callable[[float], float]:
        match part["mechanism"]:
            case "Gaussian":
                return lambda order: bank.RDP_gaussian({"sigma": part["parameter"]}, order)
            case "Laplace":
                return lambda order: bank.RDP_laplace({"b": part["parameter"]}, order)
        return lambda order: bank.RDP_randresponse({"p": part["parameter"]}, order)

    def add(accountant: Any, part: Question, count: int) -> None:
        if part["rate"] == 1.0:
            accountant.compose_mechanism(curve(part), coeff=count)
        else:
            accountant.compose_poisson_subsampled_mechanisms(curve(part), part["rate"], coeff=count)

    def epsilon(question: Question) -> float:
        accountant = acct.anaRDPacct()
        for part in question["parts"]:
            add(accountant, part, part["count"])
        return float(accountant.get_eps(question["delta"]))

    def tracked(question: Question) -> float:
        (part,) = question["parts"]
        accountant = acct.anaRDPacct()
        for _ in range(part["count"]):
            add(accountant, part, 1)
        return float(accountant.get_eps(question["delta"]))

    return {"epsilon": epsilon, "tracked": tracked, "calibrate": unsupported}


LIBRARIES: dict[str, Callable[[str], Tasks]] = {
    "renyi": ours,
    "dp-accounting": dp_accounting,
    "opacus": opacus,
    "prv-accountant": prv_accountant,
    "autodp": autodp,
}


def forget() -> None:
    """Empty every cache of ours, so that no round profits from the one before."""
    for name, module in list(sys.modules.items()):
        if name.startswith("renyi."):
            for value in list(vars(module).values()):
                if hasattr(value, "cache_clear"):
                    value.cache_clear()


def timed(task: Callable[[Question], Any], question: Question) -> tuple[float, Any]:
    forget()
    started = time.process_time()
    value = task(question)
    return time.process_time() - started, value


def main() -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    library, method = sys.argv[1], sys.argv[2]
    request = json.load(sys.stdin)
    answers, sys.stdout = sys.stdout, open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    tasks, question = LIBRARIES[library](method), request["question"]
    task = tasks[question["task"]]
    reply: dict[str, Any] = {
        "versions": {name: importlib.metadata.version(name) for name in (library, "numpy", "scipy")}
    }
    try:
        reply["first"], reply["value"] = timed(task, question)
        # A call that takes so long is not repeated: what is loaded for the first one does not show in it.
        reply["warm"] = [reply["first"]] if reply["first"] > 4.0 * request["seconds"] else []
        while len(reply["warm"]) < request["rounds"] and (not reply["warm"] or sum(reply["warm"]) < request["seconds"]):
            reply["warm"].append(timed(task, question)[0])
        if question["task"] == "calibrate":
            (part,) = question["parts"]
            again = {**question, "parts": [{**part, "parameter": reply["value"]}]}
            reply["epsilon of that noise"] = tasks["epsilon"](again)
    except Exception as error:  # whatever a peer raises is its answer
        reply["failure"] = f"{type(error).__name__}: {error}"[:300]
    reply["megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    json.dump(reply, answers)


if __name__ == "__main__":
    main()
