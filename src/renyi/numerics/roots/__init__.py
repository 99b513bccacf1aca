"""Where a function of one variable crosses zero, or is smallest."""
