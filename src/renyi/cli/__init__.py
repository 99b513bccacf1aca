"""The command line ``renyi``: each command turns arguments into values, and values into a report.

Read ``epsilon``, the shortest command, then ``options`` (arguments to events), ``run`` (reports to output and exit codes) and
``main``. Every other file is a command of the same name.
"""
