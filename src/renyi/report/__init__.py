"""Reports: answers in the form in which they are shown."""

from renyi.report.report import Report

__all__ = ["Report"]
