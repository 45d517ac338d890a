"""Installation of wheels as entries of a layer: nothing is run, nothing is unpacked.

Source: https://packaging.python.org/en/latest/specifications/ ("Binary distribution format", "Recording installed
projects" and "Entry points"); unspecified details (the text of a script, the order of RECORD)
follow uv 0.13, read from its installations.
"""

from __future__ import annotations

import base64
import configparser
import csv
import hashlib
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from envbuilder.core.errors import VerificationFailed
from envbuilder.core.image_layout import site_packages
from envbuilder.core.names import file_name
from envbuilder.image.layers.compression import read
from envbuilder.image.layers.entries import Entry, folder, text
from envbuilder.image.layers.wheel_file import Content, Wheel
from envbuilder.oci.tar.members import EPOCH, Kind, Member

INSTALLER = b"envbuilder"
_SCRIPT = """#!{python}
# -*- coding: utf-8 -*-
import sys
from {module} import {name}
if __name__ == "__main__":
    if sys.argv[0].endswith("-script.pyw"):
        sys.argv[0] = sys.argv[0][:-11]
    elif sys.argv[0].endswith(".exe"):
        sys.argv[0] = sys.argv[0][:-4]
    sys.exit({function}())
"""
_ASKS = b"#!python"
_SHEBANG = re.compile(rb"#!pythonw?[ \t]*(?=\r?\n|$)")
_TARGET = re.compile(r"^\s*(?P<module>[\w.]+)\s*:\s*(?P<function>[\w.]+)\s*(?:\[[^\]]*\])?\s*$")
_SIGNATURES = ("RECORD.jws", "RECORD.p7s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefix:
    """The environment that distributions are installed in.

    Attributes:
        venv: Root of the virtual environment, relative, such as `opt/venv`.
        series: `3.8`.
    """

    venv: str
    series: str

    @property
    def site(self) -> str:
        """The directory `site-packages`."""
        return site_packages(self.series, self.venv)

    @property
    def python(self) -> str:
        """Absolute path of the interpreter, as scripts name it."""
        return f"/{self.venv}/bin/python"


def installed(wheel: Wheel, prefix: Prefix) -> list[Entry]:
    """Return all files of an installed wheel, in no particular order.

    Left out: bytecode in the wheel, which belongs to another interpreter or time, and signatures of RECORD.

    Raises:
        VerificationFailed: The wheel breaks its specification.
    """
    dist_info = wheel.dist_info
    ours = [
        *scripts(wheel, prefix),
        text(f"{prefix.site}/{dist_info}/INSTALLER", INSTALLER, origin=wheel.name),
        text(f"{prefix.site}/{dist_info}/REQUESTED", b"", origin=wheel.name),
    ]
    written = {entry.path for entry in ours}
    given = [(entry, path) for entry, path in _files(wheel, prefix) if entry.path not in written]
    record = f"{prefix.site}/{dist_info}/RECORD"
    lines = _record(wheel, prefix, [*given, *((entry, "") for entry in ours)], record)
    folders = (folder(f"{prefix.site}/{path}") for path in wheel.folders if _is_plain(path))
    return [*(entry for entry, _ in given), *ours, text(record, lines, origin=wheel.name), *folders]


def brought(wheel: Wheel, prefix: Prefix) -> Iterator[Entry]:
    """Yield only the files of the wheel itself, without those that an installer writes; errors as in `installed`."""
    for entry, _ in _files(wheel, prefix):
        yield entry


def _files(wheel: Wheel, prefix: Prefix) -> Iterator[tuple[Entry, str]]:
    """Yield the files of the wheel, each with its path there; an empty path for a file that is changed."""
    dist_info = wheel.dist_info
    data = dist_info.removesuffix(".dist-info") + ".data"
    left_out = {f"{dist_info}/{name}" for name in ("RECORD", *_SIGNATURES)}
    for path, content in wheel.contents.items():
        if path in left_out or "/__pycache__/" in f"/{path}":
            continue
        if not path.startswith(f"{data}/"):
            yield _entry(f"{prefix.site}/{path}", content, wheel.name), path
            continue
        scheme, _, rest = path.removeprefix(f"{data}/").partition("/")
        if not rest:
            raise VerificationFailed(
                f"{wheel.name} cannot be installed: {path} is a file instead of a directory",
                hint="choose another version of the package",
            )
        target = f"{_scheme(wheel, scheme, prefix)}/{rest}"
        if scheme == "scripts":
            yield _given_script(target, content, prefix, wheel.name, path)
        else:
            yield _entry(target, content, wheel.name), path


def _scheme(wheel: Wheel, scheme: str, prefix: Prefix) -> str:
    match scheme:
        case "purelib" | "platlib":
            return prefix.site
        case "scripts":
            return f"{prefix.venv}/bin"
        case "data":
            return prefix.venv
        case "headers":
            return f"{prefix.venv}/include/site/python{prefix.series}/{wheel.dist_info.partition('-')[0]}"
        case _:
            raise VerificationFailed(
                f"{wheel.name} cannot be installed: its .data directory has the unknown scheme {scheme!r}",
                hint="choose another version of the package",
            )


def _is_plain(path: str) -> bool:
    """Return True if a directory of the wheel is a directory of site-packages, and not one of bytecode."""
    return not path.partition("/")[0].endswith(".data") and "__pycache__" not in path.split("/")


def _entry(path: str, content: Content, origin: str, *, executable: bool = False) -> Entry:
    return Entry(
        member=Member(
            path=path,
            kind=Kind.FILE,
            mode=0o755 if executable or content.executable else 0o644,
            mtime=EPOCH,
            size=content.size,
            open=content.open,
        ),
        spliced=content.spliced,
        origin=origin,
    )


def _given_script(path: str, content: Content, prefix: Prefix, origin: str, source: str) -> tuple[Entry, str]:
    """Return a script of the wheel; its first line may request the interpreter of the environment."""
    with content.open() as stream:
        asks = stream.read(len(_ASKS)) == _ASKS
    if not asks:
        return _entry(path, content, origin, executable=True), source
    changed = _SHEBANG.sub(f"#!{prefix.python}".encode(), content.read(), count=1)
    return text(path, changed, mode=0o755, origin=origin), ""


def scripts(wheel: Wheel, prefix: Prefix) -> Iterator[Entry]:
    """Yield the scripts of its entry points; errors as in `installed`."""
    parser = _EntryPoints(delimiters=("=",), interpolation=None, strict=False)
    try:
        parser.read_string(wheel.text(f"{wheel.dist_info}/entry_points.txt"))
    except configparser.Error as error:
        raise VerificationFailed(
            f"{wheel.name} cannot be installed: entry_points.txt cannot be read: {error.message.splitlines()[0]}"
        ) from error
    for group in ("console_scripts", "gui_scripts"):
        for name, target in parser.items(group) if parser.has_section(group) else ():
            yield text(
                f"{prefix.venv}/bin/{_script_name(wheel, name)}",
                _script(wheel, target, prefix.python).encode(),
                mode=0o755,
                origin=wheel.name,
            )


class _EntryPoints(configparser.ConfigParser):
    """Parser of entry points: an INI file with case-sensitive names."""

    def optionxform(self, optionstr: str) -> str:
        return optionstr


def _script_name(wheel: Wheel, name: str) -> str:
    try:
        return file_name(name)
    except ValueError as error:
        raise VerificationFailed(
            f"{wheel.name} cannot be installed: its script {error}", hint="choose another version of the package"
        ) from error


def _script(wheel: Wheel, target: str, python: str) -> str:
    match = _TARGET.match(target)
    if not match:
        raise VerificationFailed(f"{wheel.name} cannot be installed: {target!r} is not an entry point")
    function = match["function"]
    return _SCRIPT.format(python=python, module=match["module"], name=function.partition(".")[0], function=function)


def _record(wheel: Wheel, prefix: Prefix, entries: Iterable[tuple[Entry, str]], record: str) -> bytes:
    """Return the RECORD of the installed files, sorted by path; the digests in the wheel are kept."""
    dist_info = wheel.dist_info
    rows = csv.reader(io.StringIO(wheel.text(f"{dist_info}/RECORD"), newline=""))
    given = {row[0]: (row[1], row[2]) for row in rows if len(row) >= 3 and row[1]}
    lines = [(_relative(record, prefix), "", "")]
    for entry, path in entries:
        lines.append((_relative(entry.path, prefix), *(given.get(path) or _digest_of(entry))))
    stream = io.StringIO(newline="")
    csv.writer(stream, lineterminator="\n").writerows(sorted(lines))
    return stream.getvalue().encode()


def _relative(path: str, prefix: Prefix) -> str:
    """Return a path as in RECORD: relative to site-packages, with `..` where necessary."""
    if path.startswith(f"{prefix.site}/"):
        return path.removeprefix(f"{prefix.site}/")
    return f"../../../{path.removeprefix(f'{prefix.venv}/')}"


def _digest_of(entry: Entry) -> tuple[str, str]:
    digest = hashlib.sha256()
    with entry.member.open() as stream:
        for piece in read(stream, entry.member.size):
            digest.update(piece)
    encoded = base64.urlsafe_b64encode(digest.digest()).rstrip(b"=").decode()
    return f"sha256={encoded}", str(entry.member.size)
