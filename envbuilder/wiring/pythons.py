"""Interpreters that uv manages, packed as archives."""

from __future__ import annotations

from pathlib import Path

from envbuilder.core.errors import EnvbuilderError
from envbuilder.core.versions import Release
from envbuilder.core.work_directories import work_directory
from envbuilder.image.base.locate import keep_archive
from envbuilder.image.base.python_archive import pack
from envbuilder.image.base.python_survey import PythonArchive
from envbuilder.image.base.uv_tool import find_uv, from_uv
from envbuilder.lock.lock import Lock
from envbuilder.oci.tar.members import EPOCH
from envbuilder.wiring.session import Session
from envbuilder.wiring.sources import host_programs


def fetch_python(session: Session, version: Release, folder: Path) -> PythonArchive:
    """Pack uv's managed interpreter of a version into a directory; errors as in `from_uv`."""
    session.progress(f"asking uv for a managed Python {version}")
    host = host_programs(session.settings)
    interpreter = from_uv(version, uv=find_uv(), folder=session.settings.use("pythons"), host=host)
    return pack(interpreter, folder, epoch=EPOCH, host=host)


def keep_python_of(session: Session, lock: Lock) -> None:
    """Add uv's managed interpreter of the version of a lock to the cache; do nothing if uv cannot provide it."""
    with work_directory("python") as folder:
        try:
            keep_archive(session.files, fetch_python(session, lock.python.version, folder).path)
        except EnvbuilderError as error:
            session.progress(error.message.splitlines()[0])
