"""A project on this machine: the day of its last change, and other Pythons for its pins."""

from __future__ import annotations

import subprocess
from datetime import date
from pathlib import Path

from envbuilder.catalog.advise.advice import Query
from envbuilder.core.errors import SourceUnreachable, ToolFailed
from envbuilder.lock.adoption import Adoption, OtherPython
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.other_pythons import other_python
from envbuilder.wiring.session import Session
from envbuilder.wiring.sources import package_index

_SECONDS = 20
_COMMAND = (
    "git",
    "--no-pager",
    # A repository may name programs in its configuration that these would start.
    *("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "log.showSignature=false"),
)


def last_change(folder: Path) -> date | None:
    """Return the day of the last commit of a checkout; None for a directory that is none, or without git."""
    try:
        done = subprocess.run(
            [*_COMMAND, "-C", str(folder), "log", "-1", "--format=%cs", "--", "."],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        return date.fromisoformat(done.stdout.strip())
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None


def examined_pythons(session: Session, adoption: Adoption, machine: Query, sources: Sources) -> OtherPython | None:
    """Return another Python that has wheels of pins, as the package index states; see `other_python`.

    It is None, and the reason is reported, if the index does not respond: what was resolved before is not lost.
    """
    if not adoption.changes:
        return None  # without opening the index, which makes the cache directory
    try:
        return other_python(session.catalog, adoption, machine, package_index(session.settings, sources))
    except (SourceUnreachable, ToolFailed) as error:
        session.progress(f"wheels for other Pythons were not examined: {error.message.splitlines()[0]}")
        return None
