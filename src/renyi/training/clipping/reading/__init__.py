"""Reading per-unit gradients off one backward pass: which call used which parameter, and where its units lie.

Read ``book`` (the forward pass), ``tap`` (where gradients are read off), then ``layout`` and ``probe`` (where the units lie).
"""
