"""From a dataset to batches.

Read ``units`` (what one person or example contributes), ``loading`` (drawn units are fetched) and ``tickets`` (each batch can
be used once).
"""
