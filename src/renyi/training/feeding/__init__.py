"""From a dataset to batches.

Read ``units`` (what one person or example contributes; with ``offsets``, whose rows are whose in a sorted dataset), ``loading``
(drawn units are fetched) and ``tickets`` (each batch can be used once).
"""
