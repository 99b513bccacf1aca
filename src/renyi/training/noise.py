"""Standard Gaussian noise in float32, on the device of the parameter it is for.

Random bits come from a generator keyed by 256 bits of ``entropy``; pairs of them become pairs of normal numbers by the
method of Box and Muller (1958): r cos(a) and r sin(a) with r = sqrt(-2 log(u)). On the CPU the bits come from NumPy's
Philox-4x64, which is fast; on any other device from ChaCha20 computed there, so that nothing is copied from the host.
Far tails are reached: the smallest uniform numbers get further bits, so that values beyond 6 standard deviations occur
as often as they should.

As floating-point numbers the values lie on a grid; what an attacker could read from it is an assumption that every
guarantee states.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray

from renyi.training import chacha

CHUNK = 1 << 17  # values made at a time on the CPU: they stay in its cache
FEW = 1 << 11  # a 31-bit uniform number below this many units gets 53 more bits
DEVICE_CHUNK = 1 << 20  # blocks of ChaCha at a time elsewhere: 128 MB of state
PAIRS = 5  # pairs of normal numbers that one block of sixteen words gives


def standard_normal(shape: torch.Size | tuple[int, ...], key: bytes, device: torch.device) -> torch.Tensor:
    """Independent standard normal numbers, a function of the key alone on each kind of device."""
    made = torch.empty(math.prod(shape), dtype=torch.float32, device=device)
    if device.type == "cpu":
        _fill_on_host(made.numpy(), key)
    else:
        fill_on_device(made, key)
    return made.reshape(shape)


def philox(key: bytes) -> np.random.Generator:
    """NumPy's counter-based generator under a key of ours.

    128 bits as its key, 128 as the upper half of its counter.
    """
    words = np.frombuffer(key, dtype="<u8")
    return np.random.Generator(np.random.Philox(key=words[:2], counter=[0, 0, *words[2:].tolist()]))


def _fill_on_host(made: NDArray[np.float32], key: bytes) -> None:
    """Fill an array in NumPy: its loops need no second thread, which on a busy machine would cost more than it brings."""
    generator = philox(key)
    most = min(CHUNK, made.size + 1) // 2
    uniforms, angles = np.empty(most, dtype=np.float32), np.empty(most, dtype=np.float32)
    for start in range(0, made.size, CHUNK):
        part = made[start : start + CHUNK]
        pairs = (part.size + 1) // 2
        words = generator.integers(0, 2**64 - 1, pairs, dtype=np.uint64, endpoint=True).view(np.int32)
        magnitude, uniform, angle = words[:pairs], uniforms[:pairs], angles[:pairs]
        np.bitwise_and(magnitude, 0x7FFFFFFF, out=magnitude)
        np.add(magnitude, np.float32(0.5), out=uniform, dtype=np.float32, casting="unsafe")
        if uniform.min() < FEW:
            few = np.flatnonzero(magnitude < FEW)
            uniform[few] = np.maximum(magnitude[few] + generator.random(few.size), 2.0**-53)
        uniform *= np.float32(2.0**-31)
        np.log(uniform, out=uniform)
        uniform *= np.float32(-2.0)
        radius = np.sqrt(uniform, out=uniform)
        np.multiply(words[pairs:], np.float32(math.pi / 2**31), out=angle, dtype=np.float32, casting="unsafe")
        rest = part.size - pairs
        np.multiply(np.cos(angle), radius, out=part[:pairs])
        np.multiply(np.sin(angle[:rest]), radius[:rest], out=part[pairs:])


def fill_on_device(made: torch.Tensor, key: bytes) -> None:
    """Fill a tensor by ChaCha20 on its own device, in words and counters only.

    No generator, no host, no synchronisation.
    """
    per_chunk = DEVICE_CHUNK * 2 * PAIRS
    for start in range(0, made.numel(), per_chunk):
        part = made[start : start + per_chunk]
        count = -(-part.numel() // (2 * PAIRS))
        words = chacha.blocks(key, count, made.device, first=start // (2 * PAIRS))
        high, low, angle = (words[i * PAIRS : (i + 1) * PAIRS].reshape(-1).float() for i in range(3))
        pairs = (part.numel() + 1) // 2
        uniform = high.add_(low.add_(0.5).mul_(2.0**-32))[:pairs]
        radius = uniform.mul_(2.0**-32).log_().mul_(-2.0).sqrt_()
        turn = angle[:pairs] * (math.pi / 2**31)
        rest = part.numel() - pairs
        torch.cos(turn, out=part[:pairs]).mul_(radius)
        torch.sin(turn[:rest], out=part[pairs:]).mul_(radius[:rest])
