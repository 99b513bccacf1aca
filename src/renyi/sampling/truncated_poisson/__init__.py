"""Truncated Poisson sampling: Poisson draws cut to a largest batch."""
