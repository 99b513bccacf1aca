"""Doors to other libraries: their descriptions of a run as our events, and ours as theirs.

``dp_events`` reads and writes the event trees of dp-accounting; ``opacus`` reads the histories of Opacus and lends it our
accountant; ``tf_privacy`` takes the arguments of TF-Privacy's statement; ``zcdp`` reads and writes budgets of concentrated
DP. ``shuffled`` and ``one_release`` are what they share. The other libraries are loaded by the call that needs them. What a
side lacks is refused by name. docs/coming-from.md shows their call, our call and both numbers.
"""

from renyi.interop.dp_events import from_dp_event, to_dp_event
from renyi.interop.opacus import from_opacus, opacus_accountant
from renyi.interop.tf_privacy import TfPrivacyStatement, from_tf_privacy
from renyi.interop.zcdp import ZcdpBudget, from_zcdp, to_zcdp

__all__ = [
    "TfPrivacyStatement",
    "ZcdpBudget",
    "from_dp_event",
    "from_opacus",
    "from_tf_privacy",
    "from_zcdp",
    "opacus_accountant",
    "to_dp_event",
    "to_zcdp",
]
