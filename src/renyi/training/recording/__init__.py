"""What a run writes down: the lines of its journal, checkpoints, and the assumptions of its guarantee."""
