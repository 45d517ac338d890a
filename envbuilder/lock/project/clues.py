"""Clues of a project about its environment, each with the line that it was read from."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import TypeAlias

from packaging.requirements import InvalidRequirement, Requirement

from envbuilder.core.references import normalized
from envbuilder.lock.resolve.tensorflow_distributions import OTHER_BUILDS, SAME_BUILDS

_LONGEST_QUOTE = 100


class ClueKind(StrEnum):
    """The kind of a statement.

    `device` is `gpu` or `cpu`. `api` is a public name of TensorFlow that the code uses, such as `tf.contrib.layers`.
    `command` and `entrypoint` are words, quoted as for a shell; so is `copy`: path in the project, path in the image.
    """

    API = "api"
    COMMAND = "command"
    COPY = "copy"
    CUDA = "cuda"
    CUDNN = "cudnn"
    DEVICE = "device"
    ENTRYPOINT = "entrypoint"
    IMPORT = "import"
    KERAS = "keras"
    OS_PACKAGE = "os-package"
    PACKAGE = "package"
    PYTHON = "python"
    TENSORFLOW = "tensorflow"
    VARIABLE = "variable"
    WORKDIR = "workdir"


class Confidence(IntEnum):
    """The confidence of a conclusion from a line; a higher one takes precedence.

    A requirements file or a package's metadata states versions. A Dockerfile or a classifier implies them. Code and
    installation notes allow a guess.
    """

    GUESSED = 1
    IMPLIED = 2
    STATED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLine:
    """A line of a file of the project.

    Attributes:
        file: Path relative to the project.
        number: Counted from 1; 0 for the file as a whole.
        text: The line, shortened, without control characters.
    """

    file: str
    number: int
    text: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        printable = "".join(char if char.isprintable() else " " for char in self.text).strip()
        short = printable if len(printable) <= _LONGEST_QUOTE else f"{printable[: _LONGEST_QUOTE - 1]}…"
        object.__setattr__(self, "text", short)

    def __str__(self) -> str:
        return f"{self.file}:{self.number}" if self.number else self.file


@dataclass(frozen=True, slots=True, kw_only=True)
class Clue:
    """One conclusion from one line.

    Attributes:
        kind: What it is about.
        value: A requirement without marker for `package`; a range of versions, or empty for any, for software; else the
            plain value.
        confidence: How sure it is.
        marker: Condition of a requirement, such as `python_version < "3"`; empty for none.
    """

    kind: ClueKind
    value: str
    line: SourceLine
    confidence: Confidence
    marker: str = ""


class WarningKind(StrEnum):
    """The kind of a doubt whether a project works in its environment."""

    CUDA_CODE = "cuda-code"
    IGNORED_TENSORFLOW = "ignored-tensorflow"
    MACHINE = "machine"
    MISSING_NAME = "missing-name"
    NO_TENSORFLOW = "no-tensorflow"
    PYTHON_2 = "python-2"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnusedLine:
    """A line that was understood but cannot be taken over, or was not understood.

    Attributes:
        warning: Kind of the warning about the whole project that the reason is; None if it is none.
    """

    line: SourceLine
    reason: str
    warning: WarningKind | None = None


Reading: TypeAlias = Clue | UnusedLine


class UnusedFile(Exception):
    """The rest of a file is not taken over; the text is the reason."""


def requirement_clues(text: str, line: SourceLine, confidence: Confidence) -> tuple[Reading, ...]:
    """Return the clues in a requirement (PEP 508)."""
    try:
        found = Requirement(text)
    except InvalidRequirement:
        return (UnusedLine(line=line, reason="is not a requirement"),)
    if found.url:
        return (UnusedLine(line=line, reason="is installed from an address; an index does not have it"),)
    name = normalized(found.name)
    marker = str(found.marker or "")
    versions = str(found.specifier)
    if name in OTHER_BUILDS:
        return (
            UnusedLine(line=line, reason=f"{name} is another build of TensorFlow; the environment's takes its place"),
        )
    if name in SAME_BUILDS:
        device = {"tensorflow-gpu": "gpu", "tensorflow-cpu": "cpu"}.get(name)
        framework = Clue(kind=ClueKind.TENSORFLOW, value=versions, line=line, confidence=confidence, marker=marker)
        if device is None:
            return (framework,)
        return (framework, Clue(kind=ClueKind.DEVICE, value=device, line=line, confidence=confidence))
    kind = ClueKind.KERAS if name == "keras" else ClueKind.PACKAGE
    extras = f"[{','.join(sorted(found.extras))}]" if found.extras else ""
    value = versions if kind is ClueKind.KERAS else f"{name}{extras}{versions}"
    return (Clue(kind=kind, value=value, line=line, confidence=confidence, marker=marker),)
