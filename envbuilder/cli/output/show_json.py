"""The JSON form of `show`: one environment with every pin and its reason."""

from __future__ import annotations

from typing import Any

from envbuilder.catalog.archives import ArchiveUse
from envbuilder.catalog.buildable import Inventory, buildable, on_base
from envbuilder.catalog.cuda import CudaNeed
from envbuilder.catalog.environments import BaseChoice, Catalog, Constraint, Environment, OtherRelease
from envbuilder.cli.documents import environments as documents
from envbuilder.cli.output.buildable import buildable_document, catalog_document
from envbuilder.core.structure import document_of


def document(catalog: Catalog, row: Environment, available: Inventory) -> dict[str, Any]:
    """Return all data of the catalog about a row, and its availability for a build on this machine."""
    framework = row.framework
    return {
        "id": row.id,
        "summary": row.summary,
        "catalog": catalog_document(catalog, row),
        "tensorflow": document_of(
            documents.ShownTensorflow, framework, pythons=row.pythons, others=map(_other, framework.others)
        ),
        "cuda": _cuda(catalog, row.cuda) if row.cuda else None,
        "cutoff": row.cutoff.isoformat(),
        "constraints": [_constraint(constraint) for constraint in row.constraints],
        "additions": [_constraint(constraint) for constraint in row.additions],
        "source_builds": list(row.source_builds),
        "advisories": [document_of(documents.Trap, each) for each in row.advisories],
        "buildable": buildable_document(buildable(row, available)),
        "bases": [_base(catalog, row, choice, available) for choice in row.bases],
        "evidence": [document_of(documents.ShownEvidence, each, what=each) for each in row.evidence],
        "unproven": [document_of(documents.Unproven, each) for each in row.unproven],
        "sources": [source.text for source in (*row.framework.sources, *row.sources)],
    }


def _cuda(catalog: Catalog, cuda: CudaNeed) -> dict[str, Any]:
    return document_of(
        documents.ShownCuda,
        cuda,
        gpus=[
            document_of(
                documents.ShownGpu,
                gpu,
                coverage=cuda.coverage(gpu.capability),
                cuda_knows_it=cuda.compiled >= gpu.since,
            )
            for gpu in catalog.cuda.gpus
        ],
    )


def _other(other: OtherRelease) -> dict[str, Any]:
    return document_of(documents.OtherRelease, other, advisory=other.advisory and other.advisory.id)


def _constraint(constraint: Constraint) -> dict[str, Any]:
    advisory = constraint.advisory
    return document_of(documents.Bound, advisory, requirement=constraint.requirement, advisory=advisory.id)


def _archive(catalog: Catalog, use: ArchiveUse) -> dict[str, Any]:
    archive = use.archive
    publisher = catalog.archives.publisher(archive.publisher)
    return document_of(
        documents.ShownArchive,
        archive,
        size=archive.size or None,
        license=publisher.eula if publisher else None,
        sonames=use.sonames,
    )


def _base(catalog: Catalog, row: Environment, choice: BaseChoice, available: Inventory) -> dict[str, Any]:
    cuda = document_of(
        documents.BaseCuda,
        choice,
        provider=choice.cuda_provider,
        version=choice.cuda,
        driver=catalog.driver_floor(row, choice),
    )
    archives = choice.libraries.archives if choice.libraries else ()
    return document_of(
        documents.ShownBase,
        choice.system,
        python={"version": str(choice.python), "provider": choice.python_provider.value},
        cuda=cuda,
        archives=[_archive(catalog, use) for use in archives],
        links=choice.links,
        deviations=choice.deviations,
        buildable=on_base(row, choice, available),
    )
