"""Reports: answers in the form in which they are shown, and statements, which can be filed.

``report`` holds the numbers, the sentences and the JSON document of one answer; commands return it, and print nothing.

``statement`` is the value that holds every item, ``stating`` asks for them (``asked`` says of whom), ``items`` says each in
words. ``forms`` writes them as text, Markdown, HTML, YAML and a model card; ``schema`` describes the JSON.
"""

from renyi.report.report import Report
from renyi.report.schema import schema
from renyi.report.statement import Statement
from renyi.report.stating import statement

__all__ = ["Report", "Statement", "schema", "statement"]
