"""Random allocation of Gaussian noise: the transform of an epoch's loss on vertical lines, which a contour composes.

Read ``powers`` (moments of a mean of log-normal ratios, at complex powers), then ``poisson_counts`` (what they are integrals
of), then ``transform``.
"""
