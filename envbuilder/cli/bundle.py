"""`envbuilder bundle ENV|LOCK -o FILE`."""

from __future__ import annotations

from pathlib import Path

import click

from envbuilder.cli.documents import images as documents
from envbuilder.cli.options import lock_argument, source_options
from envbuilder.cli.output.printing import json_option, print_json
from envbuilder.cli.output.progress import watched
from envbuilder.cli.session import command_session
from envbuilder.core.structure import document_of
from envbuilder.core.units import size
from envbuilder.image.attestation.signatures import sign
from envbuilder.image.bundle import bundle
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lockfile import digest
from envbuilder.wiring.build_inputs import add_files, gatherer
from envbuilder.wiring.locks import obtain_lock


@click.command("bundle")
@lock_argument
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="File to write.")
@click.option(
    "--sign",
    "key",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="KEY",
    help="Sign it with an SSH key: writes FILE.sig, for `build --bundle FILE --key PUBLIC`.",
)
@source_options
@json_option
def command(target: str | None, output: Path, key: Path | None, sources: Sources, *, as_json: bool) -> None:
    """Pack a lock and all the files that it needs into one archive.

    `envbuilder build --bundle FILE --offline` builds the same image from it without network access. The hashes in a
    bundle detect damage; only a signature (--sign) proves who created it.
    """
    with watched(command_session(target), target or "lock") as (session, _log):
        lock, merged = obtain_lock(session, target, sources)
        add_files(session, lock, merged)
        with session.store.used():
            written = bundle(lock, output, session.store, gatherer(session, merged).gather(lock))
        signature = sign(output, key, environ=session.settings.environ) if key else None
    if as_json:
        found = {"bundle": output, "lock": digest(lock), "bytes": written.size, "signature": signature}
        print_json(document_of(documents.BundleDocument, written, **found))
    else:
        click.echo(f"wrote {output}: {size(written.size)}, all files that {lock.environment} needs")
        if signature:
            click.echo(f"signed: {signature}")
        check = " --key PUBLIC" if signature else ""
        click.echo(f"next: `envbuilder build --bundle {output}{check} --offline`")
