"""A profile seen at finitely many points, and the finite laws above and below it that these points give."""
