"""The noise: the ideal Gaussian mechanism's sum, rounded to the grid, exactly; a function of key and place alone."""

from __future__ import annotations

import hashlib
import itertools
import math

import numpy as np
import pytest
import torch
from flint import arb, ctx, fmpz
from scipy import special, stats

from renyi.training import TrainingError, seeded
from renyi.training.randomness import chacha, refinement, stream
from renyi.training.randomness import noise as module
from renyi.training.randomness.entropy import Keys
from renyi.training.randomness.noise import ERROR, LEAST_RADIUS, MOST_RADIUS, ROW, grid_of, rounded

CPU = torch.device("cpu")
LOWEST = 1e-6


def cells(count, key, *, deviation=1.0, sums=None):
    """Numbers of the cells that are released, and the grid."""
    grid = grid_of(deviation, 1.0)
    given = torch.zeros(count) if sums is None else sums
    return (rounded(given.double(), deviation=deviation, grid=grid, key=key) / grid).numpy(), grid


def drawn(keys, step=0, name="w", count=2_000_000):
    """Values that are standard normal but for the grid, whose rounding adds a twelfth of its square to the variance."""
    found, grid = cells(count, keys.key("noise", step, name), deviation=1.5)
    return found * grid / 1.5


def certain_cell(key, place, offset, scale):
    """An independent computation of one cell, in ball arithmetic of 300 bits, from the definition in docs/noise.md."""
    row, within = divmod(place, 2 * ROW)
    first, pair = row * 2 * ROW, row * ROW + within % ROW
    radial = int(stream.on_host(key, (first + within % ROW) // 16 * 16, 16)[within % ROW % 16]) & 0x7FFFFFFF
    angular = int(stream.on_host(key, (first + ROW + within % ROW) // 16 * 16, 16)[within % ROW % 16])
    more = hashlib.shake_256(b"renyi further bits" + key + pair.to_bytes(8, "little")).digest(64)
    u = (arb(fmpz((radial << 256) + int.from_bytes(more[0::2], "big"))) + arb(0.5, 0.5)) / arb(2) ** 287
    v = (arb(fmpz((angular << 256) + int.from_bytes(more[1::2], "big"))) + arb(0.5, 0.5)) / arb(2) ** 288
    turn = (2 * v).cos_pi() if within < ROW else (2 * v).sin_pi()
    cell = (arb(offset) + arb(scale) * (-2 * u.log()).sqrt() * turn + arb(0.5)).floor()
    found = cell.unique_fmpz()
    assert found is not None
    return int(found)


def p_values(values):
    """Kolmogorov-Smirnov, mean, variance, fourth moment and tails of values in rising order."""
    n = values.size
    levels = special.ndtr(values)
    steps = np.arange(n) / n
    distance = max(float((levels - steps).max()), float((steps + 1 / n - levels).max()))
    variance = (values @ values) / n
    fourth = float(np.mean(values**4))
    tail = int((np.abs(values) > 4.0).sum())
    far = 2 * special.ndtr(-4.0)
    normal = lambda z: 2 * special.ndtr(-abs(z))  # noqa: E731
    return {
        "ks": stats.kstwobign.sf(distance * np.sqrt(n)),
        "mean": normal(values.mean() * np.sqrt(n)),
        "variance": normal((variance - 1) * np.sqrt(n / 2)),
        "fourth": normal((fourth - 3) * np.sqrt(n / 96)),
        "tail": normal((tail - n * far) / np.sqrt(n * far)),
    }


def repetitions(*, keys, pairs):
    """How often a pair of words, and how often the last 24 bits of a value, come twice; beside what chance has.

    A source with few states, or noise with few values, repeats itself.
    """
    words = np.empty(keys * pairs, dtype=np.uint64)
    zeros, found = torch.zeros(2 * ROW, dtype=torch.float64), 0
    for number in range(keys):
        key = Keys().key("noise", number, "w")
        rows = stream.on_host(key, 0, 2 * pairs).reshape(-1, 2, ROW).view(np.uint32).astype(np.uint64)
        words[number * pairs : (number + 1) * pairs] = ((rows[:, 0] << 32) | rows[:, 1]).reshape(-1)
        fine = rounded(zeros, deviation=1.0, grid=2.0**-24, key=key).numpy() * 2.0**24
        found += fine.size - np.unique(fine.astype(np.int64) % 2**24).size
    words.sort()
    expected = keys * (2 * ROW + 2**24 * math.expm1(2 * ROW * math.log1p(-(2.0**-24))))
    tails = stats.poisson.cdf(found, expected), stats.poisson.sf(found - 1, expected)
    return (
        {"of": words.size, "found": int((words[1:] == words[:-1]).sum()), "expected": words.size**2 / 2.0**65},
        {"of": keys * 2 * ROW, "found": found, "expected": round(expected, 1), "p-value": min(1.0, 2.0 * min(tails))},
    )


@pytest.fixture
def refined(monkeypatch):
    """What was asked of the refinement, and what of its last stage."""
    asked, last = [], []
    one, other = refinement.cells, refinement._certain
    monkeypatch.setattr(refinement, "cells", lambda doubtful, *rest: asked.append(doubtful) or one(doubtful, *rest))
    monkeypatch.setattr(refinement, "_certain", lambda *given: last.append(given) or other(*given))
    return asked, last


@pytest.mark.parametrize(("deviation", "size"), [(1.0, 0.0), (1.5, 1.0), (0.37, 40.0), (3e-5, 1.0), (1e9, 5.0)])
def test_every_cell_is_that_of_the_ideal_sum(deviation, size, refined):
    """All that are refined, and others at random, against ball arithmetic."""
    random = np.random.default_rng([int(1e6 * deviation), int(size)])
    key, sums = random.bytes(32), size * random.standard_normal(2 * ROW + 1001).astype(np.float32)
    with ctx.workprec(400):
        found, grid = cells(sums.size, key, deviation=deviation, sums=torch.from_numpy(sums))
        doubtful = np.concatenate([one.pair for one in refined[0]])
        assert 0.001 < doubtful.size / sums.size < 0.05
        few = set(random.choice(sums.size, 500).tolist())
        few |= {
            int(2 * ROW * (pair // ROW) + pair % ROW)
            for pair in doubtful
            if 2 * ROW * (pair // ROW) + pair % ROW < sums.size
        }
        for place in few:
            assert found[place] == certain_cell(key, place, float(sums[place]) / grid, deviation / grid), place


def test_the_last_stage_agrees_with_ball_arithmetic():
    """Which one value in some hundred thousand reaches: here all are sent there, also those at either end of U."""
    key, scale = bytes(range(32)), 700.0
    random = np.random.default_rng(3)
    with ctx.workprec(400):
        for place in random.integers(0, ROW, 300).tolist():
            radial = int(stream.on_host(key, place // 16 * 16, 16)[place % 16]) & 0x7FFFFFFF
            angular = int(stream.on_host(key, (ROW + place) // 16 * 16, 16)[place % 16])
            offset = float(random.normal())
            found = refinement._certain(offset, scale, radial, angular, place, key)
            assert found == certain_cell(key, place, offset, scale)


def test_the_stage_of_further_bits_in_float64_agrees_with_ball_arithmetic(refined):
    """On a grid so fine that it decides some hundredths of all values, and leaves none of the others but the ends of U."""
    key, count, grid = bytes(range(32)), 3000, 2.0**-24
    made = rounded(torch.zeros(count, dtype=torch.float64), deviation=1.0, grid=grid, key=key)
    (doubtful,) = refined[0]
    noise, error = refinement._value(
        np, (doubtful.radial + 0.5) * 2.0**-31, (doubtful.angular + 0.5) * 2.0**-31, 2.0**-32, 0.0
    )
    undecided = np.flatnonzero(np.abs(noise / grid - np.rint(noise / grid)) > 0.5 - error / grid)
    assert undecided.size > count / 100
    assert len(refined[1]) < 5
    with ctx.workprec(400):
        for place in doubtful.pair[undecided].tolist():
            assert made[place] / grid == certain_cell(key, place, 0.0, 1 / grid)


@pytest.mark.parametrize("radial", [0, 1, 1023, 1024, 2**31 - 1025, 2**31 - 1024, 2**31 - 1])
def test_the_ends_of_the_uniform_numbers_are_refined(radial):
    """Tails are not cut, and no noise is zero: further bits decide."""
    doubtful = refinement.Doubtful(*(np.array([value]) for value in (0.25, radial, 5, 7, 0)))
    (found,) = refinement.cells(doubtful, 700.0, [bytes(32)])
    first, _ = refinement.further_bits(bytes(32), 7, 40)
    u = (radial + first / 2.0**320) / 2.0**31
    wanted = math.sqrt(-2.0 * (math.log(u) if u < 0.5 else math.log1p(-(1.0 - u)))) * 700.0
    assert found == pytest.approx(wanted, abs=1.0)


def test_a_longer_tail_only_appends_to_a_shorter_one():
    short, long = (refinement.further_bits(b"k" * 32, 5, count) for count in (8, 16))
    assert [number >> 64 for number in long] == list(short)
    assert refinement.further_bits(b"k" * 32, 6, 8) != short


@pytest.mark.parametrize("library", [np, torch])
def test_float32_is_within_the_error_that_is_assumed(library):
    """Where the bound is tightest, at both ends of U, and at random; words beyond the ends have radii beyond the limits."""
    random = np.random.default_rng(1)
    least, most = 1 << 16, (1 << 31) - (1 << 22)
    inside = [least + np.arange(5000), most - 1 - np.arange(5000), random.integers(least, most, 2 * ROW)]
    outside = np.concatenate(
        [random.integers(0, least, 5000), random.integers(most, 2**31, 5000), [0, least - 1, most, 2**31 - 1]]
    )
    for words, within in ((np.concatenate(inside)[:ROW], True), (outside, False)):
        radial = words.astype(np.int32)
        angular = random.integers(-(2**31), 2**31, radial.size).astype(np.int32)
        given = (radial, angular) if library is np else (torch.from_numpy(radial), torch.from_numpy(angular))
        sums = np.zeros(2 * radial.size, np.float32) if library is np else torch.zeros(2 * radial.size)
        room = module._Room.of(library, sums, True)
        radii, made = (
            np.asarray(found, dtype=np.float64) for found in module._standard(library, *given, len(sums), room)
        )
        accepted = (radii >= LEAST_RADIUS) & (radii <= MOST_RADIUS)
        assert accepted.mean() > 0.5 if within else not accepted.any()
        for end in (0.0, 1.0):  # of what the unknown bits allow
            with np.errstate(divide="ignore"):
                radius = np.sqrt(-2.0 * np.log(np.minimum((radial + end) * 2.0**-31, 1.0)))
            angle = (angular + end) * (np.pi / 2**31)
            off = np.abs(made - np.concatenate([radius * np.cos(angle), radius * np.sin(angle)]))
            assert off[np.tile(accepted, 2)].max(initial=0.0) < 0.8 * ERROR


def test_draws_are_standard_normal_and_a_hundredth_less_is_noticed(keys):
    values = np.sort(drawn(keys))
    values += (np.random.default_rng(0).random(values.size) - 0.5) * grid_of(1.5, 1.0) / 1.5  # within the cell
    values.sort()
    assert min(p_values(values).values()) > LOWEST
    smaller = p_values(values / 1.01)
    assert smaller["variance"] < LOWEST
    assert smaller["ks"] < LOWEST


def test_cells_have_their_probabilities():
    """2,000 cells by chi-square; beyond, the tails."""
    count, scale = 4_000_000, 1024.0
    found, grid = cells(count, seeded(8).key("noise", 0, "w"), deviation=1.0)
    assert grid == 1.0 / scale
    edges = np.arange(-1000, 1001) * 4
    inside = np.histogram(found, bins=edges - 0.5)[0]
    chances = np.diff(special.ndtr((edges - 0.5) / scale))
    beyond = (found < edges[0] - 0.5).sum(), (found > edges[-1] - 0.5).sum()
    observed = np.array([beyond[0], *inside, beyond[1]])
    expected = count * np.array(
        [special.ndtr((edges[0] - 0.5) / scale), *chances, special.ndtr(-(edges[-1] - 0.5) / scale)]
    )
    kept = expected > 5.0
    observed, expected = (
        np.append(observed[kept], observed[~kept].sum()),
        np.append(expected[kept], expected[~kept].sum()),
    )
    statistic = float(np.sum((observed - expected) ** 2 / np.maximum(expected, 1e-9)))
    assert LOWEST < stats.chi2.sf(statistic, observed.size - 1) < 1.0 - LOWEST


def test_the_low_bits_of_a_cell_say_nothing_of_the_sum():
    """Whatever is added, cells are even and odd, and multiples of 16 and not, as often as they should be."""
    for number, sums in enumerate((torch.zeros(400_000), torch.full((400_000,), 0.37))):
        found, _ = cells(400_000, seeded(number).key("noise", 0, "w"), deviation=50.0, sums=sums)
        assert stats.chisquare(np.bincount(found.astype(np.int64) % 16, minlength=16)).pvalue > LOWEST


def test_low_bits_are_not_repeated():
    """Pairs of 64 bits never, the last 24 bits of values as often as chance has it."""
    words, last_bits = repetitions(keys=4, pairs=2**18)
    assert words["found"] == 0
    assert last_bits["p-value"] > LOWEST


def test_noise_is_independent_across_steps_parameters_and_runs(keys):
    count = 1_000_000
    base = drawn(keys, 0, "w", count)
    others = {
        "next step": drawn(keys, 1, "w", count),
        "other parameter": drawn(keys, 0, "v", count),
        "after a resume": drawn(Keys(), 0, "w", count),
        "its own neighbours": np.roll(base, 1),
        "its own second half": np.roll(base, ROW),
    }
    for what, other in others.items():
        for f in (lambda x: x, np.abs, np.sign):
            a, b = f(base) - f(base).mean(), f(other) - f(other).mean()
            correlation = float(a @ b / np.sqrt((a @ a) * (b @ b)))
            assert 2 * special.ndtr(-abs(correlation) * np.sqrt(count)) > LOWEST, what


def test_a_value_is_a_function_of_key_and_place_alone():
    key = seeded(3).key("noise", 0, "w")
    whole, _ = cells(4 * ROW + 100, key)
    for count in (0, 1, 2, 3, 16, 17, ROW - 1, ROW, ROW + 1, 2 * ROW, 2 * ROW + 3, 4 * ROW + 100):
        torch.manual_seed(count)
        assert np.array_equal(cells(count, key)[0], whole[:count])
    grid = grid_of(1.0, 1.0)
    assert rounded(torch.zeros(3, 0, 2), deviation=1.0, grid=grid, key=key).shape == (3, 0, 2)
    assert rounded(torch.zeros(()), deviation=1.0, grid=grid, key=key) == whole[0] * grid
    square = rounded(torch.zeros(5, 4).T, deviation=1.0, grid=grid, key=key)
    assert np.array_equal(square.numpy().ravel() / grid, whole[:20])


def test_all_devices_release_the_same():
    """The steps for other devices, on the CPU's tensors."""
    key, count = seeded(4).key("noise", 0, "w"), 2 * ROW + 999
    sums = torch.from_numpy(np.random.default_rng(2).standard_normal(count).astype(np.float32))
    for deviation in (1.3, 1e-4):
        grid, made = grid_of(deviation, 1.0), sums.clone()
        words = lambda first, number: stream.on_device(key, CPU, first, number)  # noqa: E731
        module._fill(torch, made, deviation, grid, [module._Part(words, key, count)])
        assert torch.equal(made, rounded(sums, deviation=deviation, grid=grid, key=key))
        whole, row = made, sums[2 * ROW :].clone()
        module._fill(torch, row, deviation, grid, [module._Part(words, key, len(row), 2 * ROW)])
        assert torch.equal(row, whole[2 * ROW :])
        several = [module._Part(words, key, size) for size in (7, 1000)]
        module._fill(torch, made := sums[:1007].clone(), deviation, grid, several)
        alone = [rounded(part, deviation=deviation, grid=grid, key=key) for part in sums[:1007].split([7, 1000])]
        assert torch.equal(made, torch.cat(alone))


def test_tensors_that_are_computed_together_get_what_each_would_get_alone(refined):
    """Also those that are refined: each tensor numbers its own."""
    sizes = (3, ROW + 5, 1, 0, 900, 2 * ROW, 20_000, ROW, 77)
    random = np.random.default_rng(5)
    keys = [random.bytes(32) for _ in sizes]
    given = [torch.from_numpy(random.standard_normal(size).astype(np.float32)) for size in sizes]
    for deviation in (1.0, 2.0**-12):
        together = [tensor.clone() for tensor in given]
        module.round_in_place(together, deviation=deviation, grid=deviation / 1024, keys=keys)
        asked = len(refined[0])
        alone = [
            rounded(tensor, deviation=deviation, grid=deviation / 1024, key=key)
            for tensor, key in zip(given, keys, strict=True)
        ]
        assert asked == 5  # of the six small tensors, four fit in one row
        refined[0].clear()
        assert all(torch.equal(*pair) for pair in zip(together, alone, strict=True))


def test_the_grid_is_public_and_about_a_thousandth_of_the_deviation():
    for deviation in (1e-6, 0.3, 1.0, 1024.0, 1e20):
        grid = grid_of(deviation, 1e-9)
        assert 512 < deviation / grid <= 1024
        assert math.frexp(grid)[0] == 0.5
    assert grid_of(0.0, 1.0) == 0.0
    assert grid_of(1e-30, 1.0) == 2.0**-30  # noise that protects nobody need not be resolved
    given = torch.randn(10)
    assert torch.equal(rounded(given, deviation=0.0, grid=0.0, key=bytes(32)), given)
    with pytest.raises(TrainingError, match="not finite"):
        rounded(torch.tensor([1.0, math.nan]), deviation=1.0, grid=0.5, key=bytes(32))


def test_far_tails_are_reached():
    largest = max(float(np.abs(cells(1 << 17, np.random.default_rng(n).bytes(32))[0]).max()) for n in range(12)) / 1024
    assert 4.5 < largest < 7.5


def test_a_stream_does_not_begin_again():
    for draw in (
        lambda *given: stream.on_host(bytes(32), *given),
        lambda *given: stream.on_device(bytes(32), CPU, *given),
    ):
        assert len(draw(stream.MOST_WORDS - 16, 16)) == 16
        with pytest.raises(TrainingError, match="would repeat"):
            draw(stream.MOST_WORDS - 16, 17)


def test_the_cipher_of_the_host_is_that_of_other_devices():
    for first in (0, 16, 16 * (2**32 - 5)):
        assert np.array_equal(stream.on_host(b"k" * 32, first, 70), stream.on_device(b"k" * 32, CPU, first, 70).numpy())
    reader = stream.Reader(b"k" * 32)
    numbers = np.concatenate([reader.numbers(3), reader.numbers(0), reader.numbers(30)])
    assert np.array_equal(numbers.view(np.int32), stream.on_host(b"k" * 32, 0, 66))


def chacha_in_plain_python(key, counter, nonce):
    """RFC 8439, section 2.3, on Python integers: independent of the tensor code."""
    rotated = lambda x, n: ((x << n) | (x >> (32 - n))) & 0xFFFFFFFF  # noqa: E731
    words = lambda data: [int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4)]  # noqa: E731
    start = words(b"expand 32-byte k") + words(key) + [counter] + words(nonce)
    x = list(start)

    def quarter(a, b, c, d):
        for first, second, third, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[first] = (x[first] + x[second]) & 0xFFFFFFFF
            x[third] = rotated(x[third] ^ x[first], bits)

    for _ in range(10):
        for column in range(4):
            quarter(column, 4 + column, 8 + column, 12 + column)
        for diagonal in range(4):
            quarter(diagonal, 4 + (diagonal + 1) % 4, 8 + (diagonal + 2) % 4, 12 + (diagonal + 3) % 4)
    return [(a + b) & 0xFFFFFFFF for a, b in zip(x, start, strict=True)]


def test_chacha_gives_the_words_of_rfc_8439():
    made = chacha.blocks(bytes(range(32)), 1, CPU, first=1, nonce=bytes.fromhex("000000090000004a00000000"))[:, 0]
    assert " ".join(f"{word:08x}" for word in made.tolist()) == (
        "e4e7f110 15593bd1 1fdd0f50 c47120a3 c7f4d1c7 0368c033 9aaa2204 4e6cd4c3 "
        "466482d2 09aa9f07 05d7c214 a2028bd9 d19c12b5 b94e16de e883d0cb 4e3c50a2"
    )


def test_chacha_on_tensors_is_chacha_on_integers():
    generator = np.random.default_rng(1)
    for _ in range(20):
        key, first = generator.bytes(32), int(generator.integers(0, 2**32 - 8))
        made = chacha.blocks(key, 8, CPU, first=first)
        for place in range(8):
            assert made[:, place].tolist() == chacha_in_plain_python(key, first + place, bytes(12))


def test_slices_get_the_values_that_the_whole_would_get(refined):
    """Processes that hold parts of a tensor draw the noise of their own parts: it is that of one draw over the whole."""
    size, random = 4 * ROW + 5_000, np.random.default_rng(7)
    sums = [torch.from_numpy(3 * random.standard_normal(many).astype(np.float32)) for many in (size, 700)]
    keys, scale = [random.bytes(32) for _ in sums], {"deviation": 1.3, "grid": grid_of(1.3, 1.0)}
    whole = [rounded(one, key=key, **scale) for one, key in zip(sums, keys, strict=True)]
    assert refined[0]
    large = [0, 1, 700, ROW - 3, ROW + 5, 2 * ROW, 2 * ROW + 17, size - 1, size, size]
    places = [(0, *ends) for ends in itertools.pairwise(large)] + [
        (1, *ends) for ends in ((0, 0), (0, 333), (333, 700))
    ]
    parts = [sums[which][first:last].clone() for which, first, last in places]
    module.round_in_place(parts, keys=[keys[which] for which, *_ in places], firsts=[p[1] for p in places], **scale)
    for part, (which, first, last) in zip(parts, places, strict=True):
        assert torch.equal(part, whole[which][first:last]), (which, first, last)
