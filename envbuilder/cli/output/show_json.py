"""The JSON form of `show`: one environment with every pin and its reason."""

from __future__ import annotations

from envbuilder.catalog.archives import ArchiveUse
from envbuilder.catalog.buildable import Inventory, buildable, on_base
from envbuilder.catalog.cuda import CudaNeed
from envbuilder.catalog.environments import BaseChoice, Catalog, Constraint, Environment, OtherRelease
from envbuilder.catalog.sources import Advisory
from envbuilder.cli.output.buildable import buildable_document
from envbuilder.cli.output.catalogs import catalog_document


def document(catalog: Catalog, row: Environment, available: Inventory) -> dict[str, object]:
    """Return all data of the catalog about a row, and its availability for a build on this machine."""
    return {
        "id": row.id,
        "summary": row.summary,
        "catalog": catalog_document(catalog, row),
        "tensorflow": {
            "package": row.framework.package,
            "version": str(row.framework.version),
            "pythons": [str(python) for python in row.pythons],
            "glibc": str(row.framework.glibc),
            "glibcxx": str(row.framework.glibcxx),
            "others": [_other(other) for other in row.framework.others],
            "needs_avx": row.framework.needs_avx,
            "measured": row.framework.measured or None,
        },
        "cuda": _cuda(catalog, row.cuda) if row.cuda else None,
        "cutoff": row.cutoff.isoformat(),
        "constraints": [_constraint(constraint) for constraint in row.constraints],
        "additions": [_constraint(constraint) for constraint in row.additions],
        "source_builds": list(row.source_builds),
        "advisories": [_advisory(each) for each in row.advisories],
        "buildable": buildable_document(buildable(row, available)),
        "bases": [
            _base(catalog, row, choice) | {"buildable": buildable_document(on_base(row, choice, available))}
            for choice in row.bases
        ],
        "evidence": [
            {"grade": each.grade.value, "what": str(each), "when": each.when.isoformat()} for each in row.evidence
        ],
        "unproven": [
            {"grade": each.grade.value, "why": each.why, "when": each.when.isoformat()} for each in row.unproven
        ],
        "sources": [source.text for source in (*row.framework.sources, *row.sources)],
    }


def _cuda(catalog: Catalog, cuda: CudaNeed) -> dict[str, object]:
    return {
        "compiled": str(cuda.compiled),
        "linkage": cuda.linkage,
        "sonames": list(cuda.sonames),
        "optional": list(cuda.optional),
        "cudnn": {"compiled": str(cuda.cudnn.compiled), "rule": cuda.cudnn.rule.value},
        "gpus": [
            {
                "name": gpu.name,
                "capability": str(gpu.capability),
                "coverage": cuda.coverage(gpu.capability).value,
                "cuda_knows_it": cuda.compiled >= gpu.since,
            }
            for gpu in catalog.cuda.gpus
        ],
    }


def _other(other: OtherRelease) -> dict[str, object]:
    return {
        "package": other.package,
        "version": str(other.version),
        "pythons": [str(python) for python in other.pythons],
        "advisory": other.advisory.id if other.advisory else None,
    }


def _advisory(advisory: Advisory) -> dict[str, object]:
    return {
        "id": advisory.id,
        "title": advisory.title,
        "reason": advisory.reason,
        "remedy": advisory.remedy,
        "sources": [source.text for source in advisory.sources],
    }


def _constraint(constraint: Constraint) -> dict[str, object]:
    return {
        "requirement": constraint.requirement,
        "advisory": constraint.advisory.id,
        "title": constraint.advisory.title,
        "reason": constraint.advisory.reason,
        "remedy": constraint.advisory.remedy,
        "sources": [source.text for source in constraint.advisory.sources],
    }


def _archive(catalog: Catalog, use: ArchiveUse) -> dict[str, object]:
    archive = use.archive
    publisher = catalog.archives.publisher(archive.publisher)
    return {
        "id": archive.id,
        "publisher": archive.publisher,
        "file": archive.file,
        "sha256": archive.sha256,
        "size": archive.size or None,
        "agreeing": archive.agreeing,
        "license": (publisher.eula if publisher else "") or None,
        "sonames": list(use.sonames),
        "sources": [source.text for source in archive.sources],
    }


def _base(catalog: Catalog, row: Environment, choice: BaseChoice) -> dict[str, object]:
    floor = catalog.driver_floor(row, choice)
    return {
        "id": choice.system.id,
        "kind": choice.system.kind.value,
        "image": choice.system.image or None,
        "digest": choice.system.digest or None,
        "suite": choice.system.suite or None,
        "publication": {
            "state": choice.system.publication.state.value,
            "date": choice.system.publication.date.isoformat(),
            "note": choice.system.publication.note,
            "sources": [source.text for source in choice.system.publication.sources],
        },
        "glibc": str(choice.system.glibc),
        "python": {"version": str(choice.python), "provider": choice.python_provider.value},
        "cuda": {
            "provider": choice.cuda_provider.value,
            "version": str(choice.cuda) if choice.cuda else None,
            "cudnn": str(choice.cudnn) if choice.cudnn else None,
            "driver": str(floor) if floor else None,
        },
        "archives": [_archive(catalog, use) for use in choice.libraries.archives] if choice.libraries else [],
        "links": [{"name": link.name, "target": link.target} for link in choice.links],
        "deviations": [
            {"what": each.what, "why": each.why, "sources": [source.text for source in each.sources]}
            for each in choice.deviations
        ],
    }
