"""The plan of a run: public constants, fixed before it sees any data."""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from renyi import check
from renyi.accountants import epsilon as epsilon_of
from renyi.accountants.guarantee import large_delta
from renyi.calibration import calibrate
from renyi.errors import InvalidInput, PrivacyError, UnsupportedError
from renyi.events import Builder, Event, Sampled
from renyi.events.document import parsed
from renyi.laws.relation import Adjacency
from renyi.mechanisms.gaussian import Gaussian
from renyi.sampling.poisson.poisson import Poisson
from renyi.signatures import Taught
from renyi.training.planning.clip import AdaptiveClip, Clip, clip_from_dict, clip_of, positive
from renyi.training.planning.schedule import Schedule

FORMAT, VERSION = "renyi-plan", 1

FAR = 1.5
"""Factor between the expected batch and rate times the dataset's size from which on a warning is given: nobody who meant
them to be equal would be off by that much."""


@dataclass(frozen=True, slots=True, init=False)
class Plan(metaclass=Taught):
    """A training run before it starts. Everything in it is public, so nothing in it may be computed from the private data.

    Give ``noise_multiplier``, or give ``epsilon`` to get the smallest noise that keeps all ``steps`` within it at ``delta``.
    ``clip`` is a number, a mapping from module or parameter names to bounds, or an ``AdaptiveClip``. The noisy sum is divided
    by ``expected_batch``, a declared constant, because the number of units drawn is private. ``unit`` names whom the guarantee
    protects: each item of the dataset is one unit, unless ``batches`` is given the ids of persons. Schedules multiply the noise
    and the learning rates. ``dataset_size``, if the number of units is public, is used for nothing but warnings: of a delta
    above 1/n, and of an expected batch far from rate times n.

    >>> plan = Plan(sampling=Poisson(0.01), steps=1000, clip=1.0, expected_batch=256, epsilon=2.0, delta=1e-5)
    >>> round(plan.noise_multiplier, 3)
    0.959
    """

    sampling: Poisson
    steps: int
    clip: Clip
    delta: float
    expected_batch: float
    noise_multiplier: float
    epsilon: float | None
    unit: str
    adjacency: Adjacency
    noise_schedule: Schedule | None
    learning_rate_schedule: Schedule | None

    def __init__(
        self,
        *,
        sampling: Poisson,
        steps: int,
        clip: object,
        delta: float,
        expected_batch: float,
        noise_multiplier: float | None = None,
        epsilon: float | None = None,
        unit: str = "example",
        adjacency: Adjacency = Adjacency.ADD_OR_REMOVE,
        noise_schedule: Schedule | None = None,
        learning_rate_schedule: Schedule | None = None,
        dataset_size: int | None = None,
    ) -> None:
        values = {
            "sampling": _poisson(sampling),
            "steps": check.whole(1, steps=steps),
            "clip": clip_of(clip),
            "delta": check.delta(delta=delta),
            "expected_batch": positive(expected_batch=expected_batch),
            "epsilon": None if epsilon is None else check.epsilon(epsilon=epsilon),
            "unit": _unit(unit),
            "adjacency": Adjacency.of(adjacency=adjacency),
            "noise_schedule": _schedule(noise_schedule=noise_schedule),
            "learning_rate_schedule": _schedule(learning_rate_schedule=learning_rate_schedule),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        self._expect_theorem()
        if dataset_size is not None:
            self._compare(check.whole(1, dataset_size=dataset_size))
        if noise_multiplier is None and epsilon is None:
            raise InvalidInput("a plan needs noise_multiplier, or a target epsilon to find it from; got neither.")
        noise = self._calibrated() if noise_multiplier is None else check.nonnegative(noise_multiplier=noise_multiplier)
        object.__setattr__(self, "noise_multiplier", noise)
        if noise_multiplier is not None and self.epsilon is not None and self.cost() > self.epsilon:
            raise InvalidInput(
                f"noise_multiplier={noise!r} costs epsilon {self.cost():.6g} over {self.steps} steps, above the target "
                f"{self.epsilon:g}. Give only one of the two: with epsilon alone the noise is found."
            )

    @classmethod
    def from_epochs(cls, *, epochs: float, batch_size: int, dataset_size: int, **others: Any) -> Plan:
        """The plan of ``epochs`` passes over a dataset of public size: rate batch/dataset, steps rounded up.

        >>> Plan.from_epochs(
        ...     epochs=60, batch_size=256, dataset_size=60_000, clip=1.0, noise_multiplier=1.1, delta=1e-5
        ... ).steps
        14063
        """
        batch, dataset = check.whole(1, batch_size=batch_size), check.whole(1, dataset_size=dataset_size)
        if batch > dataset:
            raise InvalidInput(f"batch_size must be at most dataset_size; got {batch} and {dataset}.")
        # In fractions: a float could round an exact number of steps up to one more.
        steps = math.ceil(Fraction(positive(epochs=epochs)) * Fraction(dataset, batch))
        return cls(sampling=Poisson(batch / dataset), steps=steps, expected_batch=batch, dataset_size=dataset, **others)

    def noise_at(self, step: int) -> float:
        """The noise multiplier of one step, counted from zero."""
        return self.noise_multiplier * (1.0 if self.noise_schedule is None else self.noise_schedule.at(step))

    def event(self, step: int) -> Event:
        """What one step releases: the gradient and, with adaptive clipping, the count on the same draw."""
        return self._event(self.noise_at(step))

    def events(self, start: int = 0, stop: int | None = None) -> Event:
        """What the steps from ``start`` to before ``stop`` release together; by default all of them."""
        return self._events(self.noise_multiplier, start, self.steps if stop is None else stop)

    def cost(self) -> float:
        """Epsilon of all planned steps at the plan's delta, rounded up."""
        return epsilon_of(self.events(), delta=self.delta, adjacency=self.adjacency)

    @property
    def hash(self) -> str:
        """A digest of everything in the plan: equal plans have equal digests."""
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """The plan as JSON values."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "sampling": {"name": self.sampling.name, "rate": self.sampling.rate},
            "steps": self.steps,
            "clip": self.clip.to_dict(),
            "delta": self.delta,
            "expected_batch": self.expected_batch,
            "noise_multiplier": self.noise_multiplier,
            "epsilon": self.epsilon,
            "unit": self.unit,
            "adjacency": self.adjacency.value,
            "noise_schedule": _runs(self.noise_schedule),
            "learning_rate_schedule": _runs(self.learning_rate_schedule),
        }

    @classmethod
    def from_dict(cls, document: object) -> Plan:
        """The plan that JSON values describe."""
        if not isinstance(document, dict) or (document.get("format"), document.get("version")) != (FORMAT, VERSION):
            raise InvalidInput(
                f"this is not a plan of version {VERSION} as plan.to_json() writes it: {str(document)[:80]}."
            )
        fields = {name: value for name, value in document.items() if name not in ("format", "version")}
        try:
            fields["sampling"] = Poisson(fields["sampling"]["rate"])
            fields["clip"] = clip_from_dict(fields["clip"])
            for name in ("noise_schedule", "learning_rate_schedule"):
                fields[name] = fields[name] and Schedule(tuple((steps, factor) for steps, factor in fields[name]))
            return cls(**fields)
        except PrivacyError:
            raise
        except (KeyError, TypeError, ValueError, ArithmeticError) as error:
            raise InvalidInput(f"this plan lacks a field, or has one that is unknown: {error}.") from None

    def to_json(self) -> str:
        """The plan as JSON text; ``Plan.from_json`` reads it back."""
        return json.dumps(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """The plan that a JSON text describes."""
        return cls.from_dict(parsed(text))

    def _event(self, noise: float) -> Event:
        return _step(noise, self.clip, self.sampling)

    def _events(self, noise: float, start: int, stop: int) -> Event:
        built = Builder()
        for count, factor in (self.noise_schedule or Schedule.pieces((1, 1.0))).between(start, stop):
            built.add(self._event(noise * factor), count)
        return built.build()

    def _expect_theorem(self) -> None:
        if self.adjacency is Adjacency.REPLACE_ONE and self.sampling.rate < 1.0:
            raise UnsupportedError(
                f"{self.sampling} has no theorem here for replace-one neighbours. Plan for add-or-remove or zero-out "
                "neighbours, or use every record at every step: Poisson(rate=1)."
            )

    def _compare(self, dataset_size: int) -> None:
        """Warn of constants that are unusual for a dataset of this size; a size that is not declared is private."""
        if remark := large_delta(self.delta, dataset_size):
            warnings.warn(remark, stacklevel=4)
        expected = self.sampling.rate * dataset_size
        if not 1.0 / FAR <= self.expected_batch / expected <= FAR:
            warnings.warn(
                f"expected_batch={self.expected_batch:g} is far from rate x n = {expected:g} for the declared dataset of "
                f"{dataset_size} units. The guarantee holds, but sums are divided by expected_batch, so every step is "
                f"{expected / self.expected_batch:g} times as long as that of a mean. Is it meant?",
                stacklevel=4,
            )

    def _calibrated(self) -> float:
        return calibrate(
            lambda noise: self._events(noise, 0, self.steps),
            epsilon=self.epsilon or 0.0,
            delta=self.delta,
            low=0.0,
            adjacency=self.adjacency,
        )


@lru_cache(maxsize=64)
def _step(noise: float, clip: Clip, sampling: Poisson) -> Event:
    """What one step releases. Kept, because a run asks several times at every step, and most plans have few different ones."""
    gradient: Event = Gaussian(noise)
    if isinstance(clip, AdaptiveClip):
        gradient = gradient + Gaussian(clip.count_noise_multiplier)
    return Sampled(gradient, sampling)


def _poisson(sampling: object) -> Poisson:
    if isinstance(sampling, (int, float)):
        raise InvalidInput(
            f"sampling must be a sampling; got the number {sampling!r}. Write Poisson(rate={sampling!r})."
        )
    if not isinstance(sampling, Poisson):
        raise UnsupportedError(
            f"a run draws its batches by Poisson sampling; got {sampling!r}. Shuffled or fixed-size batches are "
            "another scheme, and get no Poisson number: write Poisson(rate=expected batch / dataset size)."
        )
    if sampling.rate == 0.0:
        raise InvalidInput("sampling at rate 0 never draws anybody: nothing would be learnt. Give a rate above 0.")
    return sampling


def _unit(unit: object) -> str:
    if not isinstance(unit, str) or not unit.strip():
        raise InvalidInput(
            f'unit says whom the guarantee protects, as a noun such as "example" or "person"; got {unit!r}.'
        )
    return unit


def _schedule(**named: object) -> Schedule | None:
    ((name, value),) = named.items()
    if value is not None and not isinstance(value, Schedule):
        raise InvalidInput(f"{name} must be a Schedule, such as Schedule.cosine(1.0, 0.1, steps=1000); got {value!r}.")
    return value


def _runs(schedule: Schedule | None) -> list[list[float]] | None:
    return None if schedule is None else [list(run) for run in schedule.runs]
