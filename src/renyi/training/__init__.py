"""DP-SGD on PyTorch, with the guarantee computed from the run itself.

It needs the extra: pip install 'renyi[training]'.
"""

from renyi.training.accumulator import Statistics
from renyi.training.errors import ClippingError, LeakError, TrainingError
from renyi.training.feeding.units import Rows
from renyi.training.planning.clip import AdaptiveClip
from renyi.training.planning.plan import Plan
from renyi.training.planning.schedule import Schedule
from renyi.training.private import Private
from renyi.training.progress import Moment, Progress
from renyi.training.randomness.entropy import seeded
from renyi.training.recording.record import Record, replay
from renyi.training.run import Run

__all__ = [
    "AdaptiveClip",
    "ClippingError",
    "LeakError",
    "Moment",
    "Plan",
    "Private",
    "Progress",
    "Record",
    "Rows",
    "Run",
    "Schedule",
    "Statistics",
    "TrainingError",
    "replay",
    "seeded",
]
