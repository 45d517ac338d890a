"""Settings of the running command: environment variables completed by the command line."""

from __future__ import annotations

import click

from envbuilder.wiring.configuration import ALLOW_HOST_BUILDS
from envbuilder.wiring.settings import Settings, settings


def command_settings() -> Settings:
    """Return the settings of the running command; files that they hold open are closed when it ends."""
    context = click.get_current_context(silent=True)
    if context is None:
        return settings()
    allowed = bool(context.find_root().meta.get(ALLOW_HOST_BUILDS.key))
    return settings(allow_host_builds=allowed, on_close=context.call_on_close)
