"""The port to a report format. One file for each format beside this one, one line in `registry.py`."""

from __future__ import annotations

from typing import Protocol

from envbuilder.diagnostics.checks.results import Report


class Format(Protocol):
    """A format of reports."""

    def write(self, report: Report, *, color: bool = False) -> str:
        """Return the report as text that ends with a line end; the same report gives the same text.

        Args:
            report: The report.
            color: Whether terminal colours are wanted; formats for machines have none.
        """
        ...
