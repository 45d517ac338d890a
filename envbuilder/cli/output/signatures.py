"""Output about signatures of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from envbuilder.cli.documents import images as documents
from envbuilder.cli.output.streams import foreign
from envbuilder.core.structure import document_of
from envbuilder.image.signing import SignatureCheck, Signed, Unsigned
from envbuilder.wiring.signing import SignedImage


def print_signed(images: Sequence[SignedImage]) -> None:
    """Print what was signed."""
    for image in images:
        click.echo(f"signed: {', '.join(image.signed) or 'nothing new'}")
        if image.there:
            click.echo(f"  signed before: {', '.join(image.there)}")
        click.echo(f"  image: {image.reference}")
        click.echo(f"  key: {image.key}")
    for image in images[:1]:
        click.echo(f"next: `envbuilder verify {image.reference} --key PUBLIC`")


def signed_documents(images: Sequence[SignedImage]) -> list[dict[str, Any]]:
    """Return the signed documents as JSON values."""
    return [document_of(documents.Signature, each, signed_before=each.there) for each in images]


def print_checks(checks: Sequence[SignatureCheck]) -> None:
    """Print whether the image, and then each statement about it, is signed."""
    for number, check in enumerate(checks):
        match check.outcome:
            case Signed(key=key):
                as_locked = ", and equal to that of the lock" if number else ""
                click.echo(f"{check.title}: signed{as_locked}")
                click.echo(f"  key: {key}")
            case Unsigned(reason=reason):
                click.echo(f"{check.title}: not signed: {foreign(reason)}")


def check_documents(checks: Sequence[SignatureCheck]) -> list[dict[str, Any]]:
    """Return the checks as JSON values."""
    return [
        document_of(
            documents.SignatureCheck,
            check,
            key=check.outcome.key if isinstance(check.outcome, Signed) else None,
            problem=check.outcome.reason if isinstance(check.outcome, Unsigned) else None,
        )
        for check in checks
    ]
