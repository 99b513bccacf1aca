"""A profile seen at finitely many points, and the finite laws above and below it that these points give.

Read ``dots`` (connecting them, which gives laws with masses), then ``convex_dots`` (slopes and hulls) and ``lattice`` (which
points to look at).
"""
