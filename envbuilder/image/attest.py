"""Documents that are attached to an image."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from envbuilder.image.attestation.artifacts import attached
from envbuilder.image.attestation.bill_of_materials import MEDIA_TYPE as BILL
from envbuilder.image.attestation.bill_of_materials import bill_of_materials
from envbuilder.image.attestation.provenance import MEDIA_TYPE as PROVENANCE
from envbuilder.image.attestation.provenance import provenance
from envbuilder.image.plan.keys import VERSION
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import digest
from envbuilder.oci.images import AssembledImage, LayerFormat


def attest(lock: Lock, image: AssembledImage, layer_format: LayerFormat) -> AssembledImage:
    """Return an image with its bill of materials (CycloneDX) and its provenance (in-toto) attached."""
    name = digest(lock)
    created = datetime.fromtimestamp(lock.epoch, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    documents = (
        (BILL, "sbom.cdx.json", bill_of_materials(lock, name)),
        (PROVENANCE, "provenance.json", provenance(lock, name, image, layer_format, str(VERSION))),
    )
    return replace(image, attached=attached(documents, image.manifest.descriptor, created))
