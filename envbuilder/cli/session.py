"""The session of the running command."""

from __future__ import annotations

from envbuilder.cli.context import command_settings
from envbuilder.cli.output.printing import notice
from envbuilder.wiring.session import Session
from envbuilder.wiring.spec_catalogs import catalog_of_targets


def command_session(*targets: str | None) -> Session:
    """Return the session of the running command, with the catalogs that its specs name, else those of this host.

    Args:
        targets: Arguments ENV|LOCK; None for the lock in the current directory.
    """
    here = command_settings()
    return Session(here, catalog_of_targets(here, targets, notice), notice)
