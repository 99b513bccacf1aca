"""Noise that can be read: float32 Box-Muller values added in floating point, as this library released them up to 59c7402.

Kept for the attacks of ``test_attacks``, which must succeed against it to prove anything by failing against ``rounded``, and
for the time that it took.
"""

from __future__ import annotations

import math

import numpy as np

CHUNK = 1 << 17


def standard_normal(count, key):
    """Pairs from 31-bit uniform numbers of NumPy's Philox generator, all in float32; a pair is half a chunk apart."""
    words = np.frombuffer(key, dtype="<u8")
    generator = np.random.Generator(np.random.Philox(key=words[:2], counter=[0, 0, *words[2:].tolist()]))
    made = np.empty(count, dtype=np.float32)
    most = min(CHUNK, made.size + 1) // 2
    uniforms, angles = np.empty(most, dtype=np.float32), np.empty(most, dtype=np.float32)
    for start in range(0, made.size, CHUNK):
        part = made[start : start + CHUNK]
        pairs = (part.size + 1) // 2
        words = generator.integers(0, 2**64 - 1, pairs, dtype=np.uint64, endpoint=True).view(np.int32)
        magnitude, uniform, angle = words[:pairs], uniforms[:pairs], angles[:pairs]
        np.bitwise_and(magnitude, 0x7FFFFFFF, out=magnitude)
        np.add(magnitude, np.float32(0.5), out=uniform, dtype=np.float32, casting="unsafe")
        uniform *= np.float32(2.0**-31)
        np.log(uniform, out=uniform)
        uniform *= np.float32(-2.0)
        radius = np.sqrt(uniform, out=uniform)
        np.multiply(words[pairs:], np.float32(math.pi / 2**31), out=angle, dtype=np.float32, casting="unsafe")
        rest = part.size - pairs
        np.multiply(np.cos(angle), radius, out=part[:pairs])
        np.multiply(np.sin(angle[:rest]), radius[:rest], out=part[pairs:])
    return made
