"""Per-unit gradient clipping for DP-SGD, without per-unit gradients.

``clipper`` is what a run uses. It reads the gradients off one backward pass (``reading``), layer by layer with the ``rules``,
scales them to the ``bounds``, and sums; ``fallback`` maps the whole model over units where a layer has no rule.
"""
