"""The same run every time: hypothesis draws what follows from the tests' own text, and looks at no clock.

With ``RENYI_SEED`` set, which ``scripts/test.py --fresh`` and ``make full`` do, it draws from that seed.
"""

from __future__ import annotations

from hypothesis import settings

from tests import examples

settings.register_profile("fixed", derandomize=True, deadline=None, database=None)
settings.register_profile("fresh", derandomize=False, deadline=None, database=None, print_blob=True)
settings.load_profile("fresh" if examples.FRESH else "fixed")
