"""Selection of the files of an installed CPython for an archive, independent of the installation's path."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from io import BytesIO
from pathlib import PurePosixPath

from envbuilder.core.corrupt_file import Damaged
from envbuilder.core.elf_segments import MAGIC
from envbuilder.core.errors import UsageError
from envbuilder.core.image_layout import PYTHON
from envbuilder.image.base.interpreter import PackableInterpreter
from envbuilder.oci.tar.members import EPOCH, Kind, Member, of_folder, on_disk

TOP = "python"
"""The only directory at the root of an archive, as in python-build-standalone."""

HOME = f"/{PYTHON}"
"""Prefix in the text files of an archive: the place of the interpreter in images."""

# Below lib/pythonX.Y. Images have no pip, no display and no compiler, and run no test suites.
_LEFT_OUT = (
    r"(.*/)?__pycache__",
    r".*\.(pyc|pyo|a|exe)",
    r"site-packages/.*",
    r"(test|idlelib|tkinter|turtledemo|ensurepip)",
    r"(.*/)?tests",
    r"(ctypes|unittest|sqlite3|lib2to3)/test",
    r"lib-dynload/(_tkinter|_test\w*|_ctypes_test|_xxtestfuzz|xxlimited\w*)\..*",
    r"config-[^/]*/(?!Makefile$).*",
    r"EXTERNALLY-MANAGED",
)
_REWRITTEN = re.compile(r"lib/python[\d.]+/(_sysconfigdata\w*[\w.-]*\.py|config-[^/]*/Makefile)")
# A whole path, alone or right after -L or -I: the prefix /install is not a part of /usr/bin/install.
_NOT_INSIDE = rb"(?:(?<=-[LI])|(?<![\w/})-]))"
_BUILD_PREFIX = re.compile(r"'prefix': '(/[^']+)'")


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonFiles:
    """The files of an archive.

    Attributes:
        members: With paths as in the archive, unordered.
        leftovers: Paths in the archive that still name the old place, sorted.
    """

    members: tuple[Member, ...]
    leftovers: tuple[str, ...]


def select(interpreter: PackableInterpreter) -> PythonFiles:
    """Select the files of an installation and make them independent of its place.

    Raises:
        UsageError: The directories do not have the layout of an installed CPython.
    """
    _require_layout(interpreter)
    found = [*of_folder(interpreter.prefix, epoch=EPOCH, wanted=_wanted(interpreter.series))]
    places = _places(interpreter, found)
    members, leftovers = [], []
    for member in [*found, *_programs(interpreter)]:
        moved = _moved(member, places)
        # Copies of an installation may have lost its hard links, and must give the same archive.
        members.append(replace(moved, path=f"{TOP}/{moved.path}", identity=""))
        if member.kind is Kind.FILE and _naming(places).search(moved.read()):
            leftovers.append(f"{TOP}/{member.path}")
    members += [Member(path=path, kind=Kind.FOLDER, mode=0o755, mtime=EPOCH) for path in (TOP, f"{TOP}/bin")]
    return PythonFiles(members=tuple(members), leftovers=tuple(sorted(leftovers)))


def _require_layout(interpreter: PackableInterpreter) -> None:
    series = interpreter.series
    headers = (f"include/python{series}/patchlevel.h", f"include/python{series}m/patchlevel.h")
    wanted = (f"bin/python{series}", f"lib/python{series}/os.py")
    missing = [path for path in wanted if not (interpreter.prefix / path).exists()]
    if not any((interpreter.prefix / path).exists() for path in headers):
        missing.append(headers[0])
    if missing:
        raise UsageError(
            f"{interpreter.prefix} is not a complete installation: {', '.join(missing)} is missing",
            hint="name a Python built with `make install`, by pyenv or by uv",
        )


def _wanted(series: str) -> Callable[[str], bool]:
    version = re.escape(series)
    kept = re.compile(
        rf"lib|lib/libpython({version}m?|3)\.so(\.1\.0)?|lib/python{version}(/.*)?"
        rf"|include|include/python{version}m?|include/python{version}m?/(pyconfig|patchlevel)\.h"
    )
    left_out = re.compile(rf"lib/python{version}/({'|'.join(_LEFT_OUT)})")
    return lambda path: bool(kept.fullmatch(path)) and not left_out.fullmatch(path)


def _programs(interpreter: PackableInterpreter) -> Iterator[Member]:
    """Yield the interpreter under its full name, and two links to it, regardless of the content of `bin`."""
    name = f"python{interpreter.series}"
    program = (interpreter.prefix / "bin" / name).resolve()
    yield replace(on_disk(program, f"bin/{name}", mtime=EPOCH), mode=0o755, uid=0, gid=0)
    for link in ("python", "python3"):
        yield Member(path=f"bin/{link}", kind=Kind.SYMLINK, mode=0o755, mtime=EPOCH, target=name)


def _places(interpreter: PackableInterpreter, found: list[Member]) -> tuple[str, ...]:
    """Return the prefixes that files may name, longest first: the current one, and the one it was built for."""
    places = {str(interpreter.prefix)}
    for member in found:
        if _REWRITTEN.fullmatch(member.path) and member.path.endswith(".py"):
            places |= set(_BUILD_PREFIX.findall(member.read().decode()))
    return tuple(sorted(places - {HOME}, key=lambda place: (-len(place), place)))


def _moved(member: Member, places: tuple[str, ...]) -> Member:
    if member.kind is not Kind.FILE:
        return member
    data = member.read()
    if data.startswith(MAGIC):
        moved = _moved_library(data, member.path, places)
    elif _REWRITTEN.fullmatch(member.path):
        moved = _moved_text(data, places)
    else:
        return member
    return member if moved == data else member.holding(moved)


def _moved_text(data: bytes, places: tuple[str, ...]) -> bytes:
    return _naming(places).sub(HOME.encode(), data)


@cache
def _naming(places: tuple[str, ...]) -> re.Pattern[bytes]:
    """Return a pattern for any of the places as a whole path; it matches nothing when there are none."""
    known = b"|".join(re.escape(os.fsencode(place)) for place in places) or b"(?!)"
    return re.compile(_NOT_INSIDE + b"(?:" + known + rb")(?![\w.-])")


def _moved_library(data: bytes, path: str, places: tuple[str, ...]) -> bytes:
    """Make an ELF file look for libraries beside itself instead of where it was installed.

    The new text is written over the old one, so it works only where it is not longer and nothing else uses the old.
    """
    from envbuilder.core.elf import open_elf, read_search_path  # noqa: PLC0415  loads pyelftools

    try:
        found = read_search_path(open_elf(BytesIO(data)))
    except Damaged as error:
        raise UsageError(f"{path} is {error}", hint="install this Python again, or name another one") from error
    if found is None:
        return data
    new, old = (os.fsencode(text) for text in (_search(found.text, path, places), found.text))
    if new == old or len(new) > len(old) or found.shared:
        return data
    return data[: found.start] + new.ljust(len(old), b"\0") + data[found.start + len(old) :]


def _search(text: str, path: str, places: tuple[str, ...]) -> str:
    libraries = {f"{place}/lib" for place in places}
    way = os.path.relpath("lib", PurePosixPath(path).parent)
    own = "$ORIGIN" if way == "." else f"$ORIGIN/{way}"
    entries = (own if entry.rstrip("/") in libraries else entry for entry in text.split(":"))
    return ":".join(dict.fromkeys(entries))
