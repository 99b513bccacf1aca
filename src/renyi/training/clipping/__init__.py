"""Per-unit gradient clipping for DP-SGD, without per-unit gradients."""

from __future__ import annotations

from renyi.training.clipping.bounds import ClipBounds
from renyi.training.clipping.clipper import Clipper
from renyi.training.clipping.factors import ClippedSums

__all__ = ["ClipBounds", "ClippedSums", "Clipper"]
