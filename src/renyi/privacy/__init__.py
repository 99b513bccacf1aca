"""The mathematics of privacy loss: relations, intervals, pairs, curves, and the conversions between them."""
