"""Adapters of `catalog audit`."""

from __future__ import annotations

from pathlib import Path

import click

from envbuilder.core.units import size
from envbuilder.curation.audit import AuditPorts
from envbuilder.curation.wheel_audit.claims import measured_wheel
from envbuilder.curation.wheel_audit.measure import measure
from envbuilder.lock.index.fetching import fetch
from envbuilder.lock.index.index import IndexFile
from envbuilder.lock.spec_values import Sources
from envbuilder.wiring.session import Session
from envbuilder.wiring.sources import downloads, package_index


def audit_ports(session: Session, sources: Sources, *, tty: bool) -> AuditPorts:
    """Return the ports of `curation.audit`.

    Args:
        session: Settings, catalog and stores.
        sources: Sources of the files.
        tty: Whether standard error is a terminal; a download then shows its progress.
    """

    def fetched(file: IndexFile, folder: Path) -> Path:
        return fetch(file, folder, web=downloads(session, sources), progress=_shown if tty else _silent)

    return AuditPorts(
        index=package_index(session.settings, sources),
        fetch=fetched,
        measure=lambda path, folder: measured_wheel(measure(path, folder)),
        work=session.settings.use("work"),
        progress=session.progress,
    )


def _shown(done: int, whole: int) -> None:
    click.echo(f"\r  {size(done)} of {size(whole) if whole else '?'}\033[K", nl=False, err=True)
    if done == whole:
        click.echo("\r\033[K", nl=False, err=True)


def _silent(_done: int, _whole: int) -> None:
    """Ignore a message: the reader of a pipe needs no progress."""
