"""The fields of the calculator as they are shown: labels, hints, and the sliders beside the boxes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Field:
    """A number box with a logarithmic slider from ``low`` to ``high``; ``left`` and ``right`` say what its ends mean."""

    name: str
    label: str
    hint: str
    low: float
    high: float
    left: str
    right: str
    whole: bool = False
    by: str = ""
    """Shown where the run is described this way; always if empty."""


FIELDS = (
    Field(
        "noise",
        "Noise multiplier",
        "noise standard deviation / clipping norm",
        0.1,
        100.0,
        "less noise",
        "more private",
    ),
    Field(
        "rate",
        "Sampling rate",
        "share of the records in a step, such as 256/60000",
        1e-6,
        1.0,
        "more private",
        "all records",
        by="rate",
    ),
    Field("steps", "Steps", "releases in all", 1.0, 1e6, "more private", "longer run", whole=True, by="rate"),
    Field(
        "batch",
        "Batch size",
        "records in a step, on average",
        1.0,
        1e5,
        "more private",
        "larger batches",
        whole=True,
        by="sizes",
    ),
    Field(
        "dataset",
        "Records in the data",
        "how many there are",
        100.0,
        1e9,
        "few records",
        "more private",
        whole=True,
        by="sizes",
    ),
    Field("epochs", "Epochs", "passes over the data", 0.1, 1000.0, "more private", "longer run", by="sizes"),
    Field("epsilon", "Privacy loss ε", "the target", 0.01, 100.0, "more private", "less private"),
    Field(
        "delta",
        "Failure probability δ",
        "such as 1e-5, well below 1 / records",
        1e-15,
        0.1,
        "more private",
        "less private",
    ),
)
"""The figures, in the order of the page."""

MORE_EXAMPLES = (
    "laplace:noise_multiplier=10 times 3",
    "gaussian:noise_multiplier=2 on without_replacement:batch=256,dataset=60000 times 100",
    "gaussian:noise_multiplier=2 + laplace:noise_multiplier=10 on poisson:rate=0.01 times 1000",
    "randomized_response:probability=3/4",
)
"""Lines of further releases, as examples."""

PLOTS = {
    "trade-off": "Trade-off curve",
    "profile": "Privacy profile",
    "steps": "Privacy loss by steps",
    "renyi": "Renyi curve",
}
"""The plots, with their titles."""
