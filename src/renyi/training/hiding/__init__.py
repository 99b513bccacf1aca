"""What is kept from being seen by accident.

Read ``private`` (values that show themselves only on purpose), ``hidden`` (errors without private values) and ``silence`` (code
that runs without printing).
"""
