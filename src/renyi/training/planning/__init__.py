"""What is fixed before a run sees any data: steps, sampling, noise, what is clipped and how, and what changes over time."""
