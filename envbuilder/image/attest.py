"""Documents that are attached to an image."""

from __future__ import annotations

from dataclasses import dataclass, replace

from envbuilder.core.json_fields import parsed
from envbuilder.image.attestation.provenance import MEDIA_TYPE as PROVENANCE
from envbuilder.image.attestation.provenance import PREDICATE as PROVENANCE_PREDICATE
from envbuilder.image.attestation.provenance import provenance, statement
from envbuilder.image.plan.keys import VERSION
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import digest
from envbuilder.oci.documents import artifact, document, entry, timestamp
from envbuilder.oci.images import AssembledImage, Descriptor, LayerFormat, SmallBlob


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A statement about an image that can be signed.

    Attributes:
        predicate_type: Type of its content, as an address.
        content: The in-toto statement.
    """

    title: str
    predicate_type: str
    content: bytes


def attest(lock: Lock, image: AssembledImage, layer_format: LayerFormat) -> AssembledImage:
    """Return an image with its bill of materials (CycloneDX) and its provenance (in-toto) attached."""
    from envbuilder.image.attestation.bill_of_materials import MEDIA_TYPE, bill_of_materials  # noqa: PLC0415  loads cyclonedx

    name, subject = digest(lock), image.manifest.descriptor
    created = timestamp(lock.epoch)
    bill = document(MEDIA_TYPE, bill_of_materials(lock, name))
    origin = document(PROVENANCE, provenance(lock, name, subject.digest, layer_format, str(VERSION)))
    return replace(
        image,
        attached=(
            attached(bill, "sbom.cdx.json", subject, created),
            attached(origin, "provenance.json", subject, created),
        ),
    )


def attached(content: SmallBlob, name: str, subject: Descriptor, created: str) -> tuple[SmallBlob, SmallBlob]:
    """Return the manifest that attaches a document to an image, and the document.

    Args:
        content: The document; its media type is the type of the artifact.
        name: File name of the document.
        subject: Manifest of the image.
        created: The image's own creation time.
    """
    layer = entry(content.descriptor) | {"annotations": {"org.opencontainers.image.title": name}}
    annotations = {"org.opencontainers.image.created": created}
    return artifact(content.descriptor.media_type, [layer], subject=subject, annotations=annotations), content


def statements(lock: Lock, manifest: str, layer_format: LayerFormat) -> tuple[Statement, ...]:
    """Return the statements of a lock about the image with a manifest: bill of materials and provenance."""
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
