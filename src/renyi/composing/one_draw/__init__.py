"""Several releases on one draw of the records, as one law that a sampling can take.

Read ``one_draw_law``; ``tilt_ladder`` composes on a lattice with digits left in both tails, because a sampling needs all of
them.
"""
