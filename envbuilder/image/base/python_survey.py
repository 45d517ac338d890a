"""Reader of interpreter archives; nothing in them is run."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from envbuilder.core.archives.decompression import unpacked
from envbuilder.core.archives.limits import Budget
from envbuilder.core.archives.member_names import BadArchive
from envbuilder.core.archives.tar_reader import FILE, PlainStream, TarReader
from envbuilder.core.corrupt_file import Damaged
from envbuilder.core.digests import digest_of_file
from envbuilder.core.elf_segments import MAGIC
from envbuilder.core.errors import Fault, InvalidInput
from envbuilder.core.versions import Release
from envbuilder.image.base.python_files import TOP

if TYPE_CHECKING:
    from envbuilder.core.elf import SharedObject

_PROGRAM = re.compile(rf"{TOP}/bin/python3\.\d+")
_PATCHLEVEL = re.compile(rf"{TOP}/include/python3\.\d+m?/patchlevel\.h")
_VERSION = re.compile(rb'^#define PY_VERSION\s+"(3\.\d+\.\d+)\+?"', re.MULTILINE)
_LARGEST_LIBRARY = 1 << 30
"""Maximum size of a file that is read as a whole to look for ELF in it, in bytes."""

_UNREADABLE = (BadArchive, Damaged, OSError, ValueError)
_X86_64 = "x64"
"""The architecture as named by pyelftools."""

_NONE = Release("0")


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonArchive:
    """A CPython for Linux on x86-64 that runs wherever it is unpacked.

    Attributes:
        path: The `.tar.gz`; everything in it is below the directory `python`.
        version: Full version, such as `3.8.18`.
        sha256: Of the file.
        size: Bytes of the file.
        glibc: Newest glibc symbol version that any of its libraries requires.
        needs: Sonames that the archive does not contain and the base must provide, sorted.
        library_dirs: Directories in the archive that must be on the library path before it starts, because its
            `libpython` is bound to the place where it was built; empty when it finds everything itself.
        missing: Optional standard modules that could not be imported, sorted; None if this was not tested.
        leftovers: Files in the archive that still name the directory it was packed from, sorted.
    """

    path: Path
    version: Release
    sha256: str
    size: int
    glibc: Release
    needs: tuple[str, ...]
    library_dirs: tuple[str, ...] = ()
    missing: tuple[str, ...] | None = None
    leftovers: tuple[str, ...] = ()


def inspect(archive: Path) -> PythonArchive:
    """Read an archive made by `pack`, or a python-build-standalone one of the kind `install_only`.

    Returns:
        The static properties: `missing` is None and `leftovers` is empty.

    Raises:
        InvalidInput: The file is missing, is not such an archive, or is for another system.
    """
    try:
        survey = _survey(archive)
        digest = digest_of_file(archive)
        size = archive.stat().st_size
    except _UNREADABLE as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise _invalid(
            archive, f"cannot be read as an interpreter archive: {reason or type(error).__name__}"
        ) from error
    program = _program(archive, survey)
    return PythonArchive(
        path=archive,
        version=_version(archive, survey),
        sha256=digest.removeprefix("sha256:"),
        size=size,
        glibc=survey.glibc,
        needs=survey.needs(),
        library_dirs=library_dirs(program),
    )


def _invalid(archive: Path, problem: str) -> InvalidInput:
    hint = "name an archive made by `envbuilder python pack`, or a python-build-standalone install_only archive"
    return InvalidInput((Fault(file=str(archive), line=0, field="", problem=problem, hint=hint),))


@dataclass(slots=True, kw_only=True)
class InterpreterSurvey:
    """The files of an interpreter; all paths are those in its archive.

    Attributes:
        libraries: ELF files by path.
        version: From `patchlevel.h`; empty until it was read.
    """

    names: set[str] = field(default_factory=set)
    libraries: dict[str, SharedObject] = field(default_factory=dict)
    version: str = ""

    def meet(self, path: str, data: bytes) -> None:
        """Read a file.

        Raises:
            Damaged: It is a damaged ELF file.
        """
        if data.startswith(MAGIC):
            from envbuilder.core.elf import open_elf, read_shared_object  # noqa: PLC0415  loads pyelftools

            self.libraries[path] = read_shared_object(open_elf(BytesIO(data)))
        elif _PATCHLEVEL.fullmatch(path) and (match := _VERSION.search(data)):
            self.version = match[1].decode()

    @property
    def glibc(self) -> Release:
        """Newest glibc symbol version that any of the libraries requires."""
        return max((elf.versions.get("GLIBC", _NONE) for elf in self.libraries.values()), default=_NONE)

    def needs(self) -> tuple[str, ...]:
        """Return the sonames that none of the files has, sorted."""
        own = {PurePosixPath(name).name for name in self.names} | {elf.soname for elf in self.libraries.values()}
        return tuple(sorted({soname for elf in self.libraries.values() for soname in elf.needed} - own))


def _survey(archive: Path) -> InterpreterSurvey:
    survey = InterpreterSurvey()
    budget = Budget(archive.stat().st_size)
    with archive.open("rb") as packed, unpacked(packed, "gz", budget) as stream:
        content = TarReader(PlainStream(stream), archive.name, budget)
        for entry in content.entries():
            if entry.path.partition("/")[0] != TOP:
                raise ValueError(f"{entry.path!r} is outside the directory {TOP}")
            survey.names.add(entry.path)
            if entry.size > _LARGEST_LIBRARY:
                raise ValueError(f"{entry.path!r} has {entry.size} bytes; no more than {_LARGEST_LIBRARY} are read")
            if entry.flag == FILE:
                survey.meet(entry.path, b"".join(content.content()))
    return survey


def _program(archive: Path, survey: InterpreterSurvey) -> SharedObject:
    programs = [elf for path, elf in survey.libraries.items() if _PROGRAM.fullmatch(path)]
    if len(programs) != 1:
        raise _invalid(archive, f"holds {len(programs)} programs called {TOP}/bin/python3.N instead of one")
    program = programs[0]
    if program.machine != _X86_64 or "libc.so.6" not in program.needed:
        raise _invalid(archive, "is not for Linux on x86-64 with glibc")
    return program


def _version(archive: Path, survey: InterpreterSurvey) -> Release:
    if not survey.version:
        raise _invalid(
            archive, f"does not print its version in {TOP}/include/python3.N/patchlevel.h, or is a pre-release"
        )
    return Release(survey.version)


def library_dirs(program: SharedObject) -> tuple[str, ...]:
    """Return the directories that the loader must be given: the program looks for libpython at a fixed place."""
    bound = any(name.startswith("libpython") for name in program.needed)
    found = any(entry.rstrip("/") == "$ORIGIN/../lib" for entry in program.runpath)
    return (f"{TOP}/lib",) if bound and not found else ()
