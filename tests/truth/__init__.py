"""Epsilon of compositions to 25 digits and more, by routes that share no code with the package (README.md)."""
