"""Adapters of `catalog audit`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from envbuilder.core.units import size
from envbuilder.curation.wheel_audit.audited_wheel import MeasuredWheel
from envbuilder.curation.wheel_audit.claims import measured_wheel
from envbuilder.curation.wheel_audit.measure import measure
from envbuilder.lock.index.fetching import fetch
from envbuilder.lock.index.index import IndexFile
from envbuilder.lock.spec_values import Sources
from envbuilder.wiring.session import Session
from envbuilder.wiring.sources import downloads, package_index


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelMeasurements:
    """The `MeasuredWheels` of a command.

    Attributes:
        session: Settings, catalog and stores.
        sources: Sources of the files.
        tty: Whether standard error is a terminal; a download then shows its progress.
    """

    session: Session
    sources: Sources
    tty: bool

    def files(self, package: str, version: str) -> tuple[IndexFile, ...]:
        """See `MeasuredWheels.files`."""
        return package_index(self.session.settings, self.sources).files(package, version)

    def of_index(self, file: IndexFile) -> MeasuredWheel:
        """See `MeasuredWheels.of_index`."""
        tell = self.session.progress
        with self._work() as folder:
            tell(f"downloading {file.file}")
            web = downloads(self.session, self.sources)
            path = fetch(file, folder, web=web, progress=_shown if self.tty else _silent)
            tell(f"measuring {file.file}")
            return measured_wheel(measure(path, folder))

    def of_host(self, path: Path) -> MeasuredWheel:
        """See `MeasuredWheels.of_host`."""
        with self._work() as folder:
            return measured_wheel(measure(path, folder))

    @contextmanager
    def _work(self) -> Iterator[Path]:
        """Yield a directory for files of one wheel; it is removed when the block ends."""
        place = self.session.settings.use("work")
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place, prefix="audit-") as name:
            yield Path(name)


def _shown(done: int, whole: int) -> None:
    click.echo(f"\r  {size(done)} of {size(whole) if whole else '?'}\033[K", nl=False, err=True)
    if done == whole:
        click.echo("\r\033[K", nl=False, err=True)


def _silent(_done: int, _whole: int) -> None:
    """Ignore a message: the reader of a pipe needs no progress."""
