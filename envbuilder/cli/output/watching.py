"""Watching a build: progress on the terminal, and a full log in the cache directory."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from envbuilder.cli.output.progress import BuildLog, shown_progress
from envbuilder.core.errors import EnvbuilderError
from envbuilder.image.builds import BuildEvent
from envbuilder.wiring.session import Session


@contextmanager
def watched(session: Session, name: str) -> Iterator[tuple[Session, Path]]:
    """Yield a session whose listener shows progress, and the full log."""
    folder = session.settings.use("logs")
    folder.mkdir(parents=True, exist_ok=True)
    stamp = datetime.fromtimestamp(time.time(), tz=UTC).strftime("%Y%m%dT%H%M%SZ")
    path = folder / f"{Path(name).name}-{stamp}.log"
    with path.open("w", encoding="utf-8") as stream, shown_progress() as show:
        write = BuildLog(stream)

        def listen(event: BuildEvent) -> None:
            write(event)
            show(event)

        try:
            yield replace(session, listener=listen), path
        except EnvbuilderError as error:
            stream.write(f"error: {error.message}\n")
            raise
