"""Reports as text, Markdown and pages for people, JSON for programs, JUnit XML for continuous integration."""

from envbuilder.diagnostics.report.formats import Format
from envbuilder.diagnostics.report.registry import FORMATS, format_named

__all__ = ["FORMATS", "Format", "format_named"]
