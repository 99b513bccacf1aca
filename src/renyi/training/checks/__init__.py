"""What looks whether a run keeps its promises: leaks between units, unnoised tensors, strangers at the optimizer.

Read ``comparison``, on which every look rests (two batches, the ``same_numbers``, ``in_float64`` when in doubt), then ``look``
(what is compared, with its ``companions``, and ``culprit`` for the words) and ``looks`` (when). ``buffers``, ``watch`` and
``guard`` stand by between releases; ``method`` is what ``run.method()`` tells of it all.
"""
