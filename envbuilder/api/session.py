"""The objects that one call of the interface uses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from envbuilder.catalog.load.catalog import load_catalog
from envbuilder.image.container_engine import Listener
from envbuilder.wiring.session import Session
from envbuilder.wiring.settings import settings


def ignore(_: object) -> None:
    """Ignore a message or an event."""


@contextmanager
def opened(progress: Callable[[str], None] = ignore, listener: Listener = ignore) -> Iterator[Session]:
    """Yield a session with the settings of this process; files that it holds open are closed afterwards."""
    with ExitStack() as stack:
        here = settings(on_close=stack.callback)
        yield Session(here, load_catalog(here.matrices), progress, listener)
