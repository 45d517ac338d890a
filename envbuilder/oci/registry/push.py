"""Push of an assembled image: missing blobs, then the manifest, then attached documents, then the tag."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum, auto
from typing import BinaryIO

from envbuilder.core.errors import UsageError, VerificationFailed
from envbuilder.core.references import ImageRef
from envbuilder.oci.images import AssembledImage, Descriptor, Document
from envbuilder.oci.registry import referrers
from envbuilder.oci.registry.client import RegistryClient, Repository
from envbuilder.oci.registry.parallel import Listener, Watch, ignore, in_parallel
from envbuilder.oci.registry.uploads import Upload, mount
from envbuilder.oci.store import Store
from envbuilder.oci.transfers import PushResult

_CONNECTIONS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Blob:
    """A blob that the registry must have.

    Attributes:
        item: Its name in reports.
        descriptor: Its descriptor.
        layer: Whether it counts as a layer.
        open: Opens its content.
    """

    item: str
    descriptor: Descriptor
    layer: bool
    open: Callable[[], AbstractContextManager[BinaryIO]]


class _Fate(Enum):
    """Outcome for a blob: present already, mounted from another repository, or sent."""

    PRESENT = auto()
    MOUNTED = auto()
    SENT = auto()


def push(  # noqa: PLR0913  two are options
    client: RegistryClient,
    image: AssembledImage,
    reference: ImageRef,
    store: Store,
    *,
    mount_from: tuple[str, ...] = (),
    listener: Listener = ignore,
) -> PushResult:
    """Push an image and its attached documents; set the tag last, after everything else is complete.

    Args:
        client: Connections.
        image: The image.
        reference: Target; a digest must be that of the image.
        store: Contains the layers; their content is verified during the upload.
        mount_from: Repositories as `HOST/NAME`, such as that of the base, to mount blobs from within the registry.
        listener: Progress callback, called by one thread at a time; items are ids of layers and media types.

    Returns:
        Counts of layers; those mounted from another repository of the registry count as present.

    Raises:
        UsageError: The reference has no host, or another digest.
        SourceUnreachable: The registry does not respond, or refuses.
        VerificationFailed: A layer is damaged or missing from the store; or the registry returns another digest.
    """
    started = client.pacing.clock()
    digest = image.manifest.descriptor.digest
    if reference.digest not in {"", digest}:
        raise UsageError(
            f"the image has the digest {digest}, which differs from that of {reference}", hint="push it to a tag"
        )
    repository = client.repository(reference, push=True, mount_from=mount_from)
    blobs = _blobs(image, store)
    fates = _deliver(repository, blobs, store, Watch(listener))
    _put_verified(repository, image.manifest, digest)
    _attach(repository, image)
    if reference.tag:
        _put_verified(repository, image.manifest, reference.tag)
    layers = [(blob, fate) for blob, fate in zip(blobs, fates, strict=True) if blob.layer]
    sent = [blob.descriptor.size for blob, fate in layers if fate is _Fate.SENT]
    return PushResult(
        reference=str(reference),
        digest=digest,
        pushed_bytes=sum(sent),
        pushed_layers=len(sent),
        present_layers=len(layers) - len(sent),
        seconds=client.pacing.clock() - started,
    )


def _blobs(image: AssembledImage, store: Store) -> tuple[_Blob, ...]:
    """Return all blobs that must precede the manifests, without duplicates, layers first."""
    layers = [_in_store(layer.id, layer.blob, store) for layer in image.layers]
    attached = [document for pair in image.attached for document in referrers.needed(*pair)]
    documents = [_in_memory(document) for document in (image.config, *attached)]
    once: dict[str, _Blob] = {}
    for blob in (*layers, *documents):
        once.setdefault(blob.descriptor.digest, blob)
    return tuple(once.values())


def _in_store(item: str, descriptor: Descriptor, store: Store) -> _Blob:
    return _Blob(
        item=item, descriptor=descriptor, layer=True, open=lambda: store.path(descriptor.digest).open("rb", buffering=0)
    )


def _in_memory(document: Document) -> _Blob:
    descriptor = document.descriptor
    return _Blob(
        item=descriptor.media_type, descriptor=descriptor, layer=False, open=lambda: io.BytesIO(document.content)
    )


def _deliver(repository: Repository, blobs: tuple[_Blob, ...], store: Store, watch: Watch) -> tuple[_Fate, ...]:
    """Make sure that the registry has all blobs; return the outcome for each."""

    def is_there(blob: _Blob) -> bool:
        return repository.has_blob(blob.descriptor.digest)

    def bring(blob: _Blob) -> _Fate:
        if mount(repository, blob.descriptor):
            return _Fate.MOUNTED
        _send(repository, blob, store, watch)
        return _Fate.SENT

    there = in_parallel(is_there, blobs, connections=_CONNECTIONS, watch=watch)
    missing = [blob for blob, present in zip(blobs, there, strict=True) if not present]
    brought = in_parallel(bring, missing, connections=_CONNECTIONS, watch=watch)
    fates = {blob.descriptor.digest: fate for blob, fate in zip(missing, brought, strict=True)}
    return tuple(fates.get(blob.descriptor.digest, _Fate.PRESENT) for blob in blobs)


def _send(repository: Repository, blob: _Blob, store: Store, watch: Watch) -> None:
    try:
        stream = blob.open()
    except FileNotFoundError:
        raise VerificationFailed(
            f"{blob.item} ({blob.descriptor.digest}) is no longer in the cache directory",
            hint="build the image again, then push it",
        ) from None
    try:
        with stream as content:
            Upload(repository=repository, blob=blob.descriptor, item=blob.item, stream=content, watch=watch).run()
    except VerificationFailed:
        if blob.layer:  # damaged since it was verified: remove it, so that the next run makes it again
            store.trusted.discard(store.path(blob.descriptor.digest))
            store.verified(blob.descriptor.digest)
        raise


def _attach(repository: Repository, image: AssembledImage) -> None:
    """Push the attached documents; list them under a tag if the registry does not maintain the list itself."""
    unlisted = []
    for manifest, _content in image.attached:
        headers = _put_verified(repository, manifest, manifest.descriptor.digest)
        if not headers.get("OCI-Subject"):
            unlisted.append(manifest)
    if unlisted:
        referrers.list_by_tag(repository, image.manifest.descriptor.digest, unlisted)


def _put_verified(repository: Repository, manifest: Document, name: str) -> Mapping[str, str]:
    """Write a manifest; raise an error if the registry reports another digest."""
    headers = repository.put_manifest(manifest, name)
    told = headers.get("Docker-Content-Digest", "")
    if not told:
        stored = repository.manifest(name)
        told = stored.descriptor.digest if stored else "nothing"
    if told != manifest.descriptor.digest:
        raise VerificationFailed(
            f"{repository.place}: the registry has {told} under {name}, not {manifest.descriptor.digest}",
            hint="the registry or a proxy changes pushed content; use another registry",
        )
    return headers
