"""The forms of a statement, one file each: functions of what it says, which know nothing of how that was found.

Read ``text``, the shortest. ``page`` is HTML, with ``svg`` for its plots; ``table`` is the part that notebooks
show. ``registry`` and ``card`` write YAML, by ``yaml``.
"""
