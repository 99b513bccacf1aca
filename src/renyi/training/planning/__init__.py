"""The plan of a run, fixed before it sees any data.

Read ``plan``; ``clip`` is how one unit's gradient is bounded, ``schedule`` what changes over the steps.
"""
