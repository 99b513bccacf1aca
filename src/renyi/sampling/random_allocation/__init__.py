"""Every record in a fixed number of steps out of many, chosen at random."""
