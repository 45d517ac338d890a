"""`envbuilder verify IMAGE|DIR|REGISTRY/REF --lock LOCK`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from envbuilder.cli.documents import images as documents
from envbuilder.cli.options import engine_option, source_options
from envbuilder.cli.output.printing import folded, json_option, print_json
from envbuilder.cli.output.progress import watched
from envbuilder.cli.output.signatures import check_documents, print_checks
from envbuilder.cli.session import command_session
from envbuilder.cli.sign import KEY_FILE
from envbuilder.core.errors import UsageError
from envbuilder.core.structure import document_of
from envbuilder.diagnostics.verify import Verification, verify
from envbuilder.image.assemble import assemble
from envbuilder.image.attestation.signing_keys import public_key
from envbuilder.image.builder import Engine
from envbuilder.image.signing import SignatureCheck, Unsigned
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import digest, lock_path
from envbuilder.wiring.build_inputs import add_files, assembly_context
from envbuilder.wiring.locks import obtain_lock
from envbuilder.wiring.session import Session
from envbuilder.wiring.signing import check_signatures, signable
from envbuilder.wiring.subjects import subject_in_registry, subject_of


@click.command("verify")
@click.argument("image", metavar="IMAGE|DIR|FILE|REGISTRY/REF")
@click.option(
    "--lock",
    "target",
    metavar="LOCK|ENV",
    help="Lock to compare with. Default: envbuilder.lock in the current directory.",
)
@engine_option("Where to look for a name. auto: assembled images first.")
@click.option(
    "--key",
    "signer",
    type=KEY_FILE,
    metavar="PUBLIC",
    help="Require signatures of the image, its bill of materials and its provenance by this public key.",
)
@click.option("--name", default="", help="Name of the image in a layout or archive with several images.")
@source_options
@json_option
def command(  # noqa: PLR0913  one parameter for each option
    image: str,
    target: str | None,
    engine: Engine,
    signer: Path | None,
    name: str,
    sources: Sources,
    *,
    as_json: bool,
) -> None:
    """Compare an image with its lock, byte by byte. Exit status 1 if they differ, or a signature is missing.

    IMAGE is a path, else the name of an assembled image or of an image in the container engine; a name that contains
    the host of a registry is read from there if the engine lacks it. Differences are listed by layer and by file.

    With --key, IMAGE is read from its registry: signatures are stored beside it, as `envbuilder sign` and cosign do.
    """
    key = public_key(signer) if signer else None
    lock_path(target, instead="specify it: --lock FILE|ENV")
    with watched(command_session(*([target] if target else [])), "verify") as (session, _):
        lock, merged = obtain_lock(session, target, sources)
        subject = (
            subject_in_registry(session, str(signable(image))) if key else subject_of(session, image, name, engine)
        )
        with session.settings.work_folder("verify") as folder:
            found = verify(lock, subject, lambda: _expected(session, lock, merged), folder)
        checks = check_signatures(session, image, subject.manifest, lock, key) if key else ()
    if as_json:
        print_json(_document(lock, found, checks))
    else:
        _print_verification(lock, found)
        print_checks(checks)
    if not found.same or any(isinstance(check.outcome, Unsigned) for check in checks):
        raise click.exceptions.Exit(1)


def _expected(session: Session, lock: Lock, sources: Sources) -> Callable[[str], Path]:
    """Make the missing layers of a lock; return a function that maps digests to paths."""
    session.progress("making the layers as they should be, to compare files")
    if lock.image is None:
        raise UsageError("the lock does not contain the digest of its image", hint="`envbuilder lock`")
    add_files(session, lock, sources)
    assemble([lock], lock.image.format, assembly_context(session, sources), session.listener)
    return session.store.verified


def _print_verification(lock: Lock, found: Verification) -> None:
    if found.same:
        click.echo(folded(f"{found.subject.name} is identical to the image of the lock (compared: {found.proof})"))
        click.echo(f"  {found.expected.manifest}")
        return
    click.echo(folded(f"{found.subject.name} differs from the image of {lock.environment} in the lock"))
    click.echo(f"  lock   {found.expected.manifest}")
    click.echo(f"  found  {found.subject.manifest or found.subject.config}")
    for difference in found.differences:
        click.echo(folded(f"layer {difference.layer}: {difference.problem}"))
        for line in difference.files:
            click.echo(f"  {line}")
    if not found.differences:
        click.echo(folded("all layers are the same; the configuration differs (environment, labels, command or user)"))
    if found.subject.fetch is None:
        save = "`docker save IMAGE -o image.tar`, then `envbuilder verify image.tar`"
        click.echo(folded(f"for the files that differ: {save}"))


def _document(lock: Lock, found: Verification, checks: Sequence[SignatureCheck]) -> dict[str, Any]:
    return document_of(
        documents.Verification,
        found,
        image=found.subject.name,
        lock=digest(lock),
        compared=found.proof,
        expected_manifest=found.expected.manifest,
        found_manifest=found.subject.manifest,
        found_config=found.subject.config,
        signatures=check_documents(checks),
    )
