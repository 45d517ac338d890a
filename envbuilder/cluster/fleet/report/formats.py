"""Formats of a report about a fleet by the suffix of the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from envbuilder.cluster.fleet.fleet_report import FleetReport
from envbuilder.cluster.fleet.report.document import fleet_json
from envbuilder.cluster.fleet.report.junit import fleet_junit
from envbuilder.cluster.fleet.report.markdown import fleet_markdown
from envbuilder.cluster.fleet.report.page import fleet_page
from envbuilder.core.errors import UsageError
from envbuilder.diagnostics.report.registry import by_suffix

FleetFormat: TypeAlias = Callable[[FleetReport], str]
"""Returns a report as text that ends with a line end; the same report gives the same text."""

FLEET_FORMATS: MappingProxyType[str, FleetFormat] = MappingProxyType(
    {".html": fleet_page, ".json": fleet_json, ".md": fleet_markdown, ".xml": fleet_junit}
)


def fleet_format(file: Path) -> FleetFormat:
    """Return the format for a file's suffix.

    Raises:
        UsageError: There is none, or the directory of the file does not exist.
    """
    if not file.parent.is_dir():
        raise UsageError(f"{file}: directory not found: {file.parent}", hint=f"`mkdir -p {file.parent}`")
    return by_suffix(file, FLEET_FORMATS)
