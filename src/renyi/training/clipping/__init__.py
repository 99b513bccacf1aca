"""Per-unit gradient clipping for DP-SGD, without forming per-unit gradients.

``clipper`` is what a run uses. It reads the gradients off one backward pass (``reading``), layer by layer with the ``rules``,
scales them to the ``bounds`` (``factors``), and sums them; ``fallback`` maps the whole model over units if a layer has no
rule.
"""
