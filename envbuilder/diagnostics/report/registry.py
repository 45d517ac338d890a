"""All formats of reports by their names on the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias, TypeVar

from envbuilder.core.errors import UsageError
from envbuilder.diagnostics.checks.results import Report
from envbuilder.diagnostics.report.document import json_report
from envbuilder.diagnostics.report.html_format import html_report
from envbuilder.diagnostics.report.junit_format import junit_report
from envbuilder.diagnostics.report.markdown_format import markdown_report
from envbuilder.diagnostics.report.text_format import text_report

T = TypeVar("T")
Format: TypeAlias = Callable[[Report], str]
"""Returns a report as text that ends with a line end; the same report gives the same text."""

FORMATS: MappingProxyType[str, Format] = MappingProxyType(
    {
        "html": html_report,
        "json": json_report,
        "junit": junit_report,
        "markdown": markdown_report,
        "text": text_report,
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
    """Return the format for a file's suffix; errors as in `by_suffix`."""
    return FORMATS[by_suffix(file, SUFFIXES)]


def by_suffix(file: Path, known: Mapping[str, T]) -> T:
    """Return the entry for a file's suffix.

    Raises:
        UsageError: There is none.
    """
    found = known.get(file.suffix.lower())
    if found is None:
        raise UsageError(
            f"{file}: no report format has the suffix {file.suffix!r}", hint=f"use one of {', '.join(known)}"
        )
    return found
