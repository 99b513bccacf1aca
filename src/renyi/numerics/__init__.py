"""Numbers in, numbers out; nothing here knows what they stand for."""
