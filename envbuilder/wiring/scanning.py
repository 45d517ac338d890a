"""Inputs of `scan`: the lock that a command line names, and vulnerability databases on disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from envbuilder.catalog.selection import meant
from envbuilder.core.errors import UsageError, without_logins
from envbuilder.diagnostics.vulnerabilities.database import Database
from envbuilder.image.builder import Engine
from envbuilder.image.embedded_lock import lock_in_layers, lock_inside
from envbuilder.lock.index.fetching import fetch_unpinned
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import LOCK, lock_path, read_lock
from envbuilder.lock.publishers import is_address
from envbuilder.wiring.configuration import OSV
from envbuilder.wiring.locks import known_lock
from envbuilder.wiring.session import Session
from envbuilder.wiring.subjects import subject_of

_HEAD = 512


@contextmanager
def opened_databases(session: Session, named: Sequence[str]) -> Iterator[tuple[Database, ...]]:
    """Yield the named databases, else those of this host; downloads are removed afterwards.

    Raises:
        UsageError: None is named.
        SourceUnreachable: One cannot be downloaded.
    """
    places = tuple(named) or session.settings.vulnerability_databases
    if not places:
        raise UsageError(
            "no vulnerability database is named, and none is fetched by default",
            hint=f"specify one in the OSV schema: --database PATH|URL, or {OSV.variable}",
        )
    if not any(is_address(place) for place in places):
        yield tuple(Database(name=place, path=Path(place)) for place in places)
        return
    with session.settings.work_folder("scan") as folder:
        yield tuple(_opened(session, place, folder / str(number)) for number, place in enumerate(places))


def _opened(session: Session, place: str, folder: Path) -> Database:
    if not is_address(place):
        return Database(name=place, path=Path(place))
    name = without_logins(place)
    session.progress(f"fetching {name}")
    folder.mkdir()
    target = folder / (Path(urlsplit(place).path).name or "database.zip")
    fetch_unpinned(place, target, web=session.web("", (place,)))
    return Database(name=name, path=target)


def scanned_lock(session: Session, name: str | None, inner: str, engine: Engine) -> Lock:
    """Return a lock, that of an environment, or that inside an image.

    An image is named as `subject_of` finds it; `inner` names one of several in a layout. None is the lock in this
    directory.

    Raises:
        UsageError: There is nothing of this name, or the image contains no lock.
    """
    path = Path(name or LOCK)
    if name is None or _is_text(path) or (path / LOCK).is_file() or path.suffix == LOCK.suffix:
        found = lock_path(name)
        assert found is not None  # noqa: S101  these are paths
        return read_lock(found)
    if not path.exists() and meant(session.catalog, name):
        return known_lock(session, name, Sources())[0]
    subject = subject_of(session, name, inner, engine)
    if subject.fetch is None:
        return lock_inside(session.engine, subject.name)
    with session.settings.work_folder("scan") as folder:
        layers = [partial(subject.fetch, number) for number in range(len(subject.diff_ids))]
        return lock_in_layers(layers, subject.name, folder)


def _is_text(path: Path) -> bool:
    """Return True for a file that can be a lock; archives of images have zero bytes near their start."""
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return b"\0" not in stream.read(_HEAD)
