"""Failures in logs: classes of failure, and the signatures that identify them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from envbuilder.catalog.sources import Source
from envbuilder.core.versions import Release


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
        text: Text of the remedy.
        commands: To type.
    """

    since: Release | None
    until: Release | None
    text: str
    commands: tuple[str, ...]

    def holds_for(self, tensorflow: Release) -> bool:
        """Return True if the remedy holds for a release of TensorFlow."""
        minor = tensorflow.head(2)
        return (self.since is None or self.since.head(2) <= minor) and (
            self.until is None or minor <= self.until.head(2)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureClass:
    """A kind of failure.

    Attributes:
        id: Stable name, such as `driver-too-old`.
        title: Description in one line.
        harmless: Whether nothing failed.
        cause: Sentence about the cause.
        fix: Sentence about the remedy, used if the catalog gives no more specific one.
        commands: Commands of the remedy.
        fixes: Remedies by release; the first that holds for the release of the log replaces `fix` and `commands`.
        tell: Command whose output distinguishes this class from similar ones.
        explains: Classes whose evidence is a consequence of this one, such as a failed convolution of a missing cuDNN.
    """

    id: str
    title: str
    harmless: bool
    cause: str
    fix: str
    commands: tuple[str, ...]
    fixes: tuple[Fix, ...]
    tell: str
    explains: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """A one-line pattern of a failure in a log.

    Attributes:
        id: Stable name.
        failure: Class that it supports; empty for context.
        role: Its role.
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
        sources: Sources of the pattern.
    """

    id: str
    failure: str
    role: Role
    anchors: tuple[str, ...]
    pattern: str
    weight: int
    only_with: tuple[str, ...]
    not_with: tuple[str, ...]
    cause: str
    fix: str
    commands: tuple[str, ...]
    at_end: bool
    fallback: bool
    since: Release | None
    until: Release | None
    examples: tuple[str, ...]
    near_misses: tuple[str, ...]
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failures:
    """All known failures.

    Attributes:
        classes: In order of precedence where the evidence is equal.
        signatures: By id.
    """

    classes: tuple[FailureClass, ...]
    signatures: tuple[Signature, ...]

    def failure(self, name: str) -> FailureClass:
        """Return the class with this id.

        Raises:
            KeyError: There is none.
        """
        for known in self.classes:
            if known.id == name:
                return known
        raise KeyError(name)
