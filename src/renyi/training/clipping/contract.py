"""What a loss function has to return."""

from __future__ import annotations

from torch import Tensor

from renyi.training.errors import ClippingError


def one_per_unit(losses: object, units: int) -> Tensor:
    """The losses, one for each unit; anything else is refused with the fix."""
    if not isinstance(losses, Tensor) or losses.shape != (units,):
        came = f"shape {tuple(losses.shape)}" if isinstance(losses, Tensor) else f"type {type(losses).__name__}"
        raise ClippingError(
            f"the losses have {came}, but there are {units} units: return one loss per unit. Use "
            'reduction="none" and take the mean over each unit\'s own axes: loss.flatten(1).mean(1).'
        )
    return losses
