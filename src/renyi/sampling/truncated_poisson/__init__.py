"""Poisson draws that are cut at a largest batch."""
