"""How closely answers are asked for, and where nothing more is said: what several methods have to agree on."""

from __future__ import annotations

GAP = 5e-5
"""The relative width of epsilon that is asked of lattices; the upper end is about six times nearer to the truth."""

SMALLEST_EPSILON = 1e-6
"""An epsilon below which only its absolute error counts."""

FAINTEST_DELTA = 1e-300
"""A delta below which there is no lower end, and no law on a lattice: what finite laws leave out counts there."""

FULLY_COUNTED = 42.0
"""A loss beyond epsilon by this much counts fully: from 37 on, 1 - e^(epsilon - loss) is 1 to rounding."""
