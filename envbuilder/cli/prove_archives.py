"""`envbuilder catalog prove --tier archive`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, assert_never

import click

from envbuilder.catalog.environments import Catalog, Environment
from envbuilder.catalog.load.catalog import load_catalog
from envbuilder.cli.documents import maintenance as documents
from envbuilder.cli.output.printing import folded, notice, print_json
from envbuilder.cli.output.progress import watched
from envbuilder.core.errors import UsageError
from envbuilder.core.structure import document_of
from envbuilder.curation.proof.catalog_files import CatalogFiles
from envbuilder.curation.prove_archives import (
    ArchiveProof,
    Unopened,
    archives_of,
    archives_text,
    prove_archive,
    recorded,
)
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.wiring.proof import StoredArchives
from envbuilder.wiring.recording import records_of
from envbuilder.wiring.session import Session
from envbuilder.wiring.settings import Settings
from envbuilder.wiring.vendor_archives import vendor_archives

ARCHIVE = "archive"
"""Name of the tier."""


def prove_archives(
    here: Settings, catalog: Catalog, rows: tuple[Environment, ...], sources: Sources, *, as_json: bool
) -> None:
    """Open the archives of environments, print the result of each, and record the hashes of their libraries.

    Raises:
        UsageError: The environments use no archives.
        Exit: With status 1, if an archive could not be opened or differs from the catalog.
    """
    archives = archives_of(rows)
    if not archives:
        named = ", ".join(row.id for row in rows)
        raise UsageError(
            f"no environment of these takes libraries from vendor archives: {named}",
            hint="envbuilder catalog prove 'tf-1.*-cuda*' --tier archive",
        )
    records = records_of(here)
    proofs: list[ArchiveProof | Unopened] = []
    with watched(Session(here, catalog, notice), f"prove-{ARCHIVE}") as (session, _):
        opened = StoredArchives(archives=vendor_archives(session, sources), store=session.store)
        for archive in archives:
            session.progress(f"{archive.id}: opening {archive.file}")
            proof = prove_archive(archive, opened)
            proofs.append(proof)
            if isinstance(proof, ArchiveProof):
                _record(proof, here, records)
            if not as_json:
                _print_proof(proof)
    if as_json:
        print_json({"schema": 1, "tier": ARCHIVE, "archives": [_document(proof) for proof in proofs]})
    if not all(isinstance(proof, ArchiveProof) and not proof.problems for proof in proofs):
        raise click.exceptions.Exit(1)


def _record(proof: ArchiveProof, here: Settings, records: CatalogFiles) -> None:
    """Write the hashes of an archive to the catalog, if it has no problems and some of them are new."""
    if proof.problems or not (proof.new or not proof.archive.size):
        return
    source = f"opened by envbuilder catalog prove --tier archive, {datetime.now(tz=UTC).date()}"
    facts = recorded(load_catalog(here.matrices).archives, proof, source=source)
    records.write(records.archives_path, archives_text(facts, records.archives_path))


def _print_proof(proof: ArchiveProof | Unopened) -> None:
    match proof:
        case Unopened():
            click.echo(f"{proof.archive.id}: not opened")
            click.echo(folded(f"  {proof.why}"))
            if proof.hint:
                click.echo(folded(f"  next: {proof.hint}"))
        case ArchiveProof(problems=()):
            known = len(proof.libraries) - len(proof.new)
            click.echo(f"{proof.archive.id}: {known} libraries as in the catalog, {len(proof.new)} recorded")
        case ArchiveProof():
            click.echo(f"{proof.archive.id}: differs from the catalog; nothing was recorded")
            for problem in proof.problems:
                click.echo(folded(f"  {problem}"))
        case _:
            assert_never(proof)


def _document(proof: ArchiveProof | Unopened) -> dict[str, Any]:
    if isinstance(proof, Unopened):
        return {"id": proof.archive.id, "opened": False, "problems": [proof.why], "libraries": []}
    return document_of(
        documents.ProvenArchive,
        proof,
        id=proof.archive.id,
        opened=True,
        libraries=[document_of(documents.ProvenLibrary, each, recorded=each in proof.new) for each in proof.libraries],
    )
