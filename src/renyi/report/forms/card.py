"""A statement as a block of a model card: metadata in YAML, then a section in Markdown, as the README.md of a model begins."""

from __future__ import annotations

import math

from renyi.events.words import group_of
from renyi.numerics.printing import rounded_down, rounded_up
from renyi.report.forms.markdown import section
from renyi.report.forms.yaml import yaml
from renyi.report.said import Said, plain


def card(said: Said) -> str:
    """The block. In a card that has metadata already, merge the two."""
    guarantee = said.guarantee
    metadata = yaml(
        {
            "tags": ["differential-privacy"],
            "differential_privacy": {
                "epsilon": float(rounded_up(guarantee.epsilon.upper)),
                "epsilon_lower": float(rounded_down(guarantee.epsilon.lower)),
                "delta": float(rounded_up(guarantee.delta)),
                "unit": plain(guarantee.unit),
                "units_protected_together": group_of(guarantee.event),
                "adjacency": guarantee.adjacency.value,
                "sentence": said.sentence,
                **({"warnings": said.warnings} if said.warnings else {}),
                "library": f"renyi {plain(guarantee.version)}",
                "date": guarantee.date.isoformat(),
            },
        }
    )
    promise = "" if guarantee.epsilon.upper < math.inf else "> **Nothing is promised: epsilon has no upper end.**\n\n"
    return f"---\n{metadata}---\n\n## Privacy\n\n{promise}{section(said)}"
