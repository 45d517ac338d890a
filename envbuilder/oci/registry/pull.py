"""Look-up of an image in a registry, and download of its blobs into a store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from envbuilder.core.digests import digest_of, is_digest
from envbuilder.core.errors import SourceUnreachable, VerificationFailed
from envbuilder.core.http.retries import Patience
from envbuilder.core.json_fields import Record, parsed, record, records, text, texts
from envbuilder.core.references import ImageRef
from envbuilder.oci.documents import descriptor
from envbuilder.oci.images import Descriptor, SmallBlob
from envbuilder.oci.registry.client import RegistryClient, Repository
from envbuilder.oci.registry.failures import Interrupted
from envbuilder.oci.registry.parallel import TransferState, in_parallel
from envbuilder.oci.registry.retries import patiently
from envbuilder.oci.registry.transport import Answer
from envbuilder.oci.store import Receiver, Store
from envbuilder.oci.transfers import Listener, ignore

_SYSTEM, _PROCESSOR = "linux", "amd64"
_LONGEST_CONFIG = 16 << 20
_CONNECTIONS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteImage:
    """An image for linux/amd64 in a registry.

    Attributes:
        manifest: Its manifest, also if the reference names an index of several platforms.
        layers: Lowest first.
    """

    reference: ImageRef
    manifest: SmallBlob
    config: SmallBlob
    layers: tuple[Descriptor, ...]

    @property
    def diff_ids(self) -> tuple[str, ...]:
        """Digests of the tars of its layers.

        Raises:
            VerificationFailed: The configuration does not have one for each layer.
        """
        found = texts(parsed(self.config.content), "rootfs", "diff_ids")
        if len(found) != len(self.layers) or not all(map(is_digest, found)):
            raise _wrong(
                f"{self.reference}: configuration {self.config.descriptor.digest}",
                "it does not name the digest of each layer",
            )
        return found


def find(client: RegistryClient, reference: ImageRef) -> RemoteImage:
    """Look up an image without its layers; a digest takes precedence over a tag, and may be that of an index.

    Raises:
        UsageError: The reference has no host, and the client has no default.
        SourceUnreachable: The registry does not respond or refuses, has no such image, or none for this platform.
        VerificationFailed: The content does not match the digest.
    """
    repository = client.repository(reference)
    manifest = _present(repository, reference.digest or reference.tag)
    if records(parsed(manifest.content), "manifests"):
        subject = f"{repository.place}: index {reference.digest or reference.tag}"
        manifest = _present(repository, _entry(parsed(manifest.content), subject).digest)
    return _image(repository, reference, manifest)


def fetch_blobs(
    client: RegistryClient,
    reference: ImageRef,
    blobs: Sequence[Descriptor],
    store: Store,
    *,
    listener: Listener = ignore,
) -> None:
    """Download blobs of a repository into a store, a few at a time; skip existing ones, resume partial ones.

    The listener is called by one thread at a time; items are digests.

    Raises:
        SourceUnreachable: The registry does not respond, refuses, or does not have one of them.
        VerificationFailed: The content did not match the digest, twice; it is not kept in the store.
        DiskFull: No space is left.
    """
    wanted = [blob for blob in dict.fromkeys(blobs) if not store.has(blob.digest)]
    if not wanted:
        return
    repository = client.repository(reference)
    watch = TransferState(listener)

    def work(blob: Descriptor) -> None:
        try:
            _fetch(repository, blob, store, watch)
        except VerificationFailed:
            _fetch(repository, blob, store, watch)

    in_parallel(work, wanted, connections=_CONNECTIONS, watch=watch)


def _present(repository: Repository, name: str) -> SmallBlob:
    found = repository.manifest(name)
    if found is None:
        raise SourceUnreachable(
            f"{repository.place} has no manifest {name}", hint="check repository, tag and digest; a mirror may lack it"
        )
    return found


def _entry(index: object, subject: str) -> Descriptor:
    """Return the manifest for this platform; prefer one without a variant."""
    fitting = [
        entry
        for entry in records(index, "manifests")
        if text(entry, "platform", "os") == _SYSTEM and text(entry, "platform", "architecture") == _PROCESSOR
    ]
    if not fitting:
        raise SourceUnreachable(f"{subject} has no image for {_SYSTEM}/{_PROCESSOR}", hint="name another image")
    return _descriptor(min(fitting, key=lambda entry: text(entry, "platform", "variant")), subject)


def _descriptor(value: Record, subject: str) -> Descriptor:
    try:
        return descriptor(value)
    except ValueError as error:
        raise SourceUnreachable(f"{subject}: it {error}", hint="the image must be pushed again") from None


def _image(repository: Repository, reference: ImageRef, manifest: SmallBlob) -> RemoteImage:
    subject = f"{repository.place}: manifest {manifest.descriptor.digest}"
    content = parsed(manifest.content)
    if not record(content, "config"):
        raise SourceUnreachable(
            f"{subject} is not an image manifest (its media type is {manifest.descriptor.media_type or 'not given'})",
            hint="images in the format of Docker before 1.10 must be pushed again",
        )
    config = _descriptor(record(content, "config"), subject)
    return RemoteImage(
        reference=reference,
        manifest=manifest,
        config=SmallBlob(descriptor=config, content=_small(repository, config)),
        layers=tuple(_descriptor(layer, subject) for layer in records(content, "layers")),
    )


def _small(repository: Repository, blob: Descriptor) -> bytes:
    """Return a whole blob, verified."""
    request = repository.request("GET", f"blobs/{blob.digest}", f"blob {blob.digest}")

    def ask() -> bytes:
        with repository.once(request, (200,)) as answer:
            return answer.content(_LONGEST_CONFIG)

    content = patiently(repository.pacing, ask)
    found = digest_of(content)
    if found != blob.digest:
        raise _wrong(request.subject, f"its digest is {found}")
    return content


def _fetch(repository: Repository, blob: Descriptor, store: Store, watch: TransferState) -> None:
    with store.receiving(blob.digest) as receiver:
        if receiver is None:
            return
        if receiver.size > blob.size:
            receiver.restart()
        patience = Patience(repository.pacing)
        while receiver.size < blob.size:
            try:
                _read_on(repository, blob, receiver, watch)
            except Interrupted as error:
                if not patience.lasts(asked=error.asked, stalled=error.stalled, position=receiver.size):
                    raise


def _read_on(repository: Repository, blob: Descriptor, receiver: Receiver, watch: TransferState) -> None:
    """Append the content of one response."""
    start = receiver.size
    headers = {"Range": f"bytes={start}-"} if start else {}
    request = repository.request("GET", f"blobs/{blob.digest}", f"blob {blob.digest}", headers=headers)
    with repository.once(request, (200, 206, 416) if start else (200,)) as answer:
        if start and not _goes_on(answer, start):
            receiver.restart()
        for chunk in () if answer.status == 416 else _within(answer, blob.size - receiver.size, receiver):
            receiver.write(chunk)
            watch.report(blob.digest, receiver.size, blob.size)
    if receiver.size < blob.size:
        raise Interrupted(f"{request.subject}: the registry returned only a part of it")


def _within(answer: Answer, room: int, receiver: Receiver) -> Iterator[bytes]:
    """Yield the body; stop if it exceeds the allowed size."""
    for chunk in answer.chunks():
        room -= len(chunk)
        if room < 0:
            receiver.restart()
            raise _wrong(answer.subject, "it has more bytes than its manifest says")
        yield chunk


def _goes_on(answer: Answer, start: int) -> bool:
    return answer.status == 206 and answer.headers.get("Content-Range", "").startswith(f"bytes {start}-")


def _wrong(subject: str, problem: str) -> VerificationFailed:
    return VerificationFailed(
        f"{subject}: {problem}",
        hint="the registry or a proxy returned different content; try again, or use another registry",
    )
