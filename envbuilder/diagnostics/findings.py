"""Findings: reports of a check, of `doctor` and of `diagnose`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """The severity of a finding, worst first.

    `problem`: something does not work. `warning`: something will be slow, short, or fail under some load. `note`: good
    to know.
    """

    PROBLEM = "problem"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """One way to fix it.

    Attributes:
        text: Description, in a few words or sentences.
        command: Commands to type, one on each line; empty if there is none.
    """

    text: str
    command: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """A line of a log, clean and shortened; the first has the number 1."""

    line: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something relevant for users who build or run the image.

    Attributes:
        id: Stable kebab-case name: of the check, of the finding about a machine, of the class of failure.
        message: The problem: actual and expected state.
        effect: Effect on TensorFlow, or on envbuilder; empty if the message states it.
        evidence: Lines of a log that show it; empty if the message contains the evidence.
        remedies: The best first; may be empty for a note.
    """

    id: str
    severity: Severity
    message: str
    effect: str = ""
    evidence: tuple[LogLine, ...] = ()
    remedies: tuple[Remedy, ...] = ()

    @property
    def remedy(self) -> str:
        """Text of the best remedy; empty without one."""
        return self.remedies[0].text if self.remedies else ""


def finding(name: str, severity: Severity, message: str, effect: str = "", *remedies: Remedy) -> Finding:
    """Return a finding about a machine or its software."""
    return Finding(id=name, severity=severity, message=message, effect=effect, remedies=remedies)


def problem(name: str, message: str, effect: str = "", *remedies: Remedy) -> Finding:
    """Return a finding about something that does not work."""
    return finding(name, Severity.PROBLEM, message, effect, *remedies)


def warning(name: str, message: str, effect: str = "", *remedies: Remedy) -> Finding:
    """Return a finding about something that will be slow, short, or fail under some load."""
    return finding(name, Severity.WARNING, message, effect, *remedies)


def note(name: str, message: str, effect: str = "", *remedies: Remedy) -> Finding:
    """Return a finding that is good to know."""
    return finding(name, Severity.NOTE, message, effect, *remedies)
