"""The command line ``renyi``: each command turns arguments into values, and values into a report."""
