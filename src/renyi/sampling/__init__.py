"""How the records of one release are drawn, and what that does to its privacy loss."""
