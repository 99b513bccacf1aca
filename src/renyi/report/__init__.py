"""How answers are shown."""

from renyi.report.report import Report

__all__ = ["Report"]
