"""The parameter that meets a target, always on the safe side."""

from renyi.calibration.gaussian_noise import noise_multiplier
from renyi.calibration.search import calibrate

__all__ = ["calibrate", "noise_multiplier"]
