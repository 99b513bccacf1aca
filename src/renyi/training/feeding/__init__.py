"""From a dataset to batches: units, the draws of them that are loaded, and tickets that are used once."""
