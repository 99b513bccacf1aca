"""Renyi curves: upper bounds on the divergence, as functions of the real order.

Read ``curve``, the type; the others make curves from curves: of a user's function (``called``), of groups (``group``), of the
best of several runs (``tuned``).
"""
