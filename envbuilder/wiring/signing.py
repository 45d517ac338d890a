"""Signatures of images on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from envbuilder.core.errors import UsageError
from envbuilder.core.references import ImageRef
from envbuilder.image.attest import Statement, statements
from envbuilder.image.attestation.signing_keys import PublicKey, SigningKey
from envbuilder.image.builder import BuiltImage
from envbuilder.image.signing import SignatureCheck, SignedRepository
from envbuilder.lock.lock import Lock
from envbuilder.oci.images import Descriptor
from envbuilder.oci.registry.addresses import host_of
from envbuilder.wiring.image_names import checked_reference
from envbuilder.wiring.session import Session
from envbuilder.wiring.sources import registry_client


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedImage:
    """The outcome of signing one image.

    Attributes:
        reference: The image by digest.
        key: Fingerprint of the key.
        signed: Titles of what was signed now.
        there: Titles of what the key had signed before.
    """

    reference: str
    key: str
    signed: tuple[str, ...]
    there: tuple[str, ...]


def sign_reference(session: Session, name: str, key: SigningKey, lock: Lock | None) -> SignedImage:
    """Sign an image of a registry, and what its lock says about it.

    Without a lock, the image alone is signed.

    Raises:
        UsageError: The name has no host, or the image is not that of the lock.
        SourceUnreachable: The registry does not respond or refuses, or has no such image.
        ToolFailed: The key cannot be used.
    """
    reference = signable(name)
    with registry_client(session.settings)() as client:
        repository = SignedRepository(client=client, repository=reference.repository, store=session.store)
        image = repository.image(reference.digest or reference.tag)
        return _signed(repository, image, _statements(lock, image.digest, name) if lock else (), key)


def sign_pushed(session: Session, images: Sequence[BuiltImage], key: SigningKey) -> tuple[SignedImage, ...]:
    """Sign images that a build has pushed, each once in each repository; statements only for the image of a lock."""
    pushed = {
        (ImageRef.parse(push.reference).repository, push.digest): image.lock
        for image in images
        for push in image.delivered.pushes
    }
    with registry_client(session.settings)() as client:
        outcomes = []
        for (name, digest), lock in pushed.items():
            repository = SignedRepository(client=client, repository=name, store=session.store)
            named = lock.image is not None and lock.image.manifest == digest
            if not named:
                session.progress(f"{name}: provenance and bill of materials are not signed: {_NOT_NAMED}")
            about = _statements(lock, digest, name) if named else ()
            outcomes.append(_signed(repository, repository.image(digest), about, key))
    return tuple(outcomes)


def check_signatures(
    session: Session, name: str, digest: str, lock: Lock, key: PublicKey
) -> tuple[SignatureCheck, ...]:
    """Check that a key has signed an image of a registry, and what its lock says about it.

    Raises:
        UsageError: The lock does not name its image.
        SourceUnreachable: The registry does not respond, or refuses.
    """
    if lock.image is None:
        raise UsageError("the lock does not contain the digest of its image", hint="`envbuilder lock`")
    expected = statements(lock, digest, lock.image.format)
    with registry_client(session.settings)() as client:
        repository = SignedRepository(client=client, repository=signable(name).repository, store=session.store)
        return repository.check(digest, expected, key)


def signable(name: str) -> ImageRef:
    """Return the reference of an image whose signatures a registry keeps.

    Raises:
        UsageError: The name is not a reference, or has no host.
    """
    reference = ImageRef.parse(checked_reference(name))
    if not host_of(reference.repository):
        raise UsageError(
            f"{name} has no signatures: they are kept in the registry of an image",
            hint="use a name such as `HOST/NAME:TAG`; `envbuilder build --push --sign KEY` pushes and signs",
        )
    return reference


_NOT_NAMED = "the lock names another image, as for --engine docker"


def _statements(lock: Lock, digest: str, name: str) -> tuple[Statement, ...]:
    if lock.image is None or lock.image.manifest != digest:
        raise UsageError(
            f"{name} is {digest}, which is not the image of the lock: its provenance and bill of materials are unknown",
            hint="name its lock, or omit --lock to sign the image alone",
        )
    return statements(lock, digest, lock.image.format)


def _signed(
    repository: SignedRepository, image: Descriptor, about: Sequence[Statement], key: SigningKey
) -> SignedImage:
    signed = repository.sign(image, about, key)
    titles = ("image", *(each.title for each in about))
    return SignedImage(
        reference=f"{repository.repository}@{image.digest}",
        key=key.public.fingerprint,
        signed=signed,
        there=tuple(title for title in titles if title not in signed),
    )
