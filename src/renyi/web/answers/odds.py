"""What an attacker can do, in odds, and the one Gaussian release that the run is no worse than."""

from __future__ import annotations

import math
from typing import Any

from renyi.accountants import gdp, risk
from renyi.numerics.printing import rounded_down, rounded_up
from renyi.report.odds import Odds, people
from renyi.web.answers.answer import found
from renyi.web.form import Form

_LARGEST_FLOOR = 0.5
"""A delta above which the floor of mu is put: beyond, nearly nothing is promised anyway."""


def odds(form: Form) -> dict[str, Any]:
    """The attacker's odds as sentences, and how many of a hundred they find."""
    answer = found(form).guarantee
    made = Odds.of(risk(answer.event, adjacency=answer.adjacency))
    whom = people(answer)
    return {
        "sentences": list(made.sentences(whom)),
        "people": whom,
        "found": 100.0 * made.found.upper,
        "shown": rounded_up(100.0 * made.found.upper),
        "guessed": rounded_up(100.0 * made.guessed.upper),
    }


def mu(form: Form) -> dict[str, Any]:
    """The mu of Gaussian differential privacy, with its floor and its regret."""
    answer = found(form).guarantee
    made = gdp(answer.event, delta=min(answer.delta, _LARGEST_FLOOR), adjacency=answer.adjacency)
    return {
        "lower": rounded_down(made.mu.lower),
        "upper": rounded_up(made.mu.upper),
        "finite": made.mu.upper < math.inf,
        "floor": rounded_up(made.floor),
        "regret": rounded_up(made.regret),
        "sentence": str(made),
    }
