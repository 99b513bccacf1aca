"""What is written down: the journal's lines, checkpoints, how a run finds its journal, and what is taken for granted."""
