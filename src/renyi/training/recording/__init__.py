"""What a run writes down, from which alone its guarantee is computed.

Read ``record`` (the lines of the journal), ``opening`` (new or resumed), ``checkpoint`` and ``assumptions`` (in words).
``reserving`` has a ledger pay for a run. ``study`` is about several runs: their ``declaration``, and their ``branches`` where
journals were copied.
"""
