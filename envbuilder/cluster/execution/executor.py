"""The port for running a command for each of many environments, and the outcomes."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

FILES = "{files}"
"""The directory of the files of an item, in the values of its variables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkItem:
    """One command to run; it can be pickled, and refers to no object of this process.

    Attributes:
        name: Environment or image that it is about; unique in a call.
        arguments: Command line of envbuilder, without the program; the command prints one JSON document.
        version: Version of envbuilder that the worker needs.
        files: Catalogs to use, as `pack_files` returns them; empty for those of the worker.
        variables: Variables of the environment that the command gets in addition, sorted by name; `FILES` in a value
            stands for the directory of the files.
    """

    name: str
    arguments: tuple[str, ...]
    version: str
    files: bytes = b""
    variables: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The command ran to its end and printed its document.

    Attributes:
        status: Exit status: 0, or 1 for findings.
        files: Content of the sent files that the command changed or added, by path; None if it removed the file.
        seconds: Duration of the command.
        recorded: Whether an earlier call obtained it.
    """

    name: str
    status: int
    document: Mapping[str, object]
    files: Mapping[str, str | None]
    node: str
    seconds: float
    recorded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedItem:
    """The command ended without a document."""

    name: str
    status: int
    reason: str
    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """The command did not run to its end: it was killed, its worker is gone, or it could not be started."""

    name: str
    reason: str


Outcome: TypeAlias = Done | FailedItem | Lost


class Executor(Protocol):
    """A place where commands run."""

    def map(self, items: Sequence[WorkItem]) -> Generator[Outcome]:
        """Run the command of each item, and yield the outcomes as they come.

        If the iterator is closed before its end, all commands that have not ended are cancelled.

        Yields:
            One outcome for each item.

        Raises:
            ToolMissing: A library or a program is not installed.
            ToolFailed: The cluster does not accept work.
        """
        ...
