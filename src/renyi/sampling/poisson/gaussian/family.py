"""Many sampled Gaussians with similar parameters as one transform, computed together.

A run whose noise or rate changes in every step has as many transforms as steps. The formulas are those of ``transform``; here
all members share the points of every quadrature. The finest step and the widest range that any member needs serve all of them,
because the error of a trapezoidal rule only falls with its step.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from renyi.errors import ConvergenceError
from renyi.laws.ratio_law import log_mixed
from renyi.laws.transform import SMALLEST_KNOWN, LossTransform
from renyi.numerics.contours.power_sums import complex_log1p, many_phi_power_sums
from renyi.numerics.logspace import log_sum_exp
from renyi.numerics.remainder import exp_remainder
from renyi.sampling.poisson.gaussian.lattice import (
    LOG_DEPTH,
    LOG_SLIGHT_MASS,
    MOST_POINTS,
    MOST_TERMS,
    PATH_SHAPES,
    STRIP_FRACTIONS,
    Cells,
    Path,
    drawn_at,
    lattice,
    log_decays,
    path_gains,
    path_heights,
    shifted_sizes,
    step_for,
)
from renyi.sampling.poisson.gaussian.law import (
    FARTHEST_ON_ONE_LATTICE,
    LARGE_CUMULANT,
    LOG_NORMAL,
    SampledGaussianLaw,
    integration_range,
    multiples,
    quick_phi,
    real_step,
)
from renyi.sampling.poisson.gaussian.renyi import SMALLEST_NOISE

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]
Member = tuple[SampledGaussianLaw, int]

FEWEST_MEMBERS = 8
"""Members below which computing them together saves nothing worth having."""

_NOISE_FACTOR = 1.25
"""Noises of one family are within this factor: the smallest noise sets the step for all, so a larger factor wastes points."""

_CELLS_AT_ONCE = 200_000
"""Members times points in one array: larger arrays only take more memory."""


def families(members: Sequence[Member]) -> Iterator[tuple[LossTransform, int]]:
    """The same transforms and counts, with members of similar noise and the same direction merged where there are many."""
    groups: dict[tuple[bool, int], list[Member]] = {}
    for transform, count in members:
        noise_bin = math.floor(math.log(transform.noise) / math.log(_NOISE_FACTOR)) if transform.noise > 0.0 else 0
        groups.setdefault((transform.adding, noise_bin), []).append((transform, count))
    for group in groups.values():
        if len(group) < FEWEST_MEMBERS:
            yield from group
        else:
            yield SampledGaussianFamily(tuple(group)), 1


@dataclass(frozen=True, slots=True)
class SampledGaussianFamily(LossTransform):
    """The product of the transforms of ``members``, all in the same direction, each to the power of its count."""

    members: tuple[Member, ...]

    def cumulant(self, tilt: float) -> float:
        return float(self.cumulants(np.array([tilt]))[0])

    def cumulants(self, tilt: Array) -> Array:
        together = _cumulants(self.members, tilt)
        if together is not None:
            return _counts(self.members) @ together
        total = np.zeros(tilt.shape)
        for transform, count in self.members:
            total += count * transform.cumulants(tilt)
        return total

    def small_cumulants(self, tilt: Array) -> Array:
        together = _cumulants(self.members, tilt)
        if together is not None:
            # Member by member: a cumulant that underflows must not drop out of the sum.
            return _counts(self.members) @ np.maximum(together, SMALLEST_KNOWN)
        total = np.zeros(tilt.shape)
        for transform, count in self.members:
            total += count * transform.small_cumulants(tilt)
        return total

    def line(self, tilt: float, step: float, count: int) -> Complex:
        return _line(self, tilt, step, count)[0]

    def line_error(self, tilt: float, step: float, count: int) -> float:
        return _line(self, tilt, step, count)[1]

    def log_decay(self, tilt: float, frequency: float) -> float:
        if math.isinf(frequency):
            return -math.inf  # the loss has a density
        return math.fsum(_decays(part, tilt, frequency) for part in _portions(self.members, tilt))


def _counts(members: tuple[Member, ...]) -> Array:
    return np.array([count for _, count in members], dtype=np.float64)


def _columns(members: tuple[Member, ...]) -> tuple[Array, Array]:
    """Rates and noises as columns, one row per member."""
    rate = np.array([[transform.rate] for transform, _ in members])
    return rate, np.array([[transform.noise] for transform, _ in members])


def _range(members: tuple[Member, ...], tilt: float) -> tuple[float, float]:
    """The lowest and highest u that matter to any member at this tilt."""
    ends = [integration_range(transform, tilt) for transform, _ in members]
    return min(low for low, _ in ends), max(high for _, high in ends)


def _law(members: tuple[Member, ...], u: Array, step: float) -> tuple[Array, Array]:
    """Losses at u and the logs of their weights in a rule of this step, one row per member."""
    x = log_mixed((u - 0.5 / _columns(members)[1]) / _columns(members)[1], _columns(members)[0])
    log_normal = -0.5 * u * u + math.log(step) - LOG_NORMAL
    return (-x, np.broadcast_to(log_normal, x.shape)) if members[0][0].adding else (x, log_normal + x)


def _means(loss: Array, log_weight: Array) -> Array:
    """E[phi(-L)], the mean loss, of each row."""
    terms = np.exp(log_weight) * exp_remainder(-np.maximum(loss, -40.0))
    # Below -40 phi(-L) is e^-L to rounding; as one exponent, because the weight alone may underflow to 0.
    if np.min(loss) < -40.0:
        terms = np.where(loss < -40.0, np.exp(log_weight - loss), terms)
    return np.asarray(np.sum(terms, axis=1, dtype=np.longdouble), dtype=np.float64)


def _cumulants(members: tuple[Member, ...], tilt: Array) -> Array | None:
    """log M of each member (rows) at several real tilts; None if some member needs the method for far islands or none."""
    largest = float(np.max(tilt))
    if min(transform.noise for transform, _ in members) < SMALLEST_NOISE:
        return None
    if max(transform.farthest(largest) for transform, _ in members) > FARTHEST_ON_ONE_LATTICE:
        return None
    loss, log_weight, mean = _real_rule(members, 4.0 ** math.ceil(0.5 * math.log2(max(largest, 1.0))))
    weight = np.exp(log_weight)
    result = np.empty((len(members), tilt.size))
    for column, t in enumerate(tilt):
        z = t * loss
        # Rows in which the cut at 600 matters are large, and are replaced below.
        large = np.max(z + log_weight, axis=1) > LARGE_CUMULANT
        with np.errstate(over="ignore", invalid="ignore"):
            small = np.log1p(np.sum(quick_phi(np.minimum(z, 600.0)) * weight, axis=1) + t * mean)
        if large.any():
            small[large] = log_sum_exp(z[large] + log_weight[large])
        result[:, column] = small
    return result


# Searches for a tilt share the rule up to the next power of 4; few, because each holds all members.
@lru_cache(maxsize=4)
def _real_rule(members: tuple[Member, ...], largest: float) -> tuple[Array, Array, Array]:
    """Losses, logs of their weights, and mean losses, by a rule for real tilts up to ``largest``."""
    step = min(real_step(transform, largest) for transform, _ in members)
    loss, log_weight = _law(members, multiples(step, *_range(members, largest)), step)
    return loss, log_weight, _means(loss, log_weight)


def _cells(members: tuple[Member, ...], tilt: float) -> Cells:
    step = min(0.25, 0.25 * min(transform.noise for transform, _ in members))
    u = multiples(step, *_range(members, tilt))
    return Cells(step, u, *drawn_at(u, *_columns(members)))


def _portions(members: tuple[Member, ...], tilt: float) -> Iterator[tuple[Member, ...]]:
    """Split the members so that no array has many more than ``_CELLS_AT_ONCE`` entries."""
    low, high = _range(members, tilt)
    points = (high - low) / min(0.25, 0.25 * min(transform.noise for transform, _ in members))
    if not points < MOST_POINTS:
        raise ConvergenceError(f"the transform of {members[0][0]} at tilt {tilt:g} needs too many points.")
    size = max(1, int(_CELLS_AT_ONCE / max(points, 1.0)))
    for start in range(0, len(members), size):
        yield members[start : start + size]


def _decays(members: tuple[Member, ...], tilt: float, frequency: float) -> float:
    """The sum over members of the best bound on log |M(tilt + iw)/M(tilt)|, each along its best path."""
    path = _paths(members, tilt)
    shape = PATH_SHAPES[:, :, None, None]
    gain = path_gains(path, _columns(members)[1], members[0][0].power(tilt), frequency, shape[:, 0], shape[:, 1])
    change = np.sum(np.expm1(np.minimum(gain, 700.0)) * path.mass, axis=-1)
    return float(_counts(members) @ log_decays(change))


@lru_cache(maxsize=8)  # choosing a line and bounding what it leaves out ask at the same tilt
def _paths(members: tuple[Member, ...], tilt: float) -> Path:
    rate, noise = _columns(members)
    cells = _cells(members, tilt)
    log_mass = -0.5 * cells.u * cells.u + members[0][0].power(tilt) * cells.log_ratio
    log_mass -= np.max(log_mass, axis=1, keepdims=True)
    keep = np.max(log_mass, axis=0) > LOG_SLIGHT_MASS
    mass = np.exp(log_mass[:, keep])
    mass /= np.sum(mass, axis=1, keepdims=True)
    return Path(cells.drawn[:, keep], cells.spread[:, keep], mass, *path_heights(cells.u[keep], rate, noise))


@lru_cache(maxsize=4)  # its values and their error are asked for apart: a third of an answer
def _line(family: SampledGaussianFamily, tilt: float, step: float, count: int) -> tuple[Complex, float]:
    """The sum of the members' lines, and the sum of their errors."""
    total, error = np.zeros(count, dtype=np.complex128), 0.0
    for portion in _portions(family.members, tilt):
        found = _lines(portion, tilt, step, count)
        if found is None:
            for transform, times in portion:
                total += times * transform.line(tilt, step, count)
                error += times * transform.line_error(tilt, step, count)
        else:
            with np.errstate(invalid="ignore"):  # where M is 0 to rounding
                total += _counts(portion) @ found
            error += float(_counts(portion) @ np.abs(found[:, 0].real)) * family.relative_error
    total.flags.writeable = False
    return total, error


