"""Toy .debs, packed by hand."""

from __future__ import annotations

import gzip
import io
import lzma
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

from envbuilder.lock.lock import OsPackagePin

Content = bytes | str | None
"""A file, a link (where it points; with `=` in front a hard link), or a folder."""

MTIME = 1_600_000_000
PACKERS: Mapping[str, Callable[[bytes], bytes]] = {
    "xz": lambda data: lzma.compress(data, preset=0),
    "gz": lambda data: gzip.compress(data, mtime=0),
    "": lambda data: data,
}


def tar_of(
    files: Mapping[str, Content],
    *,
    executable: tuple[str, ...] = (),
    modes: Mapping[str, int] | None = None,
    mtime: int = MTIME,
) -> bytes:
    """A tar with `./` in front of each name, as Debian's have."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path, content in files.items():
            info = tarfile.TarInfo(f"./{path}")
            info.mtime = mtime
            info.mode = 0o755 if content is None or path in executable else 0o644
            info.mode = (modes or {}).get(path, info.mode)
            if content is None:
                info.type = tarfile.DIRTYPE
                archive.addfile(info)
            elif isinstance(content, str):
                hard = content.startswith("=")
                info.type = tarfile.LNKTYPE if hard else tarfile.SYMTYPE
                info.linkname = f"./{content[1:]}" if hard else content
                archive.addfile(info)
            else:
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return stream.getvalue()


def ar_of(parts: Mapping[str, bytes]) -> bytes:
    """The outer archive of a .deb."""
    packed = b"!<arch>\n"
    for name, data in parts.items():
        packed += (
            f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(data):<10}`\n".encode() + data + b"\n" * (len(data) % 2)
        )
    return packed


def deb(
    folder: Path,
    name: str,
    files: Mapping[str, Content],
    *,
    version: str = "1.0",
    control: Mapping[str, bytes] | None = None,
    fields: str = "",
    packing: str = "xz",
    modes: Mapping[str, int] | None = None,
    mtime: int = MTIME,
) -> tuple[OsPackagePin, Path]:
    """Write a .deb; gives its pin and where it is.

    Args:
        folder: Where it goes.
        name: The package.
        files: What it installs.
        version: Its version.
        control: Files about it beside `control`.
        fields: Further lines of its paragraph.
        packing: Ending of its two tars: `xz`, `gz` or nothing.
        modes: Permission bits of files, by path.
        mtime: Time stamp of what it installs.
    """
    paragraph = f"Package: {name}\nVersion: {version}\nArchitecture: amd64\n{fields}"
    about: dict[str, Content] = {"control": paragraph.encode(), **(control or {})}
    ending = f".{packing}" if packing else ""
    pack = PACKERS[packing]
    path = folder / f"{name}_{version}.deb"
    path.write_bytes(
        ar_of(
            {
                "debian-binary": b"2.0\n",
                f"control.tar{ending}": pack(tar_of(about)),
                f"data.tar{ending}": pack(tar_of(files, modes=modes, mtime=mtime)),
            }
        )
    )
    return OsPackagePin(name=name, version=version, sha256="00" * 32, file=f"pool/{path.name}"), path
