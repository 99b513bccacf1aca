"""What a run accounted for as Poisson samples is, if its batches came from shuffling the records every epoch."""

from __future__ import annotations

import math

from renyi.errors import UnsupportedError
from renyi.events.event import Event
from renyi.events.nodes import Repeated, Sampled
from renyi.sampling.poisson.poisson import Poisson
from renyi.sampling.shuffled import Shuffled


def shuffled(event: Event) -> tuple[Event, Event]:
    """The same steps on shuffled batches: an event that costs at least as much as they, and one that costs at most as much.

    At the rate q an epoch has 1/q batches: if that is not a whole number, the last batch is smaller (rounded up), or left out
    (rounded down). Few batches make the most epochs, of which the last is charged in full; many make the fewest, of which only
    those count that were completed.
    """
    match event.canonical():
        case Sampled(inner, Poisson(rate)) if rate > 0.0:
            steps = 1
        case Repeated(Sampled(inner, Poisson(rate)), steps) if rate > 0.0:
            pass
        case _:
            raise UnsupportedError(
                'ran="shuffled" is for a run of equal steps on Poisson samples, such as Gaussian(1.1).on(Poisson(0.01)) * 1000.'
                " Say what ran as an event: ran=Gaussian(1.1).on(Shuffled(100)) * 10."
            )
    few, many = max(math.floor(_batches(rate)), 1), math.ceil(_batches(rate))
    return inner.on(Shuffled(few)) * math.ceil(steps / few), inner.on(Shuffled(many)) * (steps // many)


def _batches(rate: float) -> float:
    """1/rate, where a rate such as 1/3 gives 3 although its float does not."""
    exact = 1.0 / rate
    return float(round(exact)) if math.isclose(exact, round(exact), rel_tol=1e-12) else exact
