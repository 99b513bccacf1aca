"""The method of contours: delta as an integral of the composed transform along a line.

Read ``composition`` (the transform of a run), ``tilt`` (where the line should lie), then ``contour``. ``blurred`` is the same
for long runs whose transforms do not decay.
"""
