"""Reports as text, Markdown and pages for people, JSON for programs, JUnit XML for continuous integration."""

from envbuilder.reporting.formats import Format
from envbuilder.reporting.registry import FORMATS, format_named

__all__ = ["FORMATS", "Format", "format_named"]
