"""How large an event may be, and how large the JSON of one: numbers that no honest run comes near.

They bound the stack, the memory and the time that a value or a file from anywhere can take. docs/limits.md lists them.
"""

from __future__ import annotations

from renyi import check

MOST_NESTED = 20
"""Samples, groups and searches one inside another. Sums and repetitions do not count: they are flattened."""

DEEPEST = 3 * MOST_NESTED + 3
"""Depth of an event as a value, above which it is flattened: in canonical form each of the nested ones, and the whole, is at
most a sum of repetitions. Copying takes seven Python frames a level, which leaves half of the usual 1,000 to the caller."""

MOST_EVENTS = 200_000
"""Events that one event consists of, like ones merged: a question about a sum of so many unlike releases takes 5 s."""

LARGEST_UNSORTED = 10_000
"""Events that one may hold as it was written, above which it is put into canonical form: ``Composed((e, e))`` in a loop doubles
what there is to walk over, print and copy, though it is one repetition."""

MOST_RELEASES = check.LARGEST_COUNT
"""Releases of one event in all, and records of one group: above it, no float could hold what they cost."""

MOST_CHARACTERS = 3_000_000
"""Characters of a document: whatever they are, they are read or refused within a second."""

MOST_OBJECTS = 50_000
"""Objects of a document, of which a mechanism has two (its parameters are one), a sampling two, any other event one: 25,000
unlike releases, or 10,000 unlike steps on samples."""

MOST_BRACKETS = 2 * DEEPEST + 10
"""Brackets of a document one inside another: a sum has two, then there are the envelope, parameters and tables."""

MOST_DIGITS = 400
"""Digits of one number of a document, signs and exponent included: the largest count has 301, and a float without
an exponent about 330."""
