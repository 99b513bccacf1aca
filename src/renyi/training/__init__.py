"""DP-SGD on PyTorch, with the guarantee computed from the run itself.

It needs the extra: pip install 'renyi[training]'. Read ``run``, the object that owns everything, and ``release``, the one
place where noise is drawn. What goes in: ``planning`` (constants fixed before any data is seen), ``feeding`` (datasets to
batches), ``randomness``. What happens to a batch: ``clipping``. What comes out: ``recording``, with ``study`` for several
runs on the same data. ``searching`` finds the best of several runs. ``callbacks`` follow a run and may end it. ``checks``
looks whether all that is true, ``hiding`` keeps values out of sight, ``parallel`` joins several processes into one run.
``auditing`` attacks all of it.
"""

from importlib.util import find_spec

from renyi.errors import PrivacyError

if _missing := [name for name in ("torch", "cryptography", "mpmath") if find_spec(name) is None]:
    raise PrivacyError(
        f"training needs {' and '.join(_missing)}: pip install 'renyi[training]', in a clone '.[training]'."
    )

from renyi.training.auditing.audit import Audit, audit
from renyi.training.auditing.one_run import OneRunAudit, audit_run
from renyi.training.auditing.subject import Inserted
from renyi.training.callbacks.log_to import LogTo
from renyi.training.callbacks.moment import Moment
from renyi.training.callbacks.progress import Progress
from renyi.training.callbacks.stopping import Stop, StopWithin
from renyi.training.checks.method import Method
from renyi.training.clipping.accumulator import Statistics
from renyi.training.errors import ClippingError, LeakError, TrainingError
from renyi.training.feeding.offsets import Offsets
from renyi.training.feeding.units import Rows
from renyi.training.hiding.private import Private
from renyi.training.planning.clip import AdaptiveClip
from renyi.training.planning.plan import Plan
from renyi.training.planning.schedule import Schedule
from renyi.training.randomness.entropy import seeded
from renyi.training.recording.record import Record, rebut, replay
from renyi.training.recording.study import Study
from renyi.training.run import Run
from renyi.training.searching.search import Best, Search

__all__ = [
    "AdaptiveClip",
    "Audit",
    "Best",
    "ClippingError",
    "Inserted",
    "LeakError",
    "LogTo",
    "Method",
    "Moment",
    "Offsets",
    "OneRunAudit",
    "Plan",
    "Private",
    "Progress",
    "Record",
    "Rows",
    "Run",
    "Schedule",
    "Search",
    "Statistics",
    "Stop",
    "StopWithin",
    "Study",
    "TrainingError",
    "audit",
    "audit_run",
    "rebut",
    "replay",
    "seeded",
]
