"""Long trials of the ledger with real processes, real servers and real faults; the tests run each of them in a short form.

``spenders`` many processes at once; ``kills`` processes and servers that are killed; ``faults`` system calls that fail;
``tampering`` every byte and column changed once; ``speed`` what a spend and a status cost. ``__main__`` runs them all and holds
them against ``limits``.
"""
