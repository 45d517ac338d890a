"""How differences are printed."""

from __future__ import annotations

from collections.abc import Iterable

import click

from envbuilder.lock.lock import Change

_COLOURS = {"+": "green", "-": "red", "~": "yellow"}


def print_changes(changes: Iterable[Change]) -> None:
    """One line each, added, removed and changed apart by their sign."""
    for change in changes:
        text = str(change)
        click.echo(click.style(text[0], fg=_COLOURS[text[0]]) + text[1:])


def change_document(change: Change) -> dict[str, str | None]:
    """One difference for a machine."""
    return {"field": change.field, "old": change.old or None, "new": change.new or None}
