"""The command ``renyi``: arguments to values, values to a report."""
