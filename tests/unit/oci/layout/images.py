"""Small images for tests, packed as ours are: gzip of many members."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from envbuilder.oci.documents import document, entry, layer_entry
from envbuilder.oci.images import (
    CONFIG_TYPE,
    EMPTY_TYPE,
    MANIFEST_TYPE,
    AssembledImage,
    Descriptor,
    ImageLayerPin,
    LayerFormat,
    SmallBlob,
)
from envbuilder.oci.store import Store

_PIECE = 700


def file(name: str, content: bytes = b"", **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    return _with(info, fields), content


def folder(name: str, **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.mode = tarfile.DIRTYPE, 0o755
    return _with(info, fields), b""


def symlink(name: str, target: str) -> tuple[tarfile.TarInfo, bytes]:
    return _with(tarfile.TarInfo(name), {"type": tarfile.SYMTYPE, "linkname": target}), b""


def hardlink(name: str, target: str) -> tuple[tarfile.TarInfo, bytes]:
    return _with(tarfile.TarInfo(name), {"type": tarfile.LNKTYPE, "linkname": target}), b""


def special(name: str, kind: bytes, **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    return _with(tarfile.TarInfo(name), {"type": kind, **fields}), b""


def _with(info: tarfile.TarInfo, fields: Mapping[str, object]) -> tarfile.TarInfo:
    for name, value in fields.items():
        setattr(info, name, value)
    return info


Members = Sequence[tuple[tarfile.TarInfo, bytes]]


def tar_of(members: Members, tar_format: int = tarfile.PAX_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tar_format) as tar:
        for info, content in members:
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def spliced(plain: bytes) -> bytes:
    """The same as a gzip of many members, cut without regard to blocks."""
    pieces = (plain[at : at + _PIECE] for at in range(0, len(plain), _PIECE))
    return b"".join(gzip.compress(piece, 1, mtime=0) for piece in pieces)


def pin_of(store: Store, number: int, plain: bytes, *, packed: bool = True) -> ImageLayerPin:
    content = spliced(plain) if packed else plain
    media_type = (LayerFormat.GZIP_SPLICED if packed else LayerFormat.TAR).media_type
    blob = Descriptor(media_type=media_type, digest=store.put(content), size=len(content))
    diff_id = f"sha256:{hashlib.sha256(plain).hexdigest()}"
    return ImageLayerPin(id=f"layer-{number}", key=blob.digest, diff_id=diff_id, blob=blob)


def image_of_tars(
    store: Store, tars: Sequence[bytes], config: Mapping[str, object] | None = None, *, bill: bytes = b""
) -> AssembledImage:
    pins = tuple(pin_of(store, number, plain) for number, plain in enumerate(tars))
    return image_of_pins(pins, config, bill=bill)


def image_of_pins(
    pins: tuple[ImageLayerPin, ...], config: Mapping[str, object] | None = None, *, bill: bytes = b""
) -> AssembledImage:
    value = {
        "architecture": "amd64",
        "os": "linux",
        "config": config or {},
        "rootfs": {"type": "layers", "diff_ids": [pin.diff_id for pin in pins]},
        "history": [{"created_by": pin.id} for pin in pins],
    }
    described = document(CONFIG_TYPE, json.dumps(value).encode())
    manifest = _manifest(described.descriptor, [layer_entry(pin) for pin in pins])
    attached: tuple[tuple[SmallBlob, SmallBlob], ...] = ()
    if bill:
        content = document("application/spdx+json", bill)
        nothing = document(EMPTY_TYPE, b"{}").descriptor
        more = {"artifactType": "application/spdx+json", "subject": entry(manifest.descriptor)}
        attached = ((_manifest(nothing, [entry(content.descriptor)], **more), content),)
    return AssembledImage(layers=pins, config=described, manifest=manifest, attached=attached)


def image(store: Store, *layers: Members, **more: object) -> AssembledImage:
    return image_of_tars(store, [tar_of(members) for members in layers], **more)  # type: ignore[arg-type]


def _manifest(config: Descriptor, layers: list[dict[str, object]], **more: object) -> SmallBlob:
    value = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "config": entry(config),
        "layers": layers,
        **more,
    }
    return document(MANIFEST_TYPE, json.dumps(value).encode())


def seen(root: Path) -> dict[str, str]:
    """What a folder holds: content of files, targets of links, `/` for folders."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        else:
            found[name] = "/" if path.is_dir() else path.read_text() if path.is_file() else "?"
    return found
