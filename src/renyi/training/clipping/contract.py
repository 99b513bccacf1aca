"""The contract of a loss function: one loss per unit."""

from __future__ import annotations

from torch import Tensor

from renyi.training.errors import ClippingError


def one_per_unit(losses: object, units: int) -> Tensor:
    """The losses, one for each unit; anything else is refused, with advice on how to fix it."""
    if not isinstance(losses, Tensor) or losses.shape != (units,):
        # The number of units drawn is private, so the message must not state a length.
        came = f"a tensor of {losses.dim()} axes" if isinstance(losses, Tensor) else f"of type {type(losses).__name__}"
        raise ClippingError(
            f"the losses are {came}, not one number for each unit: return one loss per unit. Use "
            'reduction="none" and take the mean over each unit\'s own axes: loss.flatten(1).mean(1).'
        )
    return losses
