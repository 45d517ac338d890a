"""Findings about a machine, and what could not be seen of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How bad a finding is, worst first.

    `problem`: something does not work. `warning`: something will be slow, short, or fail under some load. `note`: good
    to know.
    """

    PROBLEM = "problem"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """One way to mend it.

    Attributes:
        text: What it does, in a few words.
        command: What to type; empty where there is no command.
    """

    text: str
    command: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineFinding:
    """Something about the machine that matters to TensorFlow.

    Attributes:
        id: Stable kebab-case name.
        severity: How bad.
        seen: What was seen, in one sentence.
        effect: What it does to TensorFlow, or to envbuilder; may be empty.
        remedies: The best first; may be empty for a note.
    """

    id: str
    severity: Severity
    seen: str
    effect: str = ""
    remedies: tuple[Remedy, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NotLooked:
    """Something that could not be seen.

    Attributes:
        what: What it is.
        why: Why not.
        how: What would show it; may be empty.
    """

    what: str
    why: str
    how: str = ""
