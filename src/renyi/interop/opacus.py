"""Opacus: what a run has on record as an event, and our accountant inside a ``PrivacyEngine``.

Opacus records (noise multiplier, sample rate, steps) and accounts for every step as a Poisson sample. Its record does not say
whether batches were drawn so: with ``make_private(poisson_sampling=False)`` they are those of the user's own loader, shuffled
or not, and a Poisson number is then about another sampler. Pass ``poisson_sampling=False`` here too for what such a run cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from renyi import check
from renyi.accountants.guarantee import Guarantee
from renyi.accountants.questions import epsilon, guarantee
from renyi.errors import InvalidInput, UnsupportedError
from renyi.events.builder import Builder
from renyi.events.event import Event
from renyi.interop.peer import peer
from renyi.interop.shuffled import shuffled_epochs
from renyi.mechanisms.gaussian import Gaussian
from renyi.sampling.poisson.poisson import Poisson
from renyi.signatures import taught

NAME = "renyi"
"""The name under which ``PrivacyEngine(accountant=...)`` finds our accountant."""

_RATE_ERROR = 1e-9
"""How far, relatively, 1/rate may be from an integer: Opacus computes the rate as 1 over the number of batches, in floats."""


class Stage(NamedTuple):
    """Steps with the same noise and rate: one line of Opacus' history."""

    noise_multiplier: float
    sample_rate: float
    steps: int


@taught
def from_opacus(source: object, *, poisson_sampling: bool = True) -> Event:
    """The event of an Opacus run: of an accountant, of its history or ``state_dict()``, or of a saved checkpoint.

    ``poisson_sampling`` is what was passed to ``make_private``. If it was False, the loader's own batches were used: ask
    about the event with ``adjacency=Adjacency.ZERO_OUT``, and read the answer as one for shuffled batches.

    >>> from_opacus([(1.1, 0.01, 1000)])
    Repeated(event=Sampled(event=Gaussian(noise_multiplier=1.1), sampling=Poisson(rate=0.01)), count=1000)
    """
    stages = list(_stages(_history(source)))
    builder = Builder()
    if poisson_sampling:
        for noise, rate, steps in stages:
            builder.add(Gaussian(noise).on(Poisson(rate)), steps)
        return builder.build()
    if len({stage.sample_rate for stage in stages}) > 1:
        raise UnsupportedError(
            "the batches of a shuffled run are counted in epochs of one length; got sample rates "
            f"{sorted({stage.sample_rate for stage in stages})}. Convert the parts of the history one by one, each from the "
            "start of an epoch, and add the events."
        )
    before = 0
    for stage in stages:
        builder.add(_in_epochs(stage, before))
        before += stage.steps
    return builder.build()


def opacus_accountant() -> str:
    """Make our accountant known to Opacus, and return the name by which a ``PrivacyEngine`` finds it.

    ``PrivacyEngine(accountant=opacus_accountant())`` then prints our epsilon, and ``make_private_with_epsilon`` calibrates
    with it. The engine's ``accountant`` has two things more: ``event()`` and ``guarantee(delta=...)``. Its numbers are for
    Poisson samples: Opacus does not tell an accountant that ``poisson_sampling=False`` was passed, so for such a run ask
    ``from_opacus(engine.accountant, poisson_sampling=False)``.
    """
    accountants = peer("opacus.accountants", "opacus")
    base: Any = accountants.IAccountant

    class RenyiAccountant(base):  # type: ignore[misc]  # Opacus has no types
        """Opacus' record, and this library's answer."""

        def __init__(self) -> None:
            self.history: list[tuple[float, float, int]] = []

        def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
            """Record one step."""
            steps = 1
            if self.history and self.history[-1][:2] == (noise_multiplier, sample_rate):
                steps += self.history.pop()[2]
            self.history.append((noise_multiplier, sample_rate, steps))

        def get_epsilon(self, delta: float, **_: Any) -> float:
            """Epsilon spent so far, an upper bound. Opacus hands on options of other accountants, which mean nothing here."""
            return epsilon(self.event(), delta=delta)

        def event(self) -> Event:
            """Everything recorded so far."""
            return from_opacus(self.history)

        def guarantee(self, delta: float) -> Guarantee:
            """The full answer, with both ends, assumptions and references."""
            return guarantee(self.event(), delta=delta)

        def __len__(self) -> int:
            return sum(steps for _, _, steps in self.history)

        @classmethod
        def mechanism(cls) -> str:
            """The name under which Opacus knows this accountant."""
            return NAME

        def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
            """Go on where any of Opacus' accountants stopped: all of them record the same."""
            self.history = [(noise, rate, steps) for noise, rate, steps in _stages(_history(state_dict))]

    accountants.register_accountant(NAME, RenyiAccountant, force=True)
    return NAME


def _history(source: object) -> object:
    """The list inside an accountant, its state or a checkpoint; a list itself is returned as it is."""
    if isinstance(source, Mapping):
        state = source.get("privacy_accountant_state_dict", source)
        if not isinstance(state, Mapping) or "history" not in state:
            raise InvalidInput(
                "a state of an Opacus accountant has the key 'history', and a checkpoint the key "
                f"'privacy_accountant_state_dict'; got the keys {sorted(map(str, source))[:10]}."
            )
        return state["history"]
    return getattr(source, "history", source)


def _stages(history: object) -> Iterator[Stage]:
    if not isinstance(history, list | tuple):
        raise InvalidInput(
            "an Opacus accountant, its history or its state_dict() is wanted; a history is a list of (noise multiplier, "
            f"sample rate, steps); got {history!r:.80}."
        )
    for line in history:
        if not isinstance(line, list | tuple) or len(line) != 3:
            raise InvalidInput(f"a line of a history is (noise multiplier, sample rate, steps); got {line!r:.80}.")
        noise, rate, steps = line
        yield Stage(
            check.nonnegative(noise_multiplier=noise), check.rate(sample_rate=rate), check.count(num_steps=steps)
        )


def _in_epochs(stage: Stage, before: int) -> Event:
    """Steps of a run in shuffled epochs, ``before`` of whose steps came earlier."""
    noise, rate, steps = stage
    length = round(1.0 / rate) if rate > 0.0 else 0
    if not length or abs(length * rate - 1.0) > _RATE_ERROR:
        raise UnsupportedError(
            f"without Poisson sampling the rate is 1 over the number of batches of an epoch; got {rate!r}. If gradients "
            "were accumulated over several batches, divide the recorded rate by their number and multiply the steps by it."
        )
    if steps == 0:
        return Gaussian(noise) * 0
    first, last = before // length, (before + steps - 1) // length
    whole = max((before + steps) // length - -(-before // length), 0)
    return shuffled_epochs(noise, steps=length, whole=whole, cut=last - first + 1 - whole)
