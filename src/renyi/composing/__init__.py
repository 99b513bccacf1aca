"""From an event to an interval: the laws of a run are composed, each method in its own way.

``steps`` turns an event into laws with counts, once per relation; ``one_draw`` makes one law of several releases on one draw.
The methods: ``closed`` (one step), ``sums`` (finitely many losses), ``contour``, ``grid``, ``scales``. What they share is in
``common``.
"""
