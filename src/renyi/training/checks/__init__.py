"""What looks whether a run keeps its promises: leaks between units, unnoised tensors, strangers at the optimizer.

``checks`` says when; ``leaks`` what is looked for, with ``trial``, ``batch_mates``, ``two_sample_test`` and ``culprit``;
``oracle`` compares gradients with a loop over units; ``watch`` and ``guard`` stand by between releases.
"""
