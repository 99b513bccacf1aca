"""The command line ``renyi``: each command turns arguments into values, and values into a report.

Read ``questions`` (its ``epsilon`` is the shortest command), then ``options`` (arguments to events), ``run`` (reports to output
and exit codes) and ``main``, which lists the commands. Every other file is a command of the same name.
"""
