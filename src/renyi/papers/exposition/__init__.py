"""The notes "Great but Manageable Expectations" on Renyi differential privacy: routes, notions, claims and a conjecture.

Read ``routes`` (three ways to the epsilon of DP-SGD), then ``chernoff``, ``notions`` and ``concentrated``. ``claim_26`` and
``conjecture_1`` compute what the notes claim or suppose.
"""
