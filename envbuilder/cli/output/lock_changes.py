"""Output of differences between locks."""

from __future__ import annotations

from collections.abc import Iterable

import click

from envbuilder.lock.diff import Change

_COLOURS = {"+": "green", "-": "red", "~": "yellow"}


def print_changes(changes: Iterable[Change]) -> None:
    """Print one line for each change, with a sign for added, removed and changed."""
    for change in changes:
        text = str(change)
        click.echo(click.style(text[0], fg=_COLOURS[text[0]]) + text[1:])


def change_document(change: Change) -> dict[str, str | None]:
    """Return one difference as JSON."""
    return {"field": change.field, "old": change.old or None, "new": change.new or None}
