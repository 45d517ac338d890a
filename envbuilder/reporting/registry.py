"""All report formats by the name that people type."""

from __future__ import annotations

from types import MappingProxyType

from envbuilder.errors import UsageError
from envbuilder.reporting.formats import Format
from envbuilder.reporting.json_format import JsonFormat
from envbuilder.reporting.junit_format import JunitFormat
from envbuilder.reporting.text_format import TextFormat

FORMATS: MappingProxyType[str, Format] = MappingProxyType(
    {"json": JsonFormat(), "junit": JunitFormat(), "text": TextFormat()}
)


def format_named(name: str) -> Format:
    """The format of this name.

    Raises:
        UsageError: There is none.
    """
    if name not in FORMATS:
        raise UsageError(f"no report format is called {name!r}", hint=f"there are {', '.join(FORMATS)}")
    return FORMATS[name]
