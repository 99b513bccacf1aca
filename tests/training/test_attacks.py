"""What could be read off the low bits of the noise: both attacks succeed against noise as it was, and are at chance now.

The low-bit attack, on an embedding of which a single record touches some rows: near 1, the float32 number that a radius is made
of lies on multiples of 2^-24, so 1 - e^(-r^2/2) of a pair of noises is nearly such a multiple, unless something was added to
them. The attacker sees the weights after one step, knows those before it, and divides by the public constants.

The count attack: the adaptive bound tells the noisy count. The count was float64 and its noise a float32 number: of all counts
only the true one leaves a difference that is one.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy import stats

from renyi.training.planning.clip import AdaptiveClip
from renyi.training.randomness.noise import ROW, grid_of, rounded
from tests.training.readable_noise import standard_normal

TRIALS = 200
RATE, BATCH, BOUND = 0.5, 64.0, 1.0
ROWS, WIDTH = 16, ROW // 8  # of the embedding: one row of noise


def released(sums, deviation, number, unreadable):
    """The noisy sums, as float32 if they are gradients, as float64 if they are counts."""
    key = np.random.default_rng([number, 1]).bytes(32)
    if not unreadable:
        noise = standard_normal(sums.size, key).astype(sums.dtype)
        return torch.add(torch.from_numpy(sums), torch.from_numpy(noise), alpha=deviation).numpy()
    return rounded(torch.from_numpy(sums), deviation=deviation, grid=grid_of(deviation, BOUND), key=key).numpy()


def weights_after(start, contribution, deviation, number, unreadable):
    """One step of SGD, as torch takes it."""
    parameter = torch.nn.Parameter(torch.from_numpy(start.copy()))
    gradient = released(contribution, deviation, number, unreadable) / np.float32(BATCH)
    parameter.grad = torch.from_numpy(gradient)
    torch.optim.SGD([parameter], lr=RATE).step()
    return parameter.detach().numpy()


def says_it_was_there(start, after, deviation):
    """Whether 1 - e^(-r^2/2) of the pairs with a small radius lies no nearer to multiples of 2^-24 than chance has it."""
    noise = (start.astype(np.float64) - after) * BATCH / (RATE * deviation)
    missing = -np.expm1(-0.5 * (noise[:ROW] ** 2 + noise[ROW:] ** 2))
    steps = missing[missing < 2.0**-7] * 2.0**24
    return np.mean(np.abs(steps - np.rint(steps))) > 0.2  # 0.25 for what is spread evenly


@pytest.mark.parametrize("initial", ["zero", "known"])
@pytest.mark.parametrize("noise", [50.0, 1000.0])
def test_low_bits_show_a_record_in_the_old_noise_and_not_in_this(noise, initial):
    random = np.random.default_rng([int(noise), initial == "zero"])
    # Weights that are known need to leave the bits of the noise in float32: they are as small as those it is added to.
    start = np.zeros(ROWS * WIDTH, dtype=np.float32)
    if initial == "known":
        start = (random.integers(-8, 9, start.size) * (RATE * noise / BATCH * 2.0**-6)).astype(np.float32)
    contribution = np.zeros((2, ROWS * WIDTH), dtype=np.float32)
    contribution[1] = random.standard_normal(ROWS * WIDTH)
    contribution[1] *= BOUND / np.linalg.norm(contribution[1])
    right = {False: 0, True: 0}
    for number in range(TRIALS):
        there = int(random.integers(2))
        for unreadable in right:
            after = weights_after(start, contribution[there], noise * BOUND, number, unreadable)
            right[unreadable] += says_it_was_there(start, after, noise * BOUND) == bool(there)
    assert right[False] > 0.95 * TRIALS
    assert stats.binomtest(right[True], TRIALS).pvalue > 1e-4


def halves_that_fit(clip, bound, following, candidates):
    """The counts whose noise would be a float32 number, to the rounding of a logarithm and a few products."""
    share = clip.quantile - math.log(following / bound) / clip.rate
    noisy = (share - 0.5) * BATCH
    noise = (noisy - candidates) / (0.5 * clip.count_noise_multiplier)
    return np.abs(noise - noise.astype(np.float32)) / np.spacing(np.abs(noise).astype(np.float32))


@pytest.mark.parametrize("count_noise", [6.0, 17.3, 25.0])
def test_the_count_is_read_off_the_old_noise_and_not_off_this(count_noise):
    clip = AdaptiveClip(1.0, count_noise_multiplier=count_noise)
    random = np.random.default_rng(int(count_noise))
    candidates = np.array([-1.5, -0.5])  # with the record outside of the bound, and inside
    spread = 0.5 * count_noise
    right = {False: 0, True: 0}
    for number in range(TRIALS):
        true = int(random.integers(2))
        halves = np.array([candidates[true]])
        for unreadable in right:
            noisy = released(halves, spread, number, unreadable)
            off = halves_that_fit(clip, 1.0, clip.followed(1.0, float(noisy[0]), BATCH), candidates)
            guess = int(np.argmin(off)) if abs(off[0] - off[1]) > 1e-9 else int(random.integers(2))
            right[unreadable] += guess == true
    assert right[False] > 0.95 * TRIALS
    assert stats.binomtest(right[True], TRIALS).pvalue > 1e-4
