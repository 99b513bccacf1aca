"""What several methods need: largest losses, lower bounds on delta by Chernoff, laws as sources of lattices."""
