"""Layer caches in registries: layers by key, for builds on machines that did not make them.

The entry of a key is an OCI artifact whose only layer is the blob itself. So the garbage collector of a registry keeps
the blob, and other tools can list and copy entries.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from envbuilder.core.canonical_json import canonical_json
from envbuilder.core.errors import EnvbuilderError, SourceUnreachable, VerificationFailed
from envbuilder.core.json_fields import parsed, records, text
from envbuilder.core.references import ImageRef
from envbuilder.image.layers.records import LayerRecord, plain_record, record_of
from envbuilder.oci.documents import EMPTY, artifact, entry
from envbuilder.oci.images import Descriptor, LayerFormat, SmallBlob
from envbuilder.oci.registry.client import RegistryClient
from envbuilder.oci.registry.failures import TransferStopped
from envbuilder.oci.registry.parallel import TransferState, in_parallel
from envbuilder.oci.registry.pull import fetch_blobs
from envbuilder.oci.registry.push import Push
from envbuilder.oci.store import Store
from envbuilder.oci.transfers import Listener

T = TypeVar("T")

ARTIFACT_TYPE = "application/vnd.envbuilder.layer.v1"
RECORD = "io.envbuilder.layer.record"
_CONNECTIONS = 6
_FAILURES = (SourceUnreachable, VerificationFailed)


@dataclass(kw_only=True)
class CacheRepositories:
    """Access to repositories, which are never required: one that fails is reported once, and not used any more.

    Attributes:
        report: Receives one line of text.
    """

    client: RegistryClient
    report: Callable[[str], None]
    _failed: set[ImageRef] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, place: ImageRef, question: Callable[[], T]) -> T | None:
        """Return the answer of a repository; None if it failed now or before."""
        if place in self._failed:
            return None
        try:
            return question()
        except TransferStopped:
            return None
        except EnvbuilderError as error:
            if not isinstance(error, _FAILURES):
                raise
            with self._lock:
                is_new = place not in self._failed
                self._failed.add(place)
            if is_new:
                self.report(f"the layer cache {place.repository} is not used: {error.message}")
            return None


@dataclass(kw_only=True)
class RegistryLayerCache:
    """The `LayerCache` in repositories of registries; safe to use from several threads.

    Attributes:
        store: Receives the layers.
        read: Trusted repositories, in order.
    """

    repositories: CacheRepositories
    store: Store
    read: Sequence[ImageRef]
    _holders: dict[str, ImageRef] = field(default_factory=dict)

    def find(self, keys: Sequence[str]) -> dict[str, LayerRecord]:
        """See `LayerCache.find`."""
        found: dict[str, LayerRecord] = {}
        for place in self.read:
            left = [key for key in keys if key not in found]
            found |= self.repositories.ask(place, partial(self._entries, place, left)) or {}
        return found

    def held(self, layers: Sequence[Descriptor]) -> frozenset[str]:
        """See `LayerCache.held`."""
        for place in self.read:
            left = [layer for layer in layers if layer.digest not in self._holders]
            there = self.repositories.ask(place, partial(self._answers, place, left)) or ()
            self._holders |= {layer.digest: place for layer, is_there in zip(left, there, strict=False) if is_there}
        return frozenset(layer.digest for layer in layers if layer.digest in self._holders)

    def pull(self, layers: Sequence[Descriptor], listener: Listener) -> None:
        """See `LayerCache.pull`."""
        watch = TransferState(listener)

        def work(layer: Descriptor) -> str:
            place = self._holders[layer.digest]
            try:
                fetch_blobs(
                    self.repositories.client,
                    place,
                    (layer,),
                    self.store,
                    listener=lambda seen: watch.report(seen.item, seen.current, seen.total),
                )
            except _FAILURES as error:
                return f"not taken from the layer cache {place.repository}: {error.message}"
            return ""

        for failure in filter(None, in_parallel(work, layers, connections=_CONNECTIONS, watch=watch)):
            self.repositories.report(failure)

    def _entries(self, place: ImageRef, keys: Sequence[str]) -> dict[str, LayerRecord]:
        repository = self.repositories.client.repository(place)
        manifests = in_parallel(
            lambda key: repository.manifest(entry_tag(key)), keys, connections=_CONNECTIONS, watch=TransferState()
        )
        found = {}
        for key, manifest in zip(keys, manifests, strict=True):
            if manifest:
                try:
                    found[key] = entry_record(key, manifest)
                except ValueError:
                    self.repositories.report(
                        f"ignored {entry_tag(key)} of the layer cache {place.repository}: it is invalid"
                    )
        return found

    def _answers(self, place: ImageRef, layers: Sequence[Descriptor]) -> tuple[bool, ...]:
        repository = self.repositories.client.repository(place)
        return in_parallel(
            lambda layer: repository.has_blob(layer.digest), layers, connections=_CONNECTIONS, watch=TransferState()
        )


@dataclass(kw_only=True)
class RegistryCacheWriter:
    """The `LayerCacheWriter` to a repository of a registry; safe to use from several threads.

    Attributes:
        store: Contains the layers to add.
        mount_from: Repositories as `HOST/NAME` to mount layers from.
    """

    repositories: CacheRepositories
    store: Store
    write: ImageRef
    mount_from: tuple[str, ...] = ()
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _push: Push | None = None

    def keep(self, key: str, record: LayerRecord, layer_format: LayerFormat) -> None:
        """See `LayerCacheWriter.keep`."""
        self.repositories.ask(self.write, partial(self._keep, key, record, layer_format))

    def stop(self) -> None:
        """See `LayerCacheWriter.stop`."""
        if self._push:
            self._push.stop()

    def _begun(self) -> Push:
        with self._lock:
            if self._push is None:
                self._push = Push(self.repositories.client, self.write, self.store, mount_from=self.mount_from)
            return self._push

    def _keep(self, key: str, record: LayerRecord, layer_format: LayerFormat) -> None:
        push, blob = self._begun(), record.packed.blob(layer_format)
        if self.store.has(blob.digest, blob.size):
            push.send(entry_tag(key), blob)
        elif not push.held([blob]):
            return  # It is only in a registry that this one cannot mount it from.
        push.put(entry_manifest(key, record, layer_format), (EMPTY,), entry_tag(key))


def entry_tag(key: str) -> str:
    """Return the tag of the entry of a key.

    Example:
        >>> entry_tag("sha256:" + 3 * "ab")
        'layer-ababab'
    """
    return f"layer-{key.removeprefix('sha256:')}"


def entry_manifest(key: str, record: LayerRecord, layer_format: LayerFormat) -> SmallBlob:
    """Return the entry of a layer; two machines that made the same layer write the same bytes."""
    annotations = {RECORD: canonical_json(plain_record(key, record)).decode()}
    return artifact(ARTIFACT_TYPE, [entry(record.packed.blob(layer_format))], annotations=annotations)


def entry_record(key: str, manifest: SmallBlob) -> LayerRecord:
    """Return the record in an entry.

    Raises:
        ValueError: It is not the entry of this key, or contradicts itself.
    """
    content = parsed(manifest.content)
    record = record_of(key, parsed(text(content, "annotations", RECORD).encode()))
    blobs = [(text(layer, "digest"), layer.get("size")) for layer in records(content, "layers")]
    if text(content, "artifactType") != ARTIFACT_TYPE or blobs != [(record.packed.digest, record.packed.size)]:
        raise ValueError(f"not the entry of {key}")
    return record
