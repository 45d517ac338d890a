"""Reports as text, Markdown, HTML, JSON and JUnit XML."""

from envbuilder.diagnostics.report.formats import Format
from envbuilder.diagnostics.report.registry import FORMATS, format_named

__all__ = ["FORMATS", "Format", "format_named"]
