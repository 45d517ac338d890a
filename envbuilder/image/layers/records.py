"""Records in a store beside its files: the layer of each key, and the images.

A record is accepted only if it is unmodified: that of a layer has the digest of its own content, that of an image
agrees with the manifest, which the store verifies. Any other is removed, and its layer or image is made again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, TypeAlias, TypeVar

from envbuilder.core import structure
from envbuilder.core.canonical_json import canonical_json, indented_json
from envbuilder.core.digests import is_digest
from envbuilder.core.errors import VerificationFailed
from envbuilder.core.field_rules import Parsed
from envbuilder.core.field_types import Digest, FileSize, OptionalDigest
from envbuilder.core.files import read_json, replacing
from envbuilder.core.json_fields import parsed, records, text, texts
from envbuilder.image.layers.layer_writer import Packed
from envbuilder.oci.documents import layer_entry
from envbuilder.oci.images import AssembledImage, Descriptor, ImageLayerPin, SmallBlob
from envbuilder.oci.store import Store

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerRecord:
    """The properties of a layer that was made.

    Attributes:
        needs: Sonames that its libraries require and that it does not contain, sorted.
        brings: Names of libraries in it, sorted.
        notes: Messages for the user, such as paths that two distributions contain.
    """

    packed: Packed
    needs: tuple[str, ...] = ()
    brings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptImage:
    """An image whose layers are in a store.

    Attributes:
        name: `repository:tag`.
        lock: Digest of the lock that it was made from.
    """

    name: str
    image: AssembledImage
    lock: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _LayerFile:
    key: Digest
    digest: Digest
    size: FileSize
    diff_id: Digest
    contents: OptionalDigest = ""
    needs: tuple[str, ...]
    brings: tuple[str, ...]
    notes: tuple[str, ...]
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Blob:
    media_type: str
    digest: Digest
    size: FileSize


def _descriptor(blob: _Blob) -> Descriptor:
    return Descriptor(media_type=blob.media_type, digest=blob.digest, size=blob.size)


def _plain(descriptor: Descriptor) -> dict[str, object]:
    return {"media_type": descriptor.media_type, "digest": descriptor.digest, "size": descriptor.size}


_Stored: TypeAlias = Annotated[Descriptor, Parsed(_descriptor, of=_Blob, write=_plain)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layer:
    id: str
    key: str
    diff_id: Digest
    blob: _Stored
    contents: OptionalDigest = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _ImageFile:
    name: str
    lock: Digest
    manifest: _Stored
    config: _Stored
    attached: tuple[tuple[_Stored, ...], ...]
    layers: tuple[_Layer, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """The records of a store.

    Attributes:
        store: Holds them in the directories `layers` and `images`.
        shipped: Returns the record of a layer that was never made here; None if it is unknown.
    """

    store: Store
    shipped: Callable[[str], LayerRecord | None] = lambda _key: None

    def layer(self, key: str) -> LayerRecord | None:
        """Return the record of a layer; None if it was never made here, or its record was modified.

        The record of a layer whose file has another size is rejected too. The file may be missing.
        """
        path = self._layer_path(key)
        return believed(path, lambda: self._read_layer(path, key)) or self.shipped(key)

    def _read_layer(self, path: Path, key: str) -> LayerRecord:
        record = record_of(key, read_json(path))
        if self._has_another_size(record.packed):
            raise ValueError(f"{record.packed.digest} has another size")
        return record

    def _has_another_size(self, packed: Packed) -> bool:
        return self.store.has(packed.digest) and not self.store.has(packed.digest, packed.size)

    def keep_layer(self, key: str, record: LayerRecord) -> None:
        """Add the record of a layer."""
        write_record(self._layer_path(key), plain_record(key, record))

    def image(self, name: str) -> KeptImage | None:
        """Return an image by `repository:tag`, or by the digest of its manifest or configuration; None if unknown."""
        if is_digest(name):
            return next(
                (
                    kept
                    for kept in self.images()
                    if name in {kept.image.manifest.descriptor.digest, kept.image.config.descriptor.digest}
                ),
                None,
            )
        path = self._image_path(name)
        return believed(path, lambda: self._read_image(path))

    def images(self) -> Iterator[KeptImage]:
        """Yield all images that can be read, by name."""
        for path in self._files("images", "*.json"):
            kept = believed(path, partial(self._read_image, path))
            if kept:
                yield kept

    def keep_image(self, kept: KeptImage) -> None:
        """Add the record of an image under its name; another image with this name loses it."""
        image = kept.image
        for document in (image.config, image.manifest, *(each for pair in image.attached for each in pair)):
            self.store.put(document.content)
        file = _ImageFile(
            name=kept.name,
            lock=kept.lock,
            manifest=image.manifest.descriptor,
            config=image.config.descriptor,
            attached=tuple((one.descriptor, two.descriptor) for one, two in image.attached),
            layers=tuple(
                _Layer(id=each.id, key=each.key, diff_id=each.diff_id, blob=each.blob, contents=each.contents)
                for each in image.layers
            ),
        )
        write_record(self._image_path(kept.name), structure.dump(file))

    def forget_image(self, name: str) -> None:
        """Remove a name; the layers stay until they are pruned."""
        self._image_path(name).unlink(missing_ok=True)

    def pushed(self, host: str) -> tuple[str, ...]:
        """Return the repositories of a registry that were pushed to, sorted; layers can be mounted from them."""
        return tuple(name for name in self._pushed() if name.startswith(f"{host}/"))

    def keep_push(self, repository: str) -> None:
        """Add a repository that was pushed to."""
        known = self._pushed()
        if repository not in known:
            self._pushed_path().parent.mkdir(parents=True, exist_ok=True)
            with replacing(self._pushed_path()) as stream:
                stream.write(canonical_json(sorted([*known, repository])))

    def _pushed(self) -> list[str]:
        try:
            known = read_json(self._pushed_path())
        except (OSError, ValueError):
            return []
        return sorted(name for name in known if isinstance(name, str)) if isinstance(known, list) else []

    def layer_digests(self) -> Iterator[tuple[str, str]]:
        """Yield key and digest of every layer that was made here."""
        for path in self._files("layers", "*.json"):
            key = f"sha256:{path.stem}"
            record = self.layer(key)
            if record:
                yield key, record.packed.digest

    def damaged(self) -> Iterator[Path]:
        """Yield the files of invalid records, sorted; they are not removed."""
        # The temporary file of a killed process has the name of a record with a suffix.
        layers, images = (self._files(name, "*.json") + self._files(name, ".*.json.*.part") for name in _FOLDERS)
        reads: list[tuple[Path, Callable[[], object]]] = [
            *((path, partial(self._read_layer, path, f"sha256:{path.stem}")) for path in layers),
            *((path, partial(self._read_image, path)) for path in images),
        ]
        for path, read in reads:
            try:
                read()
            except _NOT_WHAT_WAS_WRITTEN:
                yield path

    def _files(self, name: str, pattern: str) -> list[Path]:
        """Return the files of a directory of records, sorted; empty if the directory is a link."""
        folder = self.store.folder / name
        return [] if folder.is_symlink() else sorted(folder.glob(pattern))

    def _pushed_path(self) -> Path:
        return self.store.folder / "pushed.json"

    def _layer_path(self, key: str) -> Path:
        return self.store.folder / "layers" / f"{key.removeprefix('sha256:')}.json"

    def _image_path(self, name: str) -> Path:
        return (
            self.store.folder
            / "images"
            / f"{re.sub(r'[^a-z0-9._-]', lambda found: f'%{ord(found[0]):02x}', name)}.json"
        )

    def _read_image(self, path: Path) -> KeptImage:
        file = structure.load(_ImageFile, read_json(path))
        image = AssembledImage(
            layers=tuple(
                ImageLayerPin(id=each.id, key=each.key, diff_id=each.diff_id, blob=each.blob, contents=each.contents)
                for each in file.layers
            ),
            config=self._document(file.config),
            manifest=self._document(file.manifest),
            attached=tuple((self._document(one), self._document(two)) for one, two in file.attached),
        )
        if self._image_path(file.name) != path or not _agrees(image):
            raise ValueError(f"not the record of {file.name}")
        return KeptImage(name=file.name, lock=file.lock, image=image)

    def _document(self, descriptor: Descriptor) -> SmallBlob:
        if not self.store.has(descriptor.digest):
            raise ValueError(f"{descriptor.digest} is not in the store")
        return SmallBlob(descriptor=descriptor, content=self.store.read(descriptor.digest))


_FOLDERS = ("layers", "images")
_NOT_WHAT_WAS_WRITTEN = (ValueError, VerificationFailed)


def believed(path: Path, read: Callable[[], T]) -> T | None:
    """Return the content of a record; None if there is none. A modified one is removed."""
    try:
        return read()
    except OSError:
        return None
    except _NOT_WHAT_WAS_WRITTEN:
        with suppress(OSError):
            path.unlink()
        return None


def plain_record(key: str, record: LayerRecord) -> dict[str, object]:
    """Return the record of a layer as plain values, with its own digest; the inverse of `record_of`."""
    plain = {
        "key": key,
        "digest": record.packed.digest,
        "size": record.packed.size,
        "diff_id": record.packed.diff_id,
        "contents": record.packed.contents,
        "needs": record.needs,
        "brings": record.brings,
        "notes": record.notes,
    }
    return with_sum(plain)


def record_of(key: str, plain: object) -> LayerRecord:
    """Return the record of a layer.

    Raises:
        ValueError: It is invalid, was modified, or is of another key.
    """
    found = structure.load(_LayerFile, plain)
    if not isinstance(plain, dict) or found.key != key or found.sha256 != sum_of(plain):
        raise ValueError(f"not the record of {key}")
    packed = Packed(digest=found.digest, size=found.size, diff_id=found.diff_id, contents=found.contents)
    return LayerRecord(packed=packed, needs=found.needs, brings=found.brings, notes=found.notes)


def with_sum(plain: Mapping[str, object]) -> dict[str, object]:
    """Return a record with the sha256 of its content."""
    return {**plain, "sha256": sum_of(plain)}


def sum_of(plain: Mapping[str, object]) -> str:
    """Return the sha256 of the content of a record, written with sorted keys and without spaces."""
    content = {name: value for name, value in plain.items() if name != "sha256"}
    return hashlib.sha256(canonical_json(content)).hexdigest()


def _agrees(image: AssembledImage) -> bool:
    """Return True if the layers of a record are those of its verified manifest and configuration."""
    manifest = parsed(image.manifest.content)
    return (
        [dict(each) for each in records(manifest, "layers")] == [layer_entry(layer) for layer in image.layers]
        and text(manifest, "config", "digest") == image.config.descriptor.digest
        and texts(parsed(image.config.content), "rootfs", "diff_ids") == tuple(layer.diff_id for layer in image.layers)
    )


def write_record(path: Path, plain: Mapping[str, object]) -> None:
    """Write a record; its directory is created if it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as stream:
        stream.write(indented_json(plain))
