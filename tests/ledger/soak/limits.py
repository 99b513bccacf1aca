"""What the trials are held against: a limit that is missed is listed in the result, and the soak fails."""

from __future__ import annotations

AT_MOST = {
    "lost": 0,
    "unnoticed": 0,
    "slowest process / median process": 3.0,
    "slowest spend, s": 30.0,
    "processor, ms": 2.0,
    "slowest status, s": 0.2,
}
"""The largest number that is promised under each name of a result, or the longest list."""


def missed(found):
    """Every limit that what was found misses, in words; results may hold results."""
    for name, value in found.items():
        if isinstance(value, dict):
            yield from (f"{name}: {each}" for each in missed(value))
        elif name == "exact" and not value:
            yield "the total is not exact"
        elif name in AT_MOST:
            number = len(value) if isinstance(value, list) else value
            if not number <= AT_MOST[name]:
                yield f"{name}: {number:.4g}, where at most {AT_MOST[name]:g} is promised"
