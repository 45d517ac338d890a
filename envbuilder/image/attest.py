"""Documents that are attached to an image."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from envbuilder.core.json_fields import parsed
from envbuilder.image.attestation.artifacts import attached
from envbuilder.image.attestation.provenance import MEDIA_TYPE as PROVENANCE
from envbuilder.image.attestation.provenance import PREDICATE as PROVENANCE_PREDICATE
from envbuilder.image.attestation.provenance import provenance, statement
from envbuilder.image.plan.keys import VERSION
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import digest
from envbuilder.oci.images import AssembledImage, LayerFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A statement about an image that can be signed.

    Attributes:
        title: What it is.
        predicate_type: Type of its content, as an address.
        content: The in-toto statement.
    """

    title: str
    predicate_type: str
    content: bytes


def attest(lock: Lock, image: AssembledImage, layer_format: LayerFormat) -> AssembledImage:
    """Return an image with its bill of materials (CycloneDX) and its provenance (in-toto) attached."""
    from envbuilder.image.attestation.bill_of_materials import MEDIA_TYPE, bill_of_materials  # noqa: PLC0415  loads cyclonedx

    name, manifest = digest(lock), image.manifest.descriptor
    created = datetime.fromtimestamp(lock.epoch, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    documents = (
        (MEDIA_TYPE, "sbom.cdx.json", bill_of_materials(lock, name)),
        (PROVENANCE, "provenance.json", provenance(lock, name, manifest.digest, layer_format, str(VERSION))),
    )
    return replace(image, attached=attached(documents, manifest, created))


def statements(lock: Lock, manifest: str, layer_format: LayerFormat) -> tuple[Statement, ...]:
    """Return the statements of a lock about its image: bill of materials and provenance.

    Args:
        lock: The lock.
        manifest: Digest of the manifest of the image.
        layer_format: Format of its layers.
    """
    from envbuilder.image.attestation.bill_of_materials import PREDICATE, bill_of_materials  # noqa: PLC0415  loads cyclonedx

    name = digest(lock)
    bill = parsed(bill_of_materials(lock, name))
    return (
        Statement(
            title="bill of materials",
            predicate_type=PREDICATE,
            content=statement(lock.environment, manifest, PREDICATE, bill),
        ),
        Statement(
            title="provenance",
            predicate_type=PROVENANCE_PREDICATE,
            content=provenance(lock, name, manifest, layer_format, str(VERSION)),
        ),
    )
