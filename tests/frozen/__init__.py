"""What the accountants answered before the house was rebuilt, so that nothing is lost on the way."""
