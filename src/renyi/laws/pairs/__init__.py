"""The kinds of dominating pairs that several rooms use; what serves one sampling alone lives with it.

Read ``gaussian`` first; the pair with finitely many losses is beside its base class, in ``laws.pair``. ``density`` integrates
densities that a user gave, ``curve_pair`` is the pair of what is known by Renyi curves only.
"""
