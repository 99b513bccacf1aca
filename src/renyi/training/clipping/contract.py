"""What a loss function has to return."""

from __future__ import annotations

from torch import Tensor

from renyi.training.errors import ClippingError


def one_per_unit(losses: object, units: int) -> Tensor:
    """The losses, one for each unit; anything else is refused with the fix."""
    if not isinstance(losses, Tensor) or losses.shape != (units,):
        # How many units were drawn is private, so no length is named.
        came = f"a tensor of {losses.dim()} axes" if isinstance(losses, Tensor) else f"of type {type(losses).__name__}"
        raise ClippingError(
            f"the losses are {came}, not one number for each unit: return one loss per unit. Use "
            'reduction="none" and take the mean over each unit\'s own axes: loss.flatten(1).mean(1).'
        )
    return losses
