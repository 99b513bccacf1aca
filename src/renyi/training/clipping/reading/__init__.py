"""Reading per-unit gradients off one backward pass: which call used which parameter, and where its units lie."""
