"""What a store remembers beside its files: which layer a key led to, and which images there are.

Records are hints. A wrong one is found out, because the digest of what it leads to is compared.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from envbuilder.assembling.packing import Packed
from envbuilder.errors import VerificationFailed
from envbuilder.files import replacing
from envbuilder.model.images import AssembledImage, Descriptor, Document, ImageLayerPin
from envbuilder.model.refs import is_digest
from envbuilder.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerRecord:
    """What was learned when a layer was made.

    Attributes:
        packed: The layer.
        needs: Sonames that its libraries ask for and that it does not bring, sorted.
        brings: Names of libraries in it, sorted.
        notes: What readers should know about it, such as paths that two distributions have.
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
        image: The image.
        lock: Digest of the lock that it was made from.
    """

    name: str
    image: AssembledImage
    lock: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """The records of a store.

    Attributes:
        store: Holds them in the folders `layers` and `images`.
        shipped: What is known of a layer that was never made here; None for nothing.
    """

    store: Store
    shipped: Callable[[str], LayerRecord | None] = lambda _key: None

    def layer(self, key: str) -> LayerRecord | None:
        """What is known of a layer; None when it was never made here, or its record cannot be read."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            plain = json.loads(self._layer_path(key).read_bytes())
            return LayerRecord(
                packed=Packed(
                    digest=_checked(plain["digest"]), size=int(plain["size"]), diff_id=_checked(plain["diff_id"])
                ),
                needs=tuple(plain["needs"]),
                brings=tuple(plain["brings"]),
                notes=tuple(plain["notes"]),
            )
        return self.shipped(key)

    def keep_layer(self, key: str, record: LayerRecord) -> None:
        """Remember a layer."""
        _write(
            self._layer_path(key),
            {
                "digest": record.packed.digest,
                "size": record.packed.size,
                "diff_id": record.packed.diff_id,
                "needs": record.needs,
                "brings": record.brings,
                "notes": record.notes,
            },
        )

    def image(self, name: str) -> KeptImage | None:
        """An image by `repository:tag`, or by the digest of its manifest or configuration; None when it is not here."""
        if is_digest(name):
            return next(
                (
                    kept
                    for kept in self.images()
                    if name in {kept.image.manifest.descriptor.digest, kept.image.config.descriptor.digest}
                ),
                None,
            )
        return self._read_image(self._image_path(name))

    def images(self) -> Iterator[KeptImage]:
        """All images that can be read, by name."""
        for path in sorted((self.store.folder / "images").glob("*.json")):
            kept = self._read_image(path)
            if kept:
                yield kept

    def keep_image(self, kept: KeptImage) -> None:
        """Remember an image under its name; takes the name from the image that had it."""
        image = kept.image
        for document in (image.config, image.manifest, *(each for pair in image.attached for each in pair)):
            self.store.put(document.content)
        _write(
            self._image_path(kept.name),
            {
                "name": kept.name,
                "lock": kept.lock,
                "manifest": _plain(image.manifest.descriptor),
                "config": _plain(image.config.descriptor),
                "attached": [[_plain(one.descriptor), _plain(two.descriptor)] for one, two in image.attached],
                "layers": [
                    {"id": each.id, "key": each.key, "diff_id": each.diff_id, "blob": _plain(each.blob)}
                    for each in image.layers
                ],
            },
        )

    def forget_image(self, name: str) -> None:
        """Take a name away; the layers stay until they are pruned."""
        self._image_path(name).unlink(missing_ok=True)

    def pushed(self, host: str) -> tuple[str, ...]:
        """Repositories of a registry that were pushed to from here, sorted: layers can be taken over from them."""
        return tuple(name for name in self._pushed() if name.startswith(f"{host}/"))

    def keep_push(self, repository: str) -> None:
        """Remember a repository that was pushed to."""
        known = self._pushed()
        if repository not in known:
            self._pushed_path().parent.mkdir(parents=True, exist_ok=True)
            with replacing(self._pushed_path()) as stream:
                stream.write(json.dumps(sorted([*known, repository])).encode())

    def _pushed(self) -> list[str]:
        with suppress(OSError, ValueError):
            known = json.loads(self._pushed_path().read_bytes())
            if isinstance(known, list):
                return sorted(name for name in known if isinstance(name, str))
        return []

    def layer_digests(self) -> Iterator[tuple[str, str]]:
        """Key and digest of every layer that was made here."""
        for path in sorted((self.store.folder / "layers").glob("*.json")):
            key = f"sha256:{path.stem}"
            record = self.layer(key)
            if record:
                yield key, record.packed.digest

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

    def _read_image(self, path: Path) -> KeptImage | None:
        with suppress(OSError, ValueError, KeyError, TypeError, VerificationFailed):
            plain = json.loads(path.read_bytes())
            return KeptImage(
                name=str(plain["name"]),
                lock=_checked(plain["lock"]),
                image=AssembledImage(
                    layers=tuple(
                        ImageLayerPin(
                            id=each["id"],
                            key=each["key"],
                            diff_id=_checked(each["diff_id"]),
                            blob=_descriptor(each["blob"]),
                        )
                        for each in plain["layers"]
                    ),
                    config=self._document(plain["config"]),
                    manifest=self._document(plain["manifest"]),
                    attached=tuple((self._document(one), self._document(two)) for one, two in plain["attached"]),
                ),
            )
        return None

    def _document(self, plain: dict[str, object]) -> Document:
        descriptor = _descriptor(plain)
        return Document(descriptor=descriptor, content=self.store.read(descriptor.digest))


def _write(path: Path, plain: dict[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as stream:
        stream.write(json.dumps(plain, sort_keys=True, indent=1).encode())


def _plain(descriptor: Descriptor) -> dict[str, object]:
    return {"media_type": descriptor.media_type, "digest": descriptor.digest, "size": descriptor.size}


def _descriptor(plain: dict[str, object]) -> Descriptor:
    return Descriptor(
        media_type=str(plain["media_type"]), digest=_checked(plain["digest"]), size=int(str(plain["size"]))
    )


def _checked(text: object) -> str:
    if not isinstance(text, str) or not is_digest(text):
        raise ValueError(f"{text!r} is not a sha256 digest")
    return text
