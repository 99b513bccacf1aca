"""The kinds of dominating pairs that several rooms use; what serves one sampling alone lives with it.

Read ``gaussian`` and ``finite`` first. ``density`` integrates densities that a user gave, ``sorted`` holds many outcomes as
arrays, ``curve_pair`` is the pair of what is known by Renyi curves only.
"""
