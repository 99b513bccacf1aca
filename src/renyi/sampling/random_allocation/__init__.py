"""Random allocation: every record is used in one step of an epoch, chosen at random.

Read ``random_allocation``, the sampling; ``moments`` computes its divergences.
"""
