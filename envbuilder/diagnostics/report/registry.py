"""The port to a report format, and all formats by their names on the command line."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from envbuilder.core.errors import UsageError
from envbuilder.diagnostics.checks.results import Report
from envbuilder.diagnostics.report.html_format import HtmlFormat
from envbuilder.diagnostics.report.json_format import JsonFormat
from envbuilder.diagnostics.report.junit_format import JunitFormat
from envbuilder.diagnostics.report.markdown_format import MarkdownFormat
from envbuilder.diagnostics.report.text_format import TextFormat


class Format(Protocol):
    """A format of reports."""

    def write(self, report: Report, *, color: bool = False) -> str:
        """Return the report as text that ends with a line end; the same report gives the same text.

        Args:
            report: The report.
            color: Whether terminal colours are wanted; formats for machines have none.
        """
        ...


FORMATS: MappingProxyType[str, Format] = MappingProxyType(
    {
        "html": HtmlFormat(),
        "json": JsonFormat(),
        "junit": JunitFormat(),
        "markdown": MarkdownFormat(),
        "text": TextFormat(),
    }
)
SUFFIXES: MappingProxyType[str, str] = MappingProxyType(
    {".html": "html", ".json": "json", ".md": "markdown", ".txt": "text", ".xml": "junit"}
)


def format_named(name: str) -> Format:
    """Return the format of this name.

    Raises:
        UsageError: There is none.
    """
    if name not in FORMATS:
        raise UsageError(f"unknown report format: {name!r}", hint=f"available: {', '.join(FORMATS)}")
    return FORMATS[name]


def format_of(file: Path) -> Format:
    """Return the format for a file's suffix.

    Raises:
        UsageError: There is none.
    """
    name = SUFFIXES.get(file.suffix.lower())
    if name is None:
        raise UsageError(
            f"{file}: no report format has the suffix {file.suffix!r}", hint=f"use one of {', '.join(SUFFIXES)}"
        )
    return FORMATS[name]
