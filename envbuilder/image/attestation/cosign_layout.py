"""Signatures and attestations of an image as cosign stores them: layers of a manifest with a tag made from the digest.

The manifest also refers to the image (`subject`), with the artifact type that cosign uses for referrers.

Source: https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md, "Storage" and "Simple Signing", and
ATTESTATION_SPEC.md there; containers/image (the library of skopeo and podman) reads signatures in this form too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from envbuilder.core.canonical_json import canonical_json
from envbuilder.core.json_fields import parsed, text
from envbuilder.oci.documents import artifact, descriptor, entry, json_document
from envbuilder.oci.images import CONFIG_TYPE, AssembledImage, Descriptor, ImageLayerPin

SIGNATURE = "dev.cosignproject.cosign/signature"
"""Annotation of a layer: the signature of its content in Base64; empty for an envelope, which holds its own."""

PREDICATE = "predicateType"
PAYLOAD_TYPE = "application/vnd.dev.cosign.simplesigning.v1+json"
_PAYLOAD = "cosign container image signature"


class Attachment(StrEnum):
    """Kind of attachment: its suffix of the tag."""

    SIGNATURES = "sig"
    ATTESTATIONS = "att"

    @property
    def artifact_type(self) -> str:
        """Artifact type of the manifest."""
        return f"application/vnd.dev.cosign.artifact.{self}.v1+json"

    def tag(self, digest: str) -> str:
        """Return the tag for an image.

        Example:
            >>> Attachment.SIGNATURES.tag("sha256:97fc")
            'sha256-97fc.sig'
        """
        return f"{digest.replace(':', '-')}.{self}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedLayer:
    """One signature or attestation.

    Attributes:
        blob: Its content: a payload, or an envelope.
        annotations: Of its layer, in the order of their names.
    """

    blob: Descriptor
    annotations: tuple[tuple[str, str], ...]

    def annotation(self, name: str) -> str:
        """Return an annotation; empty if there is none."""
        return dict(self.annotations).get(name, "")


def signed_layer(value: Mapping[str, object]) -> SignedLayer | None:
    """Return a layer of a manifest; None if it has no sha256 digest or no size."""
    try:
        blob = descriptor(value)
    except ValueError:
        return None
    given = value.get("annotations")
    notes = given if isinstance(given, Mapping) else {}
    return SignedLayer(blob=blob, annotations=tuple(sorted((str(name), str(note)) for name, note in notes.items())))


def attachment(kind: Attachment, layers: Sequence[SignedLayer], subject: Descriptor) -> AssembledImage:
    """Return the manifest with some signatures or attestations of an image, those of an earlier manifest first."""
    digests = [layer.blob.digest for layer in layers]
    empty_image = {"architecture": "", "config": {}, "os": "", "rootfs": {"type": "layers", "diff_ids": digests}}
    config = json_document(CONFIG_TYPE, empty_image)
    entries = [entry(layer.blob) | {"annotations": dict(layer.annotations)} for layer in layers]
    pins = (
        ImageLayerPin(id=f"{kind}-{number}", key=layer.blob.digest, diff_id=layer.blob.digest, blob=layer.blob)
        for number, layer in enumerate(layers)
    )
    return AssembledImage(
        layers=tuple(pins),
        config=config,
        manifest=artifact(kind.artifact_type, entries, config=config, subject=subject),
    )


def image_payload(repository: str, digest: str) -> bytes:
    """Return the content to sign for a repository, `HOST/NAME`, and the digest of a manifest in it."""
    critical = {
        "identity": {"docker-reference": repository},
        "image": {"docker-manifest-digest": digest},
        "type": _PAYLOAD,
    }
    return canonical_json({"critical": critical, "optional": None})


def signed_digest(content: bytes) -> str:
    """Return the digest of the manifest that a payload is about; empty if it is no payload."""
    critical = parsed(content)
    if text(critical, "critical", "type") != _PAYLOAD:
        return ""
    return text(critical, "critical", "image", "docker-manifest-digest")
