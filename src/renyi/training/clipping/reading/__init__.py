"""Gradients of single units, read off one backward pass: which call used which parameter, and where its units are."""
