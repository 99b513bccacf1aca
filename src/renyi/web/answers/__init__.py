"""The questions of the page, one file each, as worker processes answer them: a form in, values for JSON out.

Every answer comes from the functions that the command uses, and numbers are shortened to the safe side. Read ``answer``, then
``asking``, the list of them all.
"""
