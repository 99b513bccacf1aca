"""Old paths that CONTRIBUTING.md named: they still work, and warn. What was here is in ``renyi.laws``.

Authors of mechanisms import from ``renyi.authoring`` instead.
"""
