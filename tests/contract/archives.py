"""A tiny base image as a `docker save` archive, made without any registry."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path

_BUSYBOX = Path("/bin/busybox")
_APPLETS = ("cat", "cp", "echo", "false", "ln", "sh", "sha256sum", "sleep", "true")


def _add(tar: tarfile.TarFile, name: str, content: bytes, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    tar.addfile(entry, io.BytesIO(content))


def _layer() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        # Without busybox the layer holds no programs: enough for an engine that only pretends to run them.
        _add(tar, "bin/busybox", _BUSYBOX.read_bytes() if _BUSYBOX.exists() else b"", 0o755)
        for applet in _APPLETS:
            link = tarfile.TarInfo(f"bin/{applet}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(link)
        folder = tarfile.TarInfo("tmp")
        folder.type, folder.mode = tarfile.DIRTYPE, 0o1777
        tar.addfile(folder)
    return buffer.getvalue()


def save_archive(path: Path, *images: tuple[str, ...], run: str = "") -> None:
    """Write an archive with images of one layer each.

    Args:
        path: Where to.
        images: For each image its names, `repository:tag`; the images differ in a label.
        run: Another label, by which what is built on them can be found.
    """
    layer = _layer()
    manifest = []
    with tarfile.open(path, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        _add(tar, "layer.tar", layer)
        for copy, names in enumerate(images):
            config = json.dumps(
                {
                    "architecture": "amd64",
                    "os": "linux",
                    "config": {"Labels": {"base": "tiny", "copy": str(copy), "run": run}, "Entrypoint": ["/bin/false"]},
                    "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
                    "history": [{"created_by": "tiny base"}],
                }
            ).encode()
            name = f"{hashlib.sha256(config).hexdigest()}.json"
            _add(tar, name, config)
            manifest.append({"Config": name, "RepoTags": list(names) or None, "Layers": ["layer.tar"]})
        _add(tar, "manifest.json", json.dumps(manifest).encode())
