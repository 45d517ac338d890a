"""The trees of packages and the interpreter archives that this machine has or can make."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from envbuilder.catalog.buildable import PackedPython
from envbuilder.catalog.environments import BaseKind, BaseSystem, PythonProvider
from envbuilder.core import structure
from envbuilder.core.canonical_json import canonical_json
from envbuilder.core.errors import EnvbuilderError, InvalidInput, ToolMissing, UsageError, VerificationFailed
from envbuilder.core.files import replacing
from envbuilder.core.names import file_name
from envbuilder.core.versions import Release
from envbuilder.image.base.available_pythons import NOTE, archives_in, noted
from envbuilder.image.base.file_store import FileStore
from envbuilder.image.base.installed_pythons import PythonProgram
from envbuilder.image.base.python_survey import PythonArchive, inspect
from envbuilder.image.base.tree_store import DebTree, TreeStore
from envbuilder.lock.base_choice import Refused
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import BasePin, PythonPin


@dataclass(frozen=True, slots=True, kw_only=True)
class DebBases:
    """Trees of .deb packages: an existing one, else a new one.

    Attributes:
        store: Trees made before.
        make: Makes a tree and adds it to the store.
        keep: Makes a tree of the same packages in which some programs, by relative path, keep their set-user-ID and
            set-group-ID bits.
        allowed: Relative paths of programs that keep these bits where a base has them.
    """

    store: TreeStore
    make: Callable[[BaseSystem, Sources], DebTree]
    keep: Callable[[BaseSystem, DebTree, frozenset[str]], DebTree]
    allowed: frozenset[str] = frozenset()

    def locate(self, system: BaseSystem, sources: Sources) -> BasePin | Refused:
        """See `BaseSource.locate`.

        Raises:
            VerificationFailed: The archive is not authentic; a forged answer must not choose the next base.
            ToolMissing, UsageError: The signature cannot be checked on this machine.
        """
        try:
            tree = self.store.current(system.id) or self.make(system, sources)
            if kept := self.allowed.intersection(tree.cleared or ()):
                tree = self.keep(system, tree, kept)
        except (ToolMissing, UsageError, VerificationFailed):
            raise
        except EnvbuilderError as error:
            return Refused(base=system.id, reason=error.message.splitlines()[0], hint=error.hint)
        return pin_of_tree(tree, system.kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonArchives:
    """Interpreter archives: those that the user names, those in the store, then uv's managed ones.

    Attributes:
        store: Archives packed or named before.
        fetch: Downloads uv's managed interpreter of a version into a directory and packs it.
        installed: Finds installations of a version on this machine for a C library. They are offered in the hint of
            a refusal, not packed automatically: two machines would silently get different images.
        configured: Archives of the settings of this host, which come after those of the sources.
    """

    store: FileStore
    fetch: Callable[[Release, Path], PythonArchive]
    installed: Callable[[Release, Release], Iterable[PythonProgram]]
    configured: tuple[Path, ...] = ()

    def locate(self, version: Release, glibc: Release, sources: Sources) -> PythonPin | Refused:
        """See `PythonSource.locate`."""
        named = [inspect(path) for path in (*map(Path, sources.python_archives), *self.configured)]
        packed = [_inspected(path) for path in archives_in(self.store.folder, f"{version}.*")]
        newest_first = sorted(packed, key=lambda archive: (archive.version, archive.sha256), reverse=True)
        fitting = [archive for archive in (*named, *newest_first) if archive.version.head(2) == version.head(2)]
        reasons = []
        for archive in fitting:
            trouble = _trouble(archive, glibc)
            if not trouble:
                keep_archive(self.store, archive.path)
                return pin_of(archive)
            reasons.append(trouble)
        fetched = self._fetched(version, glibc)
        if isinstance(fetched, PythonPin):
            return fetched
        return self._refused(version, glibc, [*dict.fromkeys(reasons), fetched])

    def _fetched(self, version: Release, glibc: Release) -> PythonPin | str:
        """Return the pin of uv's interpreter, or the reason why it is unavailable."""
        with tempfile.TemporaryDirectory(prefix="envbuilder-python-") as folder:
            try:
                archive = self.fetch(version, Path(folder))
            except EnvbuilderError as error:
                return error.message.splitlines()[0]
            if trouble := _trouble(archive, glibc):
                return trouble
            keep_archive(self.store, archive.path)
            return pin_of(archive)

    def _refused(self, version: Release, glibc: Release, reasons: list[str]) -> Refused:
        """Return the refusal of a version; its hint names a suitable installation of this machine, if any."""
        offered = None
        for python in self.installed(version, glibc):
            if not python.problem:
                offered = python.program
                break
            reasons.append(f"{python.program} {python.problem}")
        return Refused(
            base="",
            reason=f"no archive of Python {version}: {'; '.join(reasons)}",
            hint=f"`envbuilder python pack {offered}`, then this command again"
            if offered
            else _elsewhere(version, glibc),
        )


def keep_archive(store: FileStore, path: Path) -> None:
    """Copy an interpreter archive into a store, and note what it holds; see `packed_pythons`."""
    digest = store.add(path)
    kept = store.folder / digest / path.name
    if noted(kept) is None:
        # What is no archive is refused where it is used.
        with suppress(InvalidInput):
            _inspected(kept)


def _inspected(kept: Path) -> PythonArchive:
    """Read an archive of a store, and note what it holds unless it needs a library path to run."""
    found = inspect(kept)
    if not found.library_dirs and noted(kept) is None:
        # A cache that cannot be written to is read anew each time.
        with suppress(OSError), replacing(kept.parent / NOTE) as stream:
            stream.write(canonical_json(structure.dump(PackedPython(version=found.version, glibc=found.glibc))))
    return found


def _elsewhere(version: Release, glibc: Release) -> str:
    return (
        f"`envbuilder python pack {version} -o DIR` where CPython {version} is installed with glibc {glibc} or older, "
        "then here `--python-archive FILE`; an install_only archive of python-build-standalone is accepted too"
    )


def _trouble(archive: PythonArchive, glibc: Release) -> str:
    """Return the reason why an archive cannot run on a base with this C library; empty if it can."""
    if archive.glibc > glibc:
        return f"{archive.path.name} needs glibc {archive.glibc}, the base has {glibc}"
    if archive.library_dirs:
        return f"{archive.path.name} finds its libpython only with LD_LIBRARY_PATH ({', '.join(archive.library_dirs)})"
    return ""


def pin_of_tree(tree: DebTree, kind: BaseKind) -> BasePin:
    """Return the pin of a tree of some kind of packages."""
    return BasePin(
        id=tree.id,
        kind=kind,
        image="",
        digest=tree.digest,
        packages=tree.packages,
        missing=tuple(sorted(tree.missing)),
    )


def pin_of(archive: PythonArchive) -> PythonPin:
    """Return the pin of an archive.

    Raises:
        UsageError: Its file has a name that a lock cannot hold.
    """
    try:
        file = file_name(archive.path.name)
    except ValueError as error:
        raise UsageError(f"{archive.path}: {error}", hint="rename the archive") from error
    return PythonPin(version=archive.version, provider=PythonProvider.ARCHIVE, file=file, sha256=archive.sha256)
