"""Error classes with exit codes and hints.

Any other exception is a bug and keeps its traceback.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

_ADDRESS = re.compile(r"://[^\s\"'<>]+")
_PIN = re.compile(r"@(?:sha256:|(?:[0-9a-f]{40}|[0-9a-f]{64})(?![\w-]|[.:].))[^@]*\Z")
"""The digest of an image or the commit of a repository, behind an address."""
_EXAMPLES = ("USER:PASSWORD", "USER")


def without_logins(text: str) -> str:
    """Return a text with user and password removed from its addresses.

    Example:
        >>> without_logins("no answer from https://me:pass/w@rd@index.example/simple/, team/tf@sha256:12")
        'no answer from https://index.example/simple/, team/tf@sha256:12'
        >>> without_logins("git+ssh://git@git.example/team/catalog@" + "a" * 40)
        'git+ssh://git.example/team/catalog@aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'
    """
    return _ADDRESS.sub(_without_login, text)


def _without_login(address: re.Match[str]) -> str:
    whole = address[0].removeprefix("://")
    pin = _PIN.search(whole)
    login, at, rest = (whole[: pin.start()] if pin else whole).rpartition("@")
    # An unquoted password may contain any character of an address, and a path may contain an @.
    is_login = at and login not in _EXAMPLES and (":" in login or "/" not in login)
    return f"://{rest}{pin[0] if pin else ''}" if is_login else address[0]


class EnvbuilderError(Exception):
    """Base class of all errors that a user can cause or fix; messages contain no credentials of an address.

    Attributes:
        exit_code: Status of the process when this error ends it; one per family, listed in docs/exit-codes.md.
        hint: The next step, as a sentence or a command; empty if there is nothing to add to the message.
    """

    exit_code: ClassVar[int] = 70

    def __init__(self, message: str, *, hint: str = "") -> None:
        message = without_logins(message)
        super().__init__(message)
        self.message = message
        self.hint = without_logins(hint)


class UsageError(EnvbuilderError):
    """The command line requests something that does not exist or cannot be combined."""

    exit_code = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One problem at one position of a file that a user wrote.

    Attributes:
        file: Path as given by the user.
        line: Line in that file, from 1; 0 for the whole file.
        field: Dotted path of the field, such as `bases[1].python`; empty for the document itself.
        problem: The problem, without the position.
        hint: Remedy; may be empty.
    """

    file: str
    line: int
    field: str
    problem: str
    hint: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        subject = f" {self.field}:" if self.field else ""
        remedy = f" ({self.hint})" if self.hint else ""
        return f"{place}:{subject} {self.problem}{remedy}"


class InvalidInput(EnvbuilderError):
    """A matrix, spec, lock or facts file is invalid; carries all faults, not only the first.

    Attributes:
        faults: All faults, in file and line order; at least one.
    """

    exit_code = 3

    def __init__(self, faults: tuple[Fault, ...], *, hint: str = "") -> None:
        ordered = tuple(sorted(faults, key=lambda fault: (fault.file, fault.line, fault.field)))
        noun = "fault" if len(ordered) == 1 else "faults"
        files = len({fault.file for fault in ordered})
        place = ordered[0].file if files == 1 else f"{files} files"
        listing = "\n".join(f"  {fault}" for fault in ordered)
        super().__init__(f"{len(ordered)} {noun} in {place}\n{listing}", hint=hint)
        self.faults = ordered


class UnknownEnvironment(UsageError):
    """No environment of the catalog has this id.

    Attributes:
        nearest: Similar ids, best first; may be empty.
    """

    def __init__(self, asked: str, nearest: tuple[str, ...]) -> None:
        hint = f"did you mean {' or '.join(nearest)}?" if nearest else "`envbuilder list` shows all environments"
        problem = "no environment matches" if set(asked) & set("*?[") else "unknown environment:"
        super().__init__(f"{problem} {asked!r}", hint=hint)
        self.asked = asked
        self.nearest = nearest


class ResolutionFailed(EnvbuilderError):
    """The requested packages conflict, or are not on the index."""

    exit_code = 4


class SourceUnreachable(EnvbuilderError):
    """A package index, registry or mirror did not deliver the requested data."""

    exit_code = 5


class NotOnIndex(SourceUnreachable):
    """A package index does not have some files.

    Attributes:
        files: Their names.
    """

    def __init__(self, files: tuple[str, ...]) -> None:
        super().__init__(
            f"the package index does not have {', '.join(files)}",
            hint="name another index (--index URL), or a bundle that holds everything (--bundle FILE)",
        )
        self.files = files


class TimeLimitReached(SourceUnreachable):
    """A resolution of packages took longer than it may."""


class NoUsableBase(SourceUnreachable):
    """No base of the environment is available on this machine.

    Attributes:
        refusals: `(base id, reason)` for every base tried, in the environment's order of preference.
    """

    def __init__(self, environment: str, refusals: tuple[tuple[str, str], ...], *, hint: str) -> None:
        listing = "\n".join(f"  {base}: {reason}" for base, reason in refusals)
        super().__init__(f"{environment} cannot be built here: no base is available\n{listing}", hint=hint)
        self.refusals = refusals


class EngineError(EnvbuilderError):
    """The container engine is missing, went away, or refused a request."""

    exit_code = 6


class EngineUnavailable(EngineError):
    """No container engine responds."""


class EngineLost(EngineError):
    """The engine stopped responding during a request."""


class DiskFull(EngineError):
    """The engine, or this machine, ran out of disk space."""


class MachineError(EngineError):
    """This machine ran out of memory, processes or open files, or one of its devices fails."""


class LocksUnsupported(EngineError):
    """A file system has no file locks."""


class BuildFailed(EnvbuilderError):
    """A step of the build failed.

    Attributes:
        step: Name of the step in the Dockerfile; empty if the engine did not report it.
    """

    exit_code = 7

    def __init__(self, message: str, *, hint: str = "", step: str = "") -> None:
        super().__init__(message, hint=hint)
        self.step = step


class VerificationFailed(EnvbuilderError):
    """Something that was downloaded or built does not match its digest."""

    exit_code = 8


class LicenseNotAccepted(EnvbuilderError):
    """A license has to be accepted first."""

    exit_code = 10


class ToolMissing(EnvbuilderError):
    """A required program is not installed."""

    exit_code = 9


class ToolFailed(EnvbuilderError):
    """A program failed."""

    exit_code = 9


class IncompleteRun(EnvbuilderError):
    """Some of many commands that ran elsewhere have no result.

    Attributes:
        missing: Names of the environments or images without a result.
    """

    exit_code = 11

    def __init__(self, missing: tuple[str, ...], total: int) -> None:
        listing = ", ".join(missing)
        super().__init__(
            f"{len(missing)} of {total} have no result: {listing}",
            hint="run the same command again: it does only these",
        )
        self.missing = missing
