"""Availability check for the files of rows on the index, for a scheduled job."""

from __future__ import annotations

from dataclasses import dataclass

from envbuilder.lock.closures import Chosen, Closure
from envbuilder.lock.index.index import Index


@dataclass(frozen=True, slots=True, kw_only=True)
class Vanished:
    """A shipped file that the index does not list any more, or not with this hash.

    Attributes:
        bases: Ids of the bases that the closure is for.
        replaced: Whether the index has another file under its name.
    """

    python: str
    bases: tuple[str, ...]
    file: Chosen
    replaced: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Availability:
    """The state of the files of one row.

    Attributes:
        closures: Number of shipped closures; 0 means that nothing could be asked.
        files: Number of their files, each counted once.
        vanished: Missing files, in the order of the closures, then by name.
    """

    row: str
    closures: int
    files: int
    vanished: tuple[Vanished, ...]

    @property
    def complete(self) -> bool:
        """True if the row can still be installed: it ships files, and all of them are available."""
        return self.closures > 0 and not self.vanished


def availability(row: str, closures: tuple[Closure, ...], index: Index) -> Availability:
    """Ask the index for every file of a row.

    Raises:
        SourceUnreachable: The index does not answer.
    """
    vanished: list[Vanished] = []
    for closure in closures:
        there = index.still_there(closure)
        names = {file for file, _ in there}
        vanished += [
            Vanished(python=str(closure.python), bases=closure.bases, file=each, replaced=each.file in names)
            for each in (*closure.packages, *closure.build)
            if (each.file, each.sha256) not in there
        ]
    files = {(each.file, each.sha256) for closure in closures for each in (*closure.packages, *closure.build)}
    return Availability(row=row, closures=len(closures), files=len(files), vanished=tuple(vanished))
