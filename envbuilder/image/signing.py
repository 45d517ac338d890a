"""Signatures of images in a registry: written and checked in the form of cosign."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from envbuilder.core.errors import SourceUnreachable
from envbuilder.core.json_fields import at, parsed, record, records, text
from envbuilder.core.references import ImageRef
from envbuilder.image.attest import Statement
from envbuilder.image.attestation import dsse
from envbuilder.image.attestation.cosign_layout import (
    PAYLOAD_TYPE,
    PREDICATE,
    SIGNATURE,
    Attachment,
    SignedLayer,
    attachment,
    image_payload,
    signed_digest,
    signed_layer,
)
from envbuilder.image.attestation.provenance import MEDIA_TYPE as STATEMENT_TYPE
from envbuilder.image.attestation.signing_keys import PublicKey, SigningKey
from envbuilder.oci.images import Descriptor
from envbuilder.oci.registry import referrers
from envbuilder.oci.registry.client import RegistryClient
from envbuilder.oci.registry.pull import fetch_blobs
from envbuilder.oci.registry.push import push_artifact
from envbuilder.oci.store import Store

_LARGEST = 16 << 20
"""Bytes of a payload or an envelope. The envelope of the bill of tf-2.15-cpu (148 packages) has 91 KiB (2026-11-22)."""

_MOST = 64
"""Signatures of one image that are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """A valid signature.

    Attributes:
        key: Fingerprint of the key.
    """

    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsigned:
    """No valid signature.

    Attributes:
        reason: One line.
    """

    reason: str


