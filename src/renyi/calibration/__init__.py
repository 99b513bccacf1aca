"""The parameter that meets a target, always on the safe side.

Read ``target`` (what is to be met) and ``search`` (any one parameter, any event). ``gaussian_noise`` is a shorter way to the
noise of DP-SGD, which starts from ``equivalent_gaussian``.
"""

from renyi.calibration.gaussian_noise import noise_multiplier
from renyi.calibration.search import calibrate

__all__ = ["calibrate", "noise_multiplier"]
