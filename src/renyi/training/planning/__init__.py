"""The plan of a run, fixed before it sees any data: steps, sampling, noise, clipping, and schedules."""
