"""Limits on the size of an event and of its JSON, far above what a real run needs.

They bound the stack, the memory and the time that a value or an untrusted file can take. docs/limits.md lists them.
"""

from __future__ import annotations

from renyi import check

MOST_NESTED = 20
"""Samples, groups and searches nested inside each other. Sums and repetitions do not count: they are flattened."""

DEEPEST = 3 * MOST_NESTED + 3
"""Depth above which an event is flattened: in canonical form each nested event, and the whole, is at most a sum of repetitions,
which makes three levels. Copying takes seven Python frames per level, which leaves half of the usual 1,000 to the caller."""

MOST_EVENTS = 200_000
"""Events that one event may consist of after equal ones are merged: a question about so many different releases takes 5 s."""

LARGEST_UNSORTED = 10_000
"""Events that one may hold as written; a larger one is put into canonical form. ``Composed((e, e))`` in a loop doubles what
there is to walk over, print and copy, although it is one repetition."""

MOST_RELEASES = check.LARGEST_COUNT
"""Releases of one event in all, and records of one group; beyond this no float could hold their cost."""

MOST_CHARACTERS = 3_000_000
"""Characters of a document; any text of this length is read or refused within a second."""

MOST_OBJECTS = 50_000
"""Objects of a document. A mechanism takes two (its parameters are one), a sampling two, any other event one: enough for 25,000
different releases, or 10,000 different steps on samples."""

MOST_BRACKETS = 2 * DEEPEST + 10
"""Nested brackets of a document: two for each sum, and a few for the envelope, parameters and tables."""

MOST_DIGITS = 400
"""Digits of one number of a document, signs and exponent included: the largest count has 301, and a float without
an exponent about 330."""
