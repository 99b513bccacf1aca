"""From an event to an interval: the laws of a run are composed, each method in its own way.

Read in this order. ``question``: epsilon at a delta, or delta at an epsilon. ``event_laws``: one walk over an event that
finds its laws; ``steps``: laws with counts, made once per relation. ``method``: what every method promises. ``compose``:
methods are asked in turn, for both ends, and the worst relation decides.

Then the methods: ``closed`` (one step, and bounds that need no work), ``sums`` (finitely many losses), ``contour`` (an
integral along a line), ``grid`` (a lattice), ``scales`` (lattices of many scales), ``renyi`` (the best order of a Renyi
curve). ``one_draw`` makes one law of several releases on one draw, ``search`` one of the best of several runs; ``common`` holds
what several methods need.
"""
