"""The ledger on the page: budgets, what is left of them, what was written; releases tried, and charged where that is allowed.

Read ``fields`` (what an address or a form says of a charge), then ``looking`` and ``charging``, which run in worker processes
of their own, the only ones that know where the ledger is; ``pages`` puts their answers together.
"""