def _lines(members: tuple[Member, ...], tilt: float, step: float, count: int) -> Complex | None:
    """Each member's line (rows); None if some member has to be computed alone."""
    cumulant = _cumulants(members, np.array([tilt]))
    if cumulant is None or float(np.max(cumulant)) > LARGE_CUMULANT or float(np.min(cumulant)) <= 0.0:
        return None
    log_m = np.log(np.expm1(cumulant))
    noise = _columns(members)[1]
    cells = _cells(members, tilt)
    shifts = STRIP_FRACTIONS[:, None, None] * np.minimum(math.pi * noise, 9.0)
    power = complex(members[0][0].power(tilt), -step * (count - 1))
    exponent = shifted_sizes(cells, noise, power, shifts, large=False)
    # Each member takes its best shift; the finest of their steps serves all.
    width = float(np.min(np.max(step_for(exponent, shifts, cells.step, log_m[:, 0]), axis=0)))
    rule = lattice(cells, (exponent[0] > log_m - LOG_DEPTH).any(axis=0), width)
    if rule is None or count * rule[0].size > MOST_TERMS:
        return None
    loss, log_weight = _law(members, *rule)
    mean, weight = _means(loss, log_weight), np.exp(log_weight)
    result = np.empty((len(members), count), dtype=np.complex128)
    columns = max(64, _CELLS_AT_ONCE // rule[0].size)
    for start in range(0, count, columns):
        part = slice(start, min(start + columns, count))
        size, first = part.stop - start, complex(tilt, step * start)
        powers = first + 1j * step * np.arange(size)
        sums = many_phi_power_sums(first, step, size, loss, weight)
        result[:, part] = complex_log1p(sums + powers * mean[:, None])
    return result
