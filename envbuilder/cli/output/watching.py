"""Watching a build: progress on the terminal, and a full log in the cache directory."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from envbuilder.cli.output.progress import BuildLog, shown_progress
from envbuilder.core.errors import EnvbuilderError
from envbuilder.image.builds import BuildEvent
from envbuilder.image.container_engine import Listener
from envbuilder.wiring.settings import Settings


@contextmanager
def watched(here: Settings, name: str) -> Iterator[tuple[Listener, Path]]:
    """Yield a listener that shows progress and keeps the full log."""
    folder = here.use("logs")
    folder.mkdir(parents=True, exist_ok=True)
    stamp = datetime.fromtimestamp(time.time(), tz=UTC).strftime("%Y%m%dT%H%M%SZ")
    path = folder / f"{Path(name).name}-{stamp}.log"
    with path.open("w", encoding="utf-8") as stream, shown_progress() as show:
        write = BuildLog(stream)

        def listen(event: BuildEvent) -> None:
            write(event)
            show(event)

        try:
            yield listen, path
        except EnvbuilderError as error:
            stream.write(f"error: {error.message}\n")
            raise
