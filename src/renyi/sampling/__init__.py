"""Samplings: how the records that a release uses are drawn, and what that does to its privacy loss."""
