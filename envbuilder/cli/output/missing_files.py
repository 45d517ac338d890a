"""Files of locks that could not be fetched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from envbuilder.cli.documents.images import MissingFiles
from envbuilder.cli.output.streams import foreign
from envbuilder.core.errors import LicenseNotAccepted, SourceUnreachable, VerificationFailed
from envbuilder.core.structure import document_of
from envbuilder.image.gather import Unavailable


def missing_documents(missing: Sequence[Unavailable]) -> list[dict[str, Any]]:
    """Return the files as JSON values."""
    return [
        document_of(MissingFiles, each, files=each.names, problem=each.error.message, next=each.error.hint)
        for each in missing
    ]


def print_missing(missing: Sequence[Unavailable]) -> None:
    """Print the files with the reasons."""
    for each in missing:
        click.echo(f"missing: {foreign(', '.join(each.names))}")
        click.echo(f"  {foreign(each.error.message)}")
        if each.error.hint:
            click.echo(f"  next: {foreign(each.error.hint)}")


def refuse_missing(missing: Sequence[Unavailable]) -> None:
    """Raise an error for missing files; of several reasons, the one that the user should see first."""
    kinds = {type(each.error) for each in missing}
    failure = next((kind for kind in (VerificationFailed, LicenseNotAccepted) if kind in kinds), SourceUnreachable)
    count = sum(len(each.names) for each in missing)
    raise failure(
        f"{count} {'file is' if count == 1 else 'files are'} missing", hint="run the same command again to fetch them"
    )
