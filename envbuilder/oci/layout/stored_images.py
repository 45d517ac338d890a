"""Reader of an image in a layout or an archive, for comparison with the expected one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

from envbuilder.core.digests import is_digest
from envbuilder.core.errors import UsageError, VerificationFailed
from envbuilder.core.files import CHUNK
from envbuilder.core.json_fields import Record, parsed, record, records, text, texts
from envbuilder.oci.documents import descriptor, document
from envbuilder.oci.images import CONFIG_TYPE, MANIFEST_TYPE, Descriptor, LayerFormat, SmallBlob
from envbuilder.oci.layout.contents import DOCKER_FILE, INDEX_FILE, NAME, blob_name
from envbuilder.oci.layout.image_files import ImageFiles, image_files
from envbuilder.oci.layout.layer_compression import Unpacked

_DOCKER = "application/vnd.docker."
_INDEX_TYPES = frozenset({"application/vnd.oci.image.index.v1+json", f"{_DOCKER}distribution.manifest.list.v2+json"})
_FULL_NAME = "io.containerd.image.name"
_LARGEST_DOCUMENT = 1 << 24
_DEPTH = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredImage:
    """An image in a layout or archive whose digests were verified.

    Attributes:
        manifest: The manifest; None for the output of older engines, which has none.
        layers: Lowest first. Without a manifest, the digest of each is that of its file, the uncompressed tar.
        diff_ids: Digests of their tars.
    """

    manifest: SmallBlob | None
    config: SmallBlob
    layers: tuple[Descriptor, ...]
    diff_ids: tuple[str, ...]
    open: Callable[[Descriptor], BinaryIO]


def read_layout(path: Path, name: str = "") -> StoredImage:
    """Read one image of an OCI layout (directory or tar), or of an archive by `docker save`.

    Args:
        path: The directory or the tar; the tar must not be compressed.
        name: Its name in the layout, or `repository:tag`; empty if there is only one image.

    Raises:
        UsageError: The path contains no images, or no image or several have this name.
        VerificationFailed: A blob is missing, or does not match its digest.
    """
    stored = image_files(path)
    if stored.has(INDEX_FILE):
        return _from_index(stored, path, name)
    if stored.has(DOCKER_FILE):
        return _from_docker(stored, path, name)
    raise UsageError(f"{path} contains no images", hint="specify an OCI layout, or an archive of `docker save`")


def _from_index(stored: ImageFiles, path: Path, name: str) -> StoredImage:
    index = parsed(_small(stored, INDEX_FILE, path))
    listed = records(index, "manifests")
    images = [entry for entry in listed if not _is_attached(entry, stored, path)]
    digests = {text(entry, "digest"): entry for entry in _called(name, [(entry, _names(entry)) for entry in images])}
    chosen = _only(list(digests.values()), path, name, [known for entry in images for known in _names(entry)])
    manifest = _manifest(stored, path, chosen)
    content = parsed(manifest.content)
    config = _document(stored, path, _descriptor(record(content, "config"), f"the manifest in {path}"))
    layers = tuple(_descriptor(layer, f"the manifest in {path}") for layer in records(content, "layers"))
    for layer in layers:
        _check(stored, path, layer)
    return StoredImage(
        manifest=manifest,
        config=config,
        layers=layers,
        diff_ids=_diff_ids(config, len(layers), path),
        open=lambda layer: stored.open(blob_name(layer.digest)),
    )


def _called(name: str, known: list[tuple[Record, tuple[str, ...]]]) -> list[Record]:
    """Return the entries with this name; if there is none, those whose name has a registry host in front of it."""
    exact = [entry for entry, names in known if not name or name in names]
    return exact or [entry for entry, names in known if any(one.endswith(f"/{name}") for one in names)]


def _names(entry: Record) -> tuple[str, ...]:
    return tuple(name for key in (NAME, _FULL_NAME) if (name := text(entry, "annotations", key)))


def _is_attached(entry: Record, stored: ImageFiles, path: Path) -> bool:
    """Return True if an entry of an index refers to another one of its entries."""
    if text(entry, "mediaType") in _INDEX_TYPES:
        return False
    return "subject" in record(parsed(_document(stored, path, _descriptor(entry, f"the index in {path}")).content))


def _only(found: list[Record], path: Path, name: str, known: list[str]) -> Record:
    if len(found) == 1:
        return found[0]
    names = ", ".join(sorted(set(known))) or "none has a name"
    wanted = f"called {name}" if name else "that could be meant"
    raise UsageError(f"{path} holds {len(found)} images {wanted}", hint=f"select one with --name: {names}")


def _manifest(stored: ImageFiles, path: Path, entry: Record) -> SmallBlob:
    """Return the manifest of an entry; select the platform in nested indexes."""
    for _ in range(_DEPTH):
        found = _document(stored, path, _descriptor(entry, f"the index in {path}"))
        if found.descriptor.media_type not in _INDEX_TYPES:
            return found
        entries = records(parsed(found.content), "manifests")
        ours = [one for one in entries if _is_ours(one)] or list(entries)
        entry = _only(ours, path, "linux/amd64", [])
    raise VerificationFailed(f"{path} contains nested indexes")


def _is_ours(entry: Record) -> bool:
    return (text(entry, "platform", "os"), text(entry, "platform", "architecture")) == ("linux", "amd64")


def _from_docker(stored: ImageFiles, path: Path, name: str) -> StoredImage:
    entries = records(parsed(_small(stored, DOCKER_FILE, path)))
    chosen = _only(
        _called(name, [(entry, texts(entry, "RepoTags")) for entry in entries]),
        path,
        name,
        [known for entry in entries for known in texts(entry, "RepoTags")],
    )
    config = document(CONFIG_TYPE, _small(stored, text(chosen, "Config"), path))
    files = texts(chosen, "Layers")
    diff_ids = _diff_ids(config, len(files), path)
    layers = tuple(_layer_file(stored, path, file, diff) for file, diff in zip(files, diff_ids, strict=True))
    # The file is named by the digest of the configuration, which is the id of the image.
    if config.descriptor.digest.removeprefix("sha256:") not in text(chosen, "Config"):
        raise VerificationFailed(f"the configuration in {path} does not match its digest")
    where = {layer.digest: file for layer, file in zip(layers, files, strict=True)}
    return StoredImage(
        manifest=None,
        config=config,
        layers=layers,
        diff_ids=diff_ids,
        open=lambda layer: stored.open(where[layer.digest]),
    )


def _diff_ids(config: SmallBlob, layers: int, path: Path) -> tuple[str, ...]:
    found = texts(parsed(config.content), "rootfs", "diff_ids")
    if len(found) != layers or not all(map(is_digest, found)):
        raise VerificationFailed(f"{path} holds {layers} layers of an image whose configuration names {len(found)}")
    return found


def _layer_file(stored: ImageFiles, path: Path, file: str, diff_id: str) -> Descriptor:
    if not stored.has(file):
        raise VerificationFailed(f"{path} lacks the layer {file}")
    with Unpacked(stored.open(file)) as stream:
        digest, size = stream.diff_id(), stream.size
    if digest != diff_id:
        raise VerificationFailed(f"the layer {file} in {path} has the digest {digest}, not {diff_id}")
    return Descriptor(media_type=LayerFormat.TAR.media_type, digest=digest, size=size)


def _descriptor(value: Record, subject: str) -> Descriptor:
    try:
        return descriptor(value)
    except ValueError as error:
        raise VerificationFailed(f"{subject} {error}") from None


def _document(stored: ImageFiles, path: Path, wanted: Descriptor) -> SmallBlob:
    content = _small(stored, blob_name(wanted.digest), path)
    found = document(wanted.media_type or MANIFEST_TYPE, content)
    if found.descriptor.digest != wanted.digest:
        raise _damaged(path, wanted, found.descriptor.digest)
    return found


def _check(stored: ImageFiles, path: Path, layer: Descriptor) -> None:
    name, digest, size = blob_name(layer.digest), hashlib.sha256(), 0
    if not stored.has(name):
        raise VerificationFailed(f"{path} lacks the layer {layer.digest}")
    with stored.open(name) as stream:
        for piece in iter(partial(stream.read, CHUNK), b""):
            digest.update(piece)
            size += len(piece)
    if (f"sha256:{digest.hexdigest()}", size) != (layer.digest, layer.size):
        raise _damaged(path, layer, f"sha256:{digest.hexdigest()}")


def _damaged(path: Path, wanted: Descriptor, found: str) -> VerificationFailed:
    return VerificationFailed(f"{path} is damaged: {wanted.digest} has the digest {found}")


def _small(stored: ImageFiles, name: str, path: Path) -> bytes:
    if not name or not stored.has(name):
        raise VerificationFailed(f"{path} lacks {name or 'a configuration'}")
    with stored.open(name) as stream:
        content = stream.read(_LARGEST_DOCUMENT + 1)
    if len(content) > _LARGEST_DOCUMENT:
        raise VerificationFailed(f"{name} in {path} is too large for a JSON document")
    return content
