"""What a run writes down, from which alone its guarantee is computed.

Read ``record`` (the lines of the journal), ``opening`` (new or resumed), ``checkpoint`` and ``assumptions`` (in words).
"""
