"""What an event costs in the currency of a budget.

Read ``price``, then ``currency`` and its three kinds: ``orders`` (Renyi divergences, with ``division`` to choose at which
orders) and ``concentrated`` (rho and mu squared).
"""
