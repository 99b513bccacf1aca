"""The loss transform of the sampled Gaussian off the real line, against sums with forty digits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mpmath import exp, log, mp, mpc, mpf, pi, sqrt

from renyi.errors import ConvergenceError
from renyi.sampling.poisson.gaussian.transform import SampledGaussianTransform

CASES = [  # rate, noise, tilt, frequency, adding, step of the reference sum
    (0.01, 1.0, 5.0, 3.0, False, 0.05),
    (1e-4, 5.0, 60.0, 30.0, False, 0.1),
    (0.01, 1.0, 20.0, 60.0, True, 0.02),
    (0.02, 0.3, 0.4, 100.0, False, 0.01),
    (1e-5, 0.4, 2.0, 40.0, False, 0.02),
    (0.5, 10.0, 20.0, 10.0, True, 0.1),
    (0.999, 1.0, 15.0, 4.0, True, 0.02),
]


def reference(rate, noise, power, step):
    """log E[r^p] by a rule so fine that forty digits are right."""
    with mp.workdps(40):
        q, s, p, h = mpf(rate), mpf(noise), mpc(power), mpf(step)
        low = -14 - max(mpf(0), -p.real) / s
        high = 14 + (max(p.real, mpf(2)) + 2) / s
        total = mpc(0)
        for k in range(int(low / h), int(high / h) + 1):
            u = k * h
            total += exp(-u * u / 2) * (1 - q + q * exp(u / s - 1 / (2 * s * s))) ** p
        return complex(log(total * h / sqrt(2 * pi)))


@pytest.mark.parametrize(("rate", "noise", "tilt", "frequency", "adding", "step"), CASES)
def test_line(rate, noise, tilt, frequency, adding, step):
    line = SampledGaussianTransform(rate, noise, adding).line(tilt, frequency / 4, 5)
    size = abs(line[0])
    for j in (0, 1, 4):
        t = complex(tilt, frequency / 4 * j)
        truth = reference(rate, noise, -t if adding else t + 1, step)
        assert abs(line[j].real - truth.real) <= 1e-13 * max(size, abs(truth))
        turns = (line[j].imag - truth.imag) / (2 * math.pi)
        assert abs(turns - round(turns)) <= 1e-12


@settings(deadline=None, max_examples=40)
@given(
    log_rate=st.floats(-6, -0.01),
    log_noise=st.floats(-0.6, 2.0),
    log_tilt=st.floats(-2, 2),
    reach=st.floats(0.1, 30.0),
    adding=st.booleans(),
)
def test_nothing_beyond_a_frequency_exceeds_the_decay(log_rate, log_noise, log_tilt, reach, adding):
    """The bound that lets a line end holds at every frequency behind its end."""
    transform = SampledGaussianTransform(10**log_rate, 10**log_noise, adding)
    tilt = 10**log_tilt
    here = transform.cumulants(tilt * np.array([0.98, 1.0, 1.02]))
    spread = math.sqrt(max((here[2] - 2 * here[1] + here[0]) / (0.02 * tilt) ** 2, 1e-300))
    frequency = reach * min(1.0 / spread, 1e3)
    bound = transform.log_decay(tilt, frequency)
    try:
        line = transform.line(tilt, frequency, 8)
    except ConvergenceError:
        assume(False)
    behind = line[1:].real - line[0].real
    assert bound <= 0.0
    # Below e^-30 of the whole only rounding is left of a sum.
    assert np.all(behind <= max(bound, -30.0) + 1e-12 * max(1.0, abs(line[0].real)))