SignatureOutcome: TypeAlias = Signed | Unsigned
Judge: TypeAlias = Callable[[SignedLayer], SignatureOutcome | None]
"""Returns the outcome of a layer; None if it is of another kind, or not signed by the key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignatureCheck:
    """The result of checking the signature of an image, or of a statement about it.

    Attributes:
        title: What was checked: `image`, or the title of the statement.
    """

    title: str
    outcome: SignatureOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedRepository:
    """The signatures of images in one repository.

    Attributes:
        repository: `HOST/NAME`.
        store: Receives payloads and envelopes.
    """

    client: RegistryClient
    repository: str
    store: Store

    def image(self, name: str) -> Descriptor:
        """Return the manifest under a tag or a digest.

        Raises:
            SourceUnreachable: The registry does not respond or refuses, or has no such manifest.
        """
        found = self.client.repository(ImageRef.parse(self.repository)).manifest(name)
        if found is None:
            raise SourceUnreachable(
                f"{self.repository} has no image {name}",
                hint="push it first: `envbuilder build --push -t HOST/NAME:TAG`",
            )
        return found.descriptor

    def sign(self, image: Descriptor, statements: Sequence[Statement], key: SigningKey) -> tuple[str, ...]:
        """Sign an image and statements about it, beside the signatures of other keys.

        What the key has signed already is not signed again.

        Returns:
            Titles of what was signed now, in order: `image`, then those of the statements.

        Raises:
            SourceUnreachable: The registry does not respond, or refuses.
            ToolFailed: The key cannot be used.
        """
        return (*self._sign_image(image, key), *self._sign_statements(image, statements, key))

    def check(self, digest: str, statements: Sequence[Statement], key: PublicKey) -> tuple[SignatureCheck, ...]:
        """Check that a key has signed an image, named by the digest of its manifest, and statements about it.

        Returns:
            Shape: the image first, then the statements in their order.

        Raises:
            SourceUnreachable: The registry does not respond, or refuses.
        """
        signatures = self._found(Attachment.SIGNATURES, digest)
        attestations = self._found(Attachment.ATTESTATIONS, digest)
        image = self._outcome(signatures, key, self._image_judge(digest, key))
        return (
            SignatureCheck(title="image", outcome=image),
            *(
                SignatureCheck(title=each.title, outcome=self._outcome(attestations, key, self._judge(each, key)))
                for each in statements
            ),
        )

    def _sign_image(self, image: Descriptor, key: SigningKey) -> tuple[str, ...]:
        known = self._layers(Attachment.SIGNATURES.tag(image.digest))
        if self._is_signed(known, self._image_judge(image.digest, key.public)):
            return ()
        payload = image_payload(self.repository, image.digest)
        signature = base64.b64encode(key.sign(payload)).decode()
        layer = self._layer(PAYLOAD_TYPE, payload, ((SIGNATURE, signature),))
        self._put(Attachment.SIGNATURES, image, [*known, layer])
        return ("image",)

    def _sign_statements(self, image: Descriptor, statements: Sequence[Statement], key: SigningKey) -> tuple[str, ...]:
        known = self._layers(Attachment.ATTESTATIONS.tag(image.digest))
        missing = [each for each in statements if not self._is_signed(known, self._judge(each, key.public))]
        added = [
            self._layer(
                dsse.MEDIA_TYPE,
                dsse.envelope(STATEMENT_TYPE, each.content, key),
                ((SIGNATURE, ""), (PREDICATE, each.predicate_type)),
            )
            for each in missing
        ]
        if added:
            self._put(Attachment.ATTESTATIONS, image, [*known, *added])
        return tuple(each.title for each in missing)

    def _layer(self, media_type: str, content: bytes, annotations: tuple[tuple[str, str], ...]) -> SignedLayer:
        blob = Descriptor(media_type=media_type, digest=self.store.put(content), size=len(content))
        return SignedLayer(blob=blob, annotations=annotations)

    def _put(self, kind: Attachment, image: Descriptor, layers: Sequence[SignedLayer]) -> None:
        target = ImageRef(repository=self.repository, tag=kind.tag(image.digest))
        push_artifact(self.client, attachment(kind, layers, image), target, self.store)

    def _found(self, kind: Attachment, digest: str) -> tuple[SignedLayer, ...]:
        """Return the layers under the tag and of all referrers, without duplicates."""
        repository = self.client.repository(ImageRef.parse(self.repository))
        named = (kind.tag(digest), *referrers.listed(repository, digest, kind.artifact_type))
        return tuple(dict.fromkeys(layer for name in named for layer in self._layers(name)))[:_MOST]

    def _layers(self, name: str) -> tuple[SignedLayer, ...]:
        found = self.client.repository(ImageRef.parse(self.repository)).manifest(name)
        layers = records(parsed(found.content), "layers") if found else ()
        return tuple(layer for each in layers if (layer := signed_layer(each)))

    def _content(self, layer: SignedLayer) -> bytes:
        fetch_blobs(self.client, ImageRef.parse(self.repository), (layer.blob,), self.store)
        return self.store.read(layer.blob.digest)

    def _is_signed(self, layers: Sequence[SignedLayer], judge: Judge) -> bool:
        return any(isinstance(judge(layer), Signed) for layer in layers)

    def _outcome(self, layers: Sequence[SignedLayer], key: PublicKey, judge: Judge) -> SignatureOutcome:
        """Return a valid signature if there is one, else the first problem of one by the key."""
        found = [outcome for layer in layers if (outcome := judge(layer))]
        valid = next((outcome for outcome in found if isinstance(outcome, Signed)), None)
        if valid or found:
            return valid or found[0]
        if not layers:
            return Unsigned(reason=f"no signature in {self.repository}")
        return Unsigned(reason=f"no signature in {self.repository} is by the key {key.fingerprint}")

    def _image_judge(self, digest: str, key: PublicKey) -> Judge:
        """Return the judge of signatures of an image."""

        def judge(layer: SignedLayer) -> SignatureOutcome | None:
            signature = dsse.decoded(layer.annotation(SIGNATURE))
            if layer.blob.media_type != PAYLOAD_TYPE or not signature or layer.blob.size > _LARGEST:
                return None
            content = self._content(layer)
            if not key.verifies(content, signature):
                return None
            signed = signed_digest(content)
            if signed == digest:
                return Signed(key=key.fingerprint)
            return Unsigned(reason=f"the key has signed another image: {signed or 'the payload is not one of cosign'}")

        return judge

    def _judge(self, expected: Statement, key: PublicKey) -> Judge:
        """Return the judge of attestations of a statement."""
        wanted = parsed(expected.content)

        def judge(layer: SignedLayer) -> SignatureOutcome | None:
            if layer.blob.media_type != dsse.MEDIA_TYPE or layer.blob.size > _LARGEST:
                return None
            payload = dsse.opened(self._content(layer), STATEMENT_TYPE, key)
            found = parsed(payload) if payload is not None else None
            if text(found, PREDICATE) != expected.predicate_type:
                return None
            if _subjects(found) != _subjects(wanted):
                return Unsigned(reason="the key has signed that of another image")
            if at(found, "predicate") != at(wanted, "predicate"):
                return Unsigned(reason="the key has signed one that differs from that of the lock")
            return Signed(key=key.fingerprint)

        return judge


def _subjects(statement: object) -> list[str]:
    """Return the digests that a statement is about."""
    return [text(record(each, "digest"), "sha256") for each in records(statement, "subject")]
