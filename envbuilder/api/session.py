"""The objects that one call of the interface uses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from envbuilder.image.container_engine import Listener
from envbuilder.wiring.catalogs import known_catalog
from envbuilder.wiring.session import Session
from envbuilder.wiring.settings import settings
from envbuilder.wiring.spec_catalogs import catalog_of_spec


def ignore(_: object) -> None:
    """Ignore a message or an event."""


@contextmanager
def opened(
    progress: Callable[[str], None] = ignore, listener: Listener = ignore, spec: Path | None = None
) -> Iterator[Session]:
    """Yield a session with the settings of this process; files that it holds open are closed afterwards.

    Args:
        progress: Receives lines of text.
        listener: Receives events of a build.
        spec: File of a spec, which may name catalogs of its own.
    """
    with ExitStack() as stack:
        here = settings(on_close=stack.callback)
        catalog = catalog_of_spec(here, spec, progress) if spec else known_catalog(here, progress=progress)
        yield Session(here, catalog, progress, listener)
