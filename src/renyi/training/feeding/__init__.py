"""From a dataset to batches: units, the loading of drawn units, and single-use tickets."""
