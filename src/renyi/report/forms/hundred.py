"""A hundred little figures that show odds; their colours are those of the page around them."""

from __future__ import annotations

import math

from renyi.numerics.printing import rounded_up

PEOPLE, _PER_ROW = 100, 20
"""Figures that show the odds, and how many stand side by side."""


def hundred(found: float) -> str:
    """A hundred figures, ``found`` of which are filled, the last in part."""
    figures = "".join(
        f'<use href="#person" {_shade(found - k)} x="{10 + 27 * (k % _PER_ROW)}" y="{4 + 30 * (k // _PER_ROW)}"/>'
        for k in range(PEOPLE)
    )
    height = 8 + 30 * math.ceil(PEOPLE / _PER_ROW)
    return f"""<svg viewBox="0 0 560 {height}" role="img" aria-label="{rounded_up(found)} of {PEOPLE} figures are filled">
<defs><g id="person"><circle cx="8" cy="5" r="4"/><path d="M1 23v-5a7 7 0 0 1 14 0v5z"/></g></defs>
{figures}
</svg>"""


def _shade(share: float) -> str:
    """A figure filled, in part, or not at all."""
    if share <= 0.0:
        return 'class="person"'
    return 'class="person found"' if share >= 1.0 else f'class="person found" fill-opacity="{share:.2f}"'
