"""Settings of the running command, with what the command line adds to the environment."""

from __future__ import annotations

import click

from envbuilder.wiring.settings import HOST_BUILDS, Settings, settings


def command_settings() -> Settings:
    """Return the settings of the running command; what they hold open is closed when it ends."""
    context = click.get_current_context(silent=True)
    if context is None:
        return settings()
    allowed = bool(context.find_root().meta.get(HOST_BUILDS))
    return settings(allow_host_builds=allowed, on_close=context.call_on_close)
