"""Adapters of `catalog audit`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from envbuilder.cli.output.progress import shown_progress
from envbuilder.curation.wheel_audit.audited_wheel import MeasuredWheel, measured_wheel
from envbuilder.curation.wheel_audit.measure import measure
from envbuilder.lock.index.fetching import fetch
from envbuilder.lock.index.index import IndexFile
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.oci.transfers import reported
from envbuilder.wiring.session import Session
from envbuilder.wiring.sources import downloads, package_index


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelMeasurements:
    """The `MeasuredWheels` of a command."""

    session: Session
    sources: Sources

    def files(self, package: str, version: str) -> tuple[IndexFile, ...]:
        """See `MeasuredWheels.files`."""
        return package_index(self.session.settings, self.sources).files(package, version)

    def of_index(self, file: IndexFile) -> MeasuredWheel:
        """See `MeasuredWheels.of_index`."""
        report = self.session.progress
        with self.session.settings.work_folder("audit") as folder:
            report(f"downloading {file.file}")
            web = downloads(self.session, self.sources)
            with shown_progress() as show:
                path = fetch(file, folder, web=web, progress=reported(show, file.file))
            report(f"measuring {file.file}")
            return measured_wheel(measure(path, folder))

    def of_host(self, path: Path) -> MeasuredWheel:
        """See `MeasuredWheels.of_host`."""
        with self.session.settings.work_folder("audit") as folder:
            return measured_wheel(measure(path, folder))
