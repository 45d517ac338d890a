"""The list of captured commands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

COMMANDS = Path(__file__).with_name("commands.txt")
REGISTRY = "REGISTRY"
"""Stands for the host and port of a registry that runs while commands are captured."""


def listed(file: Path | None = None, only: str = "") -> Iterator[tuple[str, str]]:
    """Yield the commands with the titles of their sections.

    Args:
        file: Another list; one command on each line, `# Title` begins a section.
        only: A text that the command or the title must contain.
    """
    section = ""
    for line in (file or COMMANDS).read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            section = line.strip("# ")
        elif line.strip() and (only in line or only in section):
            yield section, line
