"""Push of an assembled image: missing blobs, then the manifest, then attached documents, then the tag."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import BinaryIO, TypeVar

from envbuilder.core.errors import SourceUnreachable, UsageError, VerificationFailed
from envbuilder.core.json_fields import parsed, text
from envbuilder.core.references import ImageRef
from envbuilder.oci.documents import attached_blobs
from envbuilder.oci.images import AssembledImage, Descriptor, SmallBlob
from envbuilder.oci.registry import referrers
from envbuilder.oci.registry.client import RegistryClient, Repository
from envbuilder.oci.registry.parallel import TransferState, in_parallel
from envbuilder.oci.registry.upload_records import FOLDER, UploadRecord, UploadRecords
from envbuilder.oci.registry.uploads import Upload, mount
from envbuilder.oci.store import Store
from envbuilder.oci.transfers import Listener, PushResult, ignore

T = TypeVar("T")
R = TypeVar("R")

_CONNECTIONS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Blob:
    """A blob that the registry must have.

    Attributes:
        item: Its name in reports.
        layer: Whether it counts as a layer.
    """

    item: str
    descriptor: Descriptor
    layer: bool
    open: Callable[[], AbstractContextManager[BinaryIO]]


class Push:
    """A push to one repository: layers may be sent before the image is complete; thread-safe.

    Args:
        client: Connections.
        reference: An image of the repository; its tag is ignored.
        store: Contains the layers that are sent; their content is verified during the upload.
        mount_from: Repositories as `HOST/NAME`, such as that of the base, to mount blobs from within the registry.
        listener: Progress callback, called by one thread at a time; items are ids of layers and media types.

    Raises:
        UsageError: The reference has no host.
    """

    def __init__(
        self,
        client: RegistryClient,
        reference: ImageRef,
        store: Store,
        *,
        mount_from: tuple[str, ...] = (),
        listener: Listener = ignore,
    ) -> None:
        self._repository = client.repository(reference, push=True, mount_from=mount_from)
        self._clock = client.pacing.clock
        self._store = store
        self._watch = TransferState(listener)
        self._connections = threading.Semaphore(_CONNECTIONS)
        self._missing: set[str] = set()
        self._sent: set[str] = set()
        self._present: set[str] = set()
        self._documents = threading.Lock()

    def held(self, layers: Sequence[Descriptor]) -> frozenset[str]:
        """Return the digests of the layers that the repository has, or that were mounted from another one.

        Raises:
            SourceUnreachable: The registry does not respond, or refuses.
        """
        answers = self._ask(self._is_held, layers)
        return frozenset(layer.digest for layer, is_held in zip(layers, answers, strict=True) if is_held)

    def send(self, item: str, layer: Descriptor) -> None:
        """Send a layer of the store, unless the repository has it; a few at a time. `item` is its name in reports.

        Raises:
            SourceUnreachable: The registry does not respond, or refuses.
            VerificationFailed: The layer is damaged or missing from the store.
        """
        with self._connections:
            self._bring(_in_store(item, layer, self._store))

    def put(self, manifest: SmallBlob, documents: Sequence[SmallBlob], tag: str) -> None:
        """Write a manifest and the documents that it names under a tag, unless it is there; errors as in `finish`."""
        found = self._repository.manifest(tag)
        if found and found.descriptor.digest == manifest.descriptor.digest:
            return
        # While a registry writes the link to a blob again, it may refuse manifests with that blob (docker-registry 2.8
        # with files, measured 2026-11-22). So documents are sent by one thread, and another builder is waited for.
        with self._documents:
            for document in documents:
                if document.descriptor.digest not in self._present:
                    self._bring(_in_memory(document))
                    self._present.add(document.descriptor.digest)
        try:
            _put_verified(self._repository, manifest, tag)
        except SourceUnreachable:
            self._repository.pacing.wait(1)
            _put_verified(self._repository, manifest, tag)

    def stop(self) -> None:
        """Cancel all uploads at their next report."""
        self._watch.stop()

    def finish(self, image: AssembledImage, reference: ImageRef) -> PushResult:
        """Send what is missing of an image and its attached documents; set the tag last, after all else is complete.

        Returns:
            Counts of layers, with those that `send` sent since the last call; those mounted from another repository of
            the registry count as present.

        Raises:
            UsageError: The reference has another digest.
            SourceUnreachable: The registry does not respond, or refuses.
            VerificationFailed: A layer is damaged, or neither in the store nor in the registry; or the registry returns
                another digest.
        """
        started = self._clock()
        digest = image.manifest.descriptor.digest
        if reference.digest not in {"", digest}:
            raise UsageError(
                f"the image has the digest {digest}, which differs from that of {reference}", hint="push it to a tag"
            )
        # A layer that was there when the build began may have been removed meanwhile.
        blobs = _blobs(image, self._store)
        there = self._ask(lambda blob: self._repository.has_blob(blob.descriptor.digest), blobs)
        missing = [blob for blob, is_there in zip(blobs, there, strict=True) if not is_there]
        self._ask(self._bring_missing, missing)
        _put_verified(self._repository, image.manifest, digest)
        _attach(self._repository, image)
        if reference.tag:
            _put_verified(self._repository, image.manifest, reference.tag)
        layers = {blob.descriptor.digest: blob.descriptor.size for blob in blobs if blob.layer}
        sent = [size for name, size in layers.items() if name in self._sent]
        self._sent.clear()
        return PushResult(
            reference=str(reference),
            digest=digest,
            pushed_bytes=sum(sent),
            pushed_layers=len(sent),
            present_layers=len(layers) - len(sent),
            seconds=self._clock() - started,
        )

    def _ask(self, question: Callable[[T], R], items: Sequence[T]) -> tuple[R, ...]:
        return in_parallel(question, items, connections=_CONNECTIONS, watch=self._watch)

    def _is_held(self, layer: Descriptor) -> bool:
        if self._repository.has_blob(layer.digest) or mount(self._repository, layer):
            return True
        self._missing.add(layer.digest)
        return False

    def _bring(self, blob: _Blob) -> None:
        """Send a blob, unless the repository has it or could mount it."""
        if blob.descriptor.digest in self._missing or not self._is_held(blob.descriptor):
            self._send(blob)

    def _bring_missing(self, blob: _Blob) -> None:
        if not mount(self._repository, blob.descriptor):
            self._send(blob)

    def _send(self, blob: _Blob) -> None:
        _upload(self._repository, blob, self._store, self._watch)
        self._missing.discard(blob.descriptor.digest)
        self._sent.add(blob.descriptor.digest)


def push_artifact(
    client: RegistryClient, artifact: AssembledImage, reference: ImageRef, store: Store, *, listener: Listener = ignore
) -> PushResult:
    """Push an artifact as an image; list it as a referrer of its subject if the registry does not do so itself.

    Arguments, result and errors as in `Push`.
    """
    pushed = Push(client, reference, store, listener=listener).finish(artifact, reference)
    subject = text(parsed(artifact.manifest.content), "subject", "digest")
    if subject:
        repository = client.repository(reference, push=True)
        # The answer to a manifest that is there already says whether the registry keeps the list.
        answer = repository.put_manifest(artifact.manifest, artifact.manifest.descriptor.digest)
        if not answer.get("OCI-Subject"):
            referrers.list_by_tag(repository, subject, [artifact.manifest])
    return pushed


def _blobs(image: AssembledImage, store: Store) -> tuple[_Blob, ...]:
    """Return all blobs that must precede the manifests, without duplicates, layers first."""
    layers = [_in_store(layer.id, layer.blob, store) for layer in image.layers]
    attached = [document for pair in image.attached for document in attached_blobs(*pair)]
    documents = [_in_memory(document) for document in (image.config, *attached)]
    once: dict[str, _Blob] = {}
    for blob in (*layers, *documents):
        once.setdefault(blob.descriptor.digest, blob)
    return tuple(once.values())


def _in_store(item: str, descriptor: Descriptor, store: Store) -> _Blob:
    return _Blob(
        item=item, descriptor=descriptor, layer=True, open=lambda: store.path(descriptor.digest).open("rb", buffering=0)
    )


def _in_memory(document: SmallBlob) -> _Blob:
    descriptor = document.descriptor
    return _Blob(
        item=descriptor.media_type, descriptor=descriptor, layer=False, open=lambda: io.BytesIO(document.content)
    )


def _upload(repository: Repository, blob: _Blob, store: Store, watch: TransferState) -> None:
    try:
        stream = blob.open()
    except FileNotFoundError:
        raise VerificationFailed(
            f"{blob.item} ({blob.descriptor.digest}) is neither in the cache directory nor in {repository.place}",
            hint="run the command again: it creates or downloads what is missing",
        ) from None
    try:
        with stream as content, _recorded(repository, blob, store) as record:
            Upload(
                repository=repository,
                blob=blob.descriptor,
                item=blob.item,
                stream=content,
                watch=watch,
                record=record,
            ).run()
    except VerificationFailed:
        if blob.layer:  # damaged since it was verified: remove it, so that the next run makes it again
            store.trusted.discard(store.path(blob.descriptor.digest))
            store.verified(blob.descriptor.digest)
        raise


def _recorded(repository: Repository, blob: _Blob, store: Store) -> AbstractContextManager[UploadRecord]:
    if not blob.layer:
        return nullcontext(UploadRecord())
    return UploadRecords(folder=store.folder / FOLDER).of(repository.place, blob.descriptor.digest)


def _attach(repository: Repository, image: AssembledImage) -> None:
    """Push the attached documents; list them under a tag if the registry does not maintain the list itself."""
    unlisted = []
    for manifest, _content in image.attached:
        headers = _put_verified(repository, manifest, manifest.descriptor.digest)
        if not headers.get("OCI-Subject"):
            unlisted.append(manifest)
    if unlisted:
        referrers.list_by_tag(repository, image.manifest.descriptor.digest, unlisted)


def _put_verified(repository: Repository, manifest: SmallBlob, name: str) -> Mapping[str, str]:
    """Write a manifest; raise an error if the registry reports another digest."""
    headers = repository.put_manifest(manifest, name)
    reported_digest = headers.get("Docker-Content-Digest", "")
    if not reported_digest:
        stored = repository.manifest(name)
        reported_digest = stored.descriptor.digest if stored else "nothing"
    if reported_digest != manifest.descriptor.digest:
        raise VerificationFailed(
            f"{repository.place}: the registry has {reported_digest} under {name}, not {manifest.descriptor.digest}",
            hint="the registry or a proxy changes pushed content; use another registry",
        )
    return headers
