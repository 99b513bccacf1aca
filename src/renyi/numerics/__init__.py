"""Numbers in, numbers out: no privacy words here."""
