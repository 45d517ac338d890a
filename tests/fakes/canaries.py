"""Secrets that are told apart, and a search for them in everything that a command wrote, packed or not."""

from __future__ import annotations

import base64
import gzip
import io
import lzma
import os
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

_DEPTH = 3
_MAGIC = {b"\x1f\x8b": "gzip", b"\xfd7zXZ": "xz", b"PK\x03\x04": "zip"}


def canary(place: str) -> str:
    """Return the secret of one place; it reads differently raw and in an address.

    Example:
        >>> canary("netrc")
        'Canary-netrc-p@ss/w=rd'
    """
    return f"Canary-{place}-p@ss/w=rd"


def forms(secret: str) -> Iterator[bytes]:
    """Yield the ways in which a secret can be written: raw, quoted for addresses, and in base64 at each offset."""
    yield secret.encode()
    yield quote(secret, safe="").encode()
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for before in range(3):
            # Characters that hold bits of a neighbour are left out.
            bits = 8 * before, 8 * (before + len(secret.encode()))
            yield encode(b"\0" * before + secret.encode())[-(-bits[0] // 6) : bits[1] // 6]


def leaks(contents: Mapping[str, bytes], secrets: Mapping[str, str]) -> list[str]:
    """Return where a secret can be read, as `PLACE in FILE`; archives and compressed files are opened.

    Args:
        contents: Bytes by name.
        secrets: Secrets by the place that they were planted in.
    """
    wanted = [(place, form) for place, secret in secrets.items() for form in set(forms(secret))]
    # What all secrets have in common in one way of writing is searched for first: hardly any file has it.
    starts = {os.path.commonprefix(alike) for alike in zip(*map(forms, secrets.values()), strict=True)}  # noqa: RUF071  by bytes
    return sorted(
        {
            f"{place} in {name}"
            for file, content in contents.items()
            for name, data in _opened(file, content, _DEPTH)
            if any(start in data for start in starts)
            for place, form in wanted
            if form in data
        }
    )


def files_below(folder: Path) -> dict[str, bytes]:
    """Return the content of every file below a folder by its relative path; a link's content is its target."""
    found: dict[str, bytes] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = bytes(path.readlink())
        elif path.is_file():
            found[name] = path.read_bytes()
    return found


def _opened(name: str, content: bytes, depth: int) -> Iterator[tuple[str, bytes]]:
    """Yield a file and everything inside of it."""
    yield name, content
    if not depth:
        return
    for inner, data in _inside(content):
        yield from _opened(f"{name}!{inner}", data, depth - 1)


def _inside(content: bytes) -> Iterator[tuple[str, bytes]]:
    kind = next((kind for magic, kind in _MAGIC.items() if content.startswith(magic)), "")
    try:
        if kind == "gzip":
            yield "gzip", gzip.decompress(content)
        elif kind == "xz":
            yield "xz", lzma.decompress(content)
        elif kind == "zip":
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                yield from ((each, archive.read(each)) for each in archive.namelist())
        elif content[257:262] == b"ustar":
            with tarfile.open(fileobj=io.BytesIO(content)) as tar:
                for member in tar:
                    file = tar.extractfile(member) if member.isfile() else None
                    yield member.name, file.read() if file else b""
    except (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, tarfile.TarError):
        return  # Not such a file after all: it was searched as it is.
