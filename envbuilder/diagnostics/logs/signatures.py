"""Failures in logs: classes of failure and the signatures that identify them, read from `failures.yaml`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Annotated, TypeAlias

from envbuilder.catalog.sources import SourceList
from envbuilder.core.conversion.reading import Mismatch
from envbuilder.core.field_rules import At, Parsed, Unique
from envbuilder.core.field_types import exactly
from envbuilder.core.files import read_text
from envbuilder.core.versions import Release
from envbuilder.core.yaml import patterns
from envbuilder.core.yaml.documents import read
from envbuilder.core.yaml.structured import structured

SCHEMA = 1
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def _id(text: str) -> str:
    if not _ID.fullmatch(text):
        raise ValueError(f"{text!r} must be lower-case words joined by hyphens")
    return text


def _anchor(text: str) -> str:
    if sum(letter.isalpha() or letter in ":_[]()/," for letter in text) < 3:
        raise ValueError("must have at least three letters")
    if not text.isascii():
        raise ValueError("must be ASCII, to match logs in any encoding")
    return text


Id: TypeAlias = Annotated[str, Parsed(_id)]
Texts: TypeAlias = tuple[str, ...]


class Role(StrEnum):
    """The role of a signature.

    `cause` supports a class; `context` only states something about the machine or the program; `noise` is a harmless
    line that resembles a failure.
    """

    CAUSE = "cause"
    CONTEXT = "context"
    NOISE = "noise"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """A remedy that holds for some releases of TensorFlow.

    Attributes:
        since: First minor release for which it holds; None for no lower bound.
        until: Last minor release for which it holds; None for no upper bound.
        commands: To type.
    """

    since: Release | None
    until: Release | None
    text: str
    commands: Texts = ()

    def holds_for(self, tensorflow: Release) -> bool:
        """Return True if the remedy holds for a release of TensorFlow."""
        minor = tensorflow.head(2)
        return (self.since is None or self.since.head(2) <= minor) and (
            self.until is None or minor <= self.until.head(2)
        )

    def holds_between(self, oldest: Release | None, newest: Release | None) -> bool:
        """Return True if the remedy holds for every release of a range; None stands for an open end."""
        return (self.since is None or (oldest is not None and self.since.head(2) <= oldest.head(2))) and (
            self.until is None or (newest is not None and newest.head(2) <= self.until.head(2))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureClass:
    """A kind of failure.

    Attributes:
        id: Stable name, such as `driver-too-old`.
        fix: Sentence about the remedy, used if the catalog gives no more specific one.
        fixes: Remedies by release; the first that holds for the release of the log replaces `fix` and `commands`.
        tell: Command whose output distinguishes this class from similar ones.
        explains: Classes whose evidence is a consequence of this one, such as a failed convolution of a missing cuDNN.
    """

    id: Id
    title: str
    harmless: bool = False
    cause: str
    fix: str
    commands: Texts = ()
    fixes: tuple[Fix, ...] = ()
    tell: str = ""
    explains: Texts = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """A one-line pattern of a failure in a log.

    Attributes:
        failure: Class that it supports; empty for context.
        anchors: Literals of which a line must have one before the pattern is tried; digits, blanks, quotes and
            `. = > - + % #` in them are ignored. Empty where `at_end` is set.
        pattern: Regular expression; named groups are what it captures.
        weight: Frequency of the class as the cause of this line, in percent.
        only_with: Signatures of which one must be in the log too; empty means none is needed.
        not_with: Signatures of which none may be in the log.
        cause: Sentence about the cause; empty means that of the class.
        fix: Sentence about the remedy; empty means that of the class.
        commands: Commands of the remedy; empty means those of the class.
        at_end: Whether the pattern is tried on the last lines of the log only, whatever they contain.
        fallback: Whether it counts only where no other cause was found.
        since: First TensorFlow that writes it; None when unknown.
        until: Last TensorFlow that writes it; None when unknown.
        examples: Lines that it must match.
        near_misses: Lines that it must not match.
    """

    id: Id
    failure: Annotated[str, At("class")] = ""
    role: Role = Role.CAUSE
    anchors: tuple[Annotated[str, Parsed(_anchor)], ...] = ()
    pattern: Annotated[str, Parsed(patterns.pattern)]
    weight: int = 0
    only_with: Texts = ()
    not_with: Texts = ()
    cause: str = ""
    fix: str = ""
    commands: Texts = ()
    at_end: bool = False
    fallback: bool = False
    since: Release | None
    until: Release | None
    examples: Texts
    near_misses: Texts = ()
    sources: SourceList


@dataclass(frozen=True, slots=True, kw_only=True)
class Failures:
    """All known failures.

    Attributes:
        classes: In order of precedence where the evidence is equal.
        signatures: By id.
    """

    classes: Annotated[tuple[FailureClass, ...], Unique("id")]
    signatures: Annotated[tuple[Signature, ...], Unique("id")]

    def failure(self, name: str) -> FailureClass:
        """Return the class with this id.

        Raises:
            KeyError: There is none.
        """
        for known in self.classes:
            if known.id == name:
                return known
        raise KeyError(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Document:
    schema: Annotated[int, exactly(SCHEMA)]
    failures: Annotated[Failures, At()]


def load_failures(directory: Path) -> Failures:
    """Read and cross-check `failures.yaml` of a catalog.

    Raises:
        InvalidInput: The file has errors; all are reported.
    """
    file = directory / "failures.yaml"
    return read_failures(read_text(file), str(file))


@lru_cache(maxsize=2)
def read_failures(text: str, name: str) -> Failures:
    """Decode and check the document, which has `name` in errors; a process does so once for the same text.

    Raises:
        InvalidInput: The document has errors; all are reported.
    """
    return structured(_Document, read(text, name), name, check=lambda document: _problems(document.failures)).failures


def _problems(failures: Failures) -> Iterator[Mismatch]:
    classes = {each.id for each in failures.classes}
    names = {each.id for each in failures.signatures}
    for index, failure in enumerate(failures.classes):
        for name in sorted(set(failure.explains) - classes):
            yield Mismatch(path=("classes", index, "explains"), problem=f"there is no class {name!r}")
    for index, signature in enumerate(failures.signatures):
        for field, problem in _problems_of(signature):
            yield Mismatch(path=("signatures", index, field), problem=problem)
        if signature.failure and signature.failure not in classes:
            yield Mismatch(path=("signatures", index, "class"), problem=f"there is no class {signature.failure!r}")
        for name in sorted({*signature.only_with, *signature.not_with} - names):
            yield Mismatch(path=("signatures", index, "only_with"), problem=f"there is no signature {name!r}")


def _problems_of(signature: Signature) -> Iterator[tuple[str, str]]:
    if bool(signature.anchors) == signature.at_end:
        yield "anchors", "a signature has anchors, or it is tried at the end of a log"
    if (signature.role is Role.CAUSE) != bool(signature.failure):
        yield "class", "a cause names its class, and nothing else does"
    if signature.role is Role.CAUSE and not 1 <= signature.weight <= 99:
        yield "weight", "must be a percentage from 1 to 99"
