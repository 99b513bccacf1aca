"""Commands that answer a question with a number.

Read ``epsilon``; the others differ in what is asked for.
"""
