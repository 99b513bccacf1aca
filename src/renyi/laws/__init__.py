"""What is known of one release for one relation: dominating pairs, Renyi curves, transforms, and what follows from them.

Read ``relation`` (which two datasets are compared), ``interval``, ``pair`` (the law of the privacy loss) and ``curves.curve``
first; then the kinds of pairs in ``pairs``. ``conversion`` leads from curves to epsilon and delta, ``trade_offs`` to the
error rates of an attacker.
"""
