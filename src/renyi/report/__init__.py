"""Reports: answers in the form in which they are shown.

``report`` holds the numbers, the sentences and the JSON document of one answer; commands return it, and print nothing.
"""

from renyi.report.report import Report

__all__ = ["Report"]
