"""The noise.

Gaussian, of the right size, independent across steps, parameters and runs, made where the parameter is.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import special, stats

from renyi.training import chacha, seeded
from renyi.training.entropy import Keys
from renyi.training.noise import CHUNK, fill_on_device, standard_normal

CPU = torch.device("cpu")
LOWEST = 1e-6


def drawn(keys, step=0, name="w", count=10_000_000):
    return standard_normal((count,), keys.key("noise", step, name), CPU).numpy().astype(np.float64)


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


@pytest.mark.parametrize("keys", [seeded(1), Keys()], ids=["seeded", "operating system"])
def test_ten_million_draws_are_standard_normal_and_a_hundredth_less_is_noticed(keys):
    values = np.sort(drawn(keys))
    assert min(p_values(values).values()) > LOWEST
    smaller = p_values(values / 1.01)
    assert smaller["variance"] < LOWEST
    assert smaller["ks"] < LOWEST


@pytest.mark.parametrize("keys", [seeded(2), Keys()], ids=["seeded", "operating system"])
def test_noise_is_independent_across_steps_parameters_and_runs(keys):
    count = 1_000_000
    base = drawn(keys, 0, "w", count)
    others = {
        "next step": drawn(keys, 1, "w", count),
        "other parameter": drawn(keys, 0, "v", count),
        "after a resume": drawn(Keys(), 0, "w", count),
        "its own neighbours": np.roll(base, 1),
        "its own second half": np.roll(base, CHUNK // 2),
    }
    for what, other in others.items():
        for f in (lambda x: x, np.abs, np.sign):
            a, b = f(base) - f(base).mean(), f(other) - f(other).mean()
            correlation = float(a @ b / np.sqrt((a @ a) * (b @ b)))
            assert 2 * special.ndtr(-abs(correlation) * np.sqrt(count)) > LOWEST, what


def test_the_values_depend_on_the_key_alone_and_any_length_works():
    key = seeded(3).key("noise", 0, "w")
    for count in (0, 1, 2, 3, 10, 11, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 3):
        values = standard_normal((count,), key, CPU)
        torch.manual_seed(count)
        assert torch.equal(values, standard_normal((count,), key, CPU))
        assert values.isfinite().all()
        assert values.dtype == torch.float32
    assert standard_normal((3, 0, 2), key, CPU).shape == (3, 0, 2)
    assert standard_normal((4, 5), key, CPU).unique().numel() == 20
    assert standard_normal((), key, CPU).shape == ()


def test_far_tails_are_reached():
    """The rare small uniform numbers get more bits: the largest radius is not cut at 31 bits."""
    generator = np.random.default_rng(0)
    largest = max(float(standard_normal((CHUNK,), generator.bytes(32), CPU).abs().max()) for _ in range(12))
    assert largest > 4.5


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


@pytest.mark.parametrize("keys", [seeded(4), Keys()], ids=["seeded", "operating system"])
def test_the_generator_for_other_devices_has_the_same_statistics(keys):
    values = torch.empty(1_000_003)
    fill_on_device(values, keys.key("noise", 0, "w"))
    values = np.sort(values.numpy().astype(np.float64))
    assert min(p_values(values).values()) > LOWEST
    assert p_values(values / 1.01)["variance"] < LOWEST


def test_noise_for_another_device_is_made_there(monkeypatch):
    """On the meta device no value exists: whatever would copy from the host, or look at a number, would fail."""
    device = torch.device("meta")
    key = seeded(5).key("noise", 0, "w")
    monkeypatch.setattr(torch, "from_numpy", None)
    monkeypatch.setattr(torch, "tensor", None)
    made = standard_normal((300, 20), key, device)
    assert made.device == device
    assert made.shape == (300, 20)
    assert made.dtype == torch.float32
