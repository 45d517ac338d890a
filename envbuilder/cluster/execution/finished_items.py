"""Results of a call that left something undone, kept so that the next call does only the rest."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from envbuilder.cluster.execution.executor import Done, Executor, FailedItem, Outcome, WorkItem
from envbuilder.core.canonical_json import indented_json
from envbuilder.core.errors import EnvbuilderError
from envbuilder.core.files import read_json, replacing
from envbuilder.core.json_fields import at, record, text

LARGEST_AGE = 24 * 3600.0
"""Seconds after which a result is obtained again: what it is about, such as the image of a tag, may have changed."""


class Results(Protocol):
    """Results of earlier calls."""

    def find(self, key: str, name: str) -> Done | None:
        """Return a result that can be used again; None if there is none.

        Args:
            key: `sha256:…` of the inputs.
            name: Name of the item.
        """
        ...

    def keep(self, key: str, done: Done) -> None:
        """Store a result without findings."""
        ...

    def drop(self, keys: Iterable[str]) -> None:
        """Remove results."""
        ...


class NoResults:
    """The `Results` of a command that records elsewhere what is finished."""

    def find(self, key: str, name: str) -> Done | None:  # noqa: ARG002  the port's signature
        """Return None."""
        return None

    def keep(self, key: str, done: Done) -> None:
        """Do nothing."""

    def drop(self, keys: Iterable[str]) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedItems:
    """`Results` in a directory, by the digest of everything that decides them.

    Attributes:
        folder: The directory; it exists.
        clock: Returns the time, in seconds since the epoch.
    """

    folder: Path
    clock: Callable[[], float]

    def find(self, key: str, name: str) -> Done | None:
        """Return a result that is not too old; see `Results.find`."""
        path = self._path(key)
        try:
            age = self.clock() - path.stat().st_mtime
            found = read_json(path) if 0 <= age < LARGEST_AGE else None
        except (OSError, ValueError):
            return None
        seconds = at(found, "seconds")
        if text(found, "name") != name or not isinstance(seconds, float):
            return None
        document, node = record(found, "document"), text(found, "node")
        return Done(name=name, status=0, document=document, files={}, node=node, seconds=seconds, recorded=True)

    def keep(self, key: str, done: Done) -> None:
        """See `Results.keep`."""
        entry = {"name": done.name, "document": dict(done.document), "node": done.node, "seconds": done.seconds}
        with replacing(self._path(key)) as stream:
            stream.write(indented_json(entry))

    def drop(self, keys: Iterable[str]) -> None:
        """See `Results.drop`."""
        for key in keys:
            with suppress(FileNotFoundError):
                self._path(key).unlink()

    def _path(self, key: str) -> Path:
        return self.folder / key.removeprefix("sha256:")


def run_unfinished(
    items: Sequence[WorkItem],
    executor: Executor,
    finished: Results,
    key: Callable[[WorkItem], str],
    receive: Callable[[Done], None],
) -> Generator[Outcome]:
    """Yield one outcome for each item: those of an earlier, incomplete call, then those of the executor as they come.

    Results without findings are stored at once, and dropped when every item has one: the next call starts afresh.

    Args:
        items: The items; their names are unique.
        executor: Runs what is not finished.
        finished: Results of earlier calls.
        key: Returns the digest of what decides a result, at the time of the call.
        receive: Takes over a new result; its error makes the item a failed one.
    """
    known = {item.name: finished.find(key(item), item.name) for item in items}
    yield from filter(None, known.values())
    rest = {item.name: item for item in items if known[item.name] is None}
    complete = True
    if rest:
        with closing(executor.map(tuple(rest.values()))) as ended:
            for each in ended:
                outcome = _received(each, receive)
                if isinstance(outcome, Done) and outcome.status == 0:
                    finished.keep(key(rest[outcome.name]), outcome)
                else:
                    complete = False
                yield outcome
    if complete:
        finished.drop(key(item) for item in items)


def _received(outcome: Outcome, receive: Callable[[Done], None]) -> Outcome:
    if not isinstance(outcome, Done):
        return outcome
    try:
        receive(outcome)
    except EnvbuilderError as error:
        return FailedItem(name=outcome.name, status=error.exit_code, reason=error.message, node=outcome.node)
    return outcome
