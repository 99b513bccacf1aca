"""What looks whether a run keeps its promises: leaks between units, unnoised tensors, strangers at the optimizer.

``checks`` says when; ``leaks`` what is looked for; ``watch`` and ``guard`` stand by between releases.
"""
