"""The best of a random number of runs, as one law that composes with others.

Read ``search_pair``, which has the theorem; ``payoff`` computes its supremum, ``profile_table`` holds profiles as finite pairs.
"""
