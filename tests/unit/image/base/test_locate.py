"""Which interpreter archive a base gets: one that it can run, those that the user names first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.catalog.buildable import PackedPython
from envbuilder.catalog.environments import BaseSystem
from envbuilder.core.errors import EnvbuilderError, SourceUnreachable, ToolMissing, UsageError, VerificationFailed
from envbuilder.core.versions import Release
from envbuilder.image.base.available_pythons import packed_pythons
from envbuilder.image.base.file_store import FileStore
from envbuilder.image.base.installed_pythons import PythonProgram
from envbuilder.image.base.locate import DebBases, PythonArchives, keep_archive
from envbuilder.image.base.python_survey import PythonArchive, inspect
from envbuilder.image.base.tree_store import DebTree, TreeStore
from envbuilder.lock.base_choice import Refused
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import BasePin, PythonPin
from envbuilder.oci.tar import writing as tarball
from envbuilder.oci.tar.members import file_of
from tests.fakes.catalogs import small_row
from tests.unit.image.base.test_python_archive import elf
from tests.unit.image.base.test_tree_store import tree_in

DEBIAN = small_row("tf-2.4-cuda11.0").bases[-1].system
BOOKWORM, BULLSEYE = Release("2.36"), Release("2.31")
WANTED = Release("3.8")


def archive(folder: Path, version: str, glibc: str = "2.17") -> Path:
    patchlevel = f'#define PY_MAJOR_VERSION 3\n#define PY_VERSION      "{version}"\n'.encode()
    members = [
        file_of("python/bin/python3.8", elf("libc.so.6", glibc=glibc), mtime=0),
        file_of("python/include/python3.8/patchlevel.h", patchlevel, mtime=0),
    ]
    folder.mkdir(parents=True, exist_ok=True)
    return tarball.write(members, folder / f"cpython-{version}-x86_64-linux-gnu.tar.gz", gzipped=True).path


def unreachable(version: Release, _folder: Path) -> PythonArchive:
    raise SourceUnreachable(f"uv cannot get Python {version}")


def pythons(
    tmp_path: Path,
    fetch: Callable[[Release, Path], PythonArchive] = unreachable,
    installed: tuple[PythonProgram, ...] = (),
) -> PythonArchives:
    store = FileStore(folder=tmp_path / "files")
    return PythonArchives(store=store, fetch=fetch, installed=lambda _version, _glibc: installed)


def version_of(found: PythonPin | Refused) -> str:
    assert isinstance(found, PythonPin), found
    return str(found.version)


def test_a_named_archive_goes_before_one_that_was_packed_and_is_kept(tmp_path: Path) -> None:
    source = pythons(tmp_path)
    source.store.add(archive(tmp_path / "packed", "3.8.18"))
    named = Sources(python_archives=(str(archive(tmp_path / "named", "3.8.9")),))

    found = source.locate(WANTED, BOOKWORM, named)

    assert version_of(found) == "3.8.9"
    assert isinstance(found, PythonPin)
    assert source.store.find(found.sha256) is not None


def test_an_archive_of_the_settings_comes_after_a_named_one_and_before_a_packed_one(tmp_path: Path) -> None:
    source = replace(pythons(tmp_path), configured=(archive(tmp_path / "configured", "3.8.9"),))
    source.store.add(archive(tmp_path / "packed", "3.8.18"))
    named = Sources(python_archives=(str(archive(tmp_path / "named", "3.8.7")),))
    assert version_of(source.locate(WANTED, BOOKWORM, Sources())) == "3.8.9"
    assert version_of(source.locate(WANTED, BOOKWORM, named)) == "3.8.7"


def test_the_newest_packed_one_is_taken_by_number_and_not_by_spelling(tmp_path: Path) -> None:
    source = pythons(tmp_path)
    for version in ("3.8.9", "3.8.18"):
        source.store.add(archive(tmp_path / version, version))
    assert version_of(source.locate(WANTED, BOOKWORM, Sources())) == "3.8.18"


def test_an_archive_of_another_release_is_not_taken(tmp_path: Path) -> None:
    named = Sources(python_archives=(str(archive(tmp_path / "named", "3.8.18")),))
    found = pythons(tmp_path).locate(Release("3.7"), BOOKWORM, named)
    assert isinstance(found, Refused)
    assert "uv cannot get Python 3.7" in found.reason
    assert "envbuilder python pack 3.7" in found.hint


def test_an_archive_that_the_base_cannot_run_is_refused_with_the_reason(tmp_path: Path) -> None:
    source = pythons(tmp_path)
    source.store.add(archive(tmp_path / "packed", "3.8.18", glibc="2.35"))
    assert version_of(source.locate(WANTED, BOOKWORM, Sources())) == "3.8.18"
    found = source.locate(WANTED, BULLSEYE, Sources())
    assert isinstance(found, Refused)
    assert found.reason == (
        "no archive of Python 3.8: cpython-3.8.18-x86_64-linux-gnu.tar.gz needs glibc 2.35, the base has 2.31; "
        "uv cannot get Python 3.8"
    )


def test_an_installed_python_that_fits_is_offered_by_name(tmp_path: Path) -> None:
    installed = (
        PythonProgram(program=Path("/new/python3.8"), version=WANTED, problem="needs glibc 2.35, the base has 2.31"),
        PythonProgram(program=Path("/opt/python3.8"), version=WANTED),
    )
    found = pythons(tmp_path, installed=installed).locate(WANTED, BULLSEYE, Sources())
    assert isinstance(found, Refused)
    assert found.hint == "`envbuilder python pack /opt/python3.8`, then this command again"
    assert "/new/python3.8 needs glibc 2.35, the base has 2.31" in found.reason


def test_an_installed_python_that_does_not_fit_is_never_offered(tmp_path: Path) -> None:
    installed = (
        PythonProgram(program=Path("/new/python3.8"), version=WANTED, problem="needs glibc 2.35, the base has 2.31"),
    )
    found = pythons(tmp_path, installed=installed).locate(WANTED, BULLSEYE, Sources())
    assert isinstance(found, Refused)
    assert found.reason == (
        "no archive of Python 3.8: uv cannot get Python 3.8; /new/python3.8 needs glibc 2.35, the base has 2.31"
    )
    assert "/new/python3.8" not in found.hint
    assert "where CPython 3.8 is installed with glibc 2.31 or older" in found.hint


def test_an_installed_python_is_not_packed_unasked(tmp_path: Path) -> None:
    installed = (PythonProgram(program=Path("/opt/python3.8"), version=WANTED),)
    source = pythons(tmp_path, installed=installed)
    source.locate(WANTED, BULLSEYE, Sources())
    assert not list(source.store.folder.glob("*/*"))


def test_what_uv_downloads_is_kept_for_the_next_time(tmp_path: Path) -> None:
    source = pythons(tmp_path, lambda _version, folder: inspect(archive(folder, "3.8.20")))
    assert version_of(source.locate(WANTED, BOOKWORM, Sources())) == "3.8.20"
    again = replace(source, fetch=unreachable)
    assert version_of(again.locate(WANTED, BOOKWORM, Sources())) == "3.8.20"


def test_a_stored_file_that_has_changed_is_an_error_and_is_taken_away(tmp_path: Path) -> None:
    store = FileStore(folder=tmp_path / "files")
    digest = store.add(archive(tmp_path / "a", "3.8.18"))
    kept = store.find(digest)
    assert kept is not None
    kept.chmod(0o644)
    kept.write_bytes(b"other")
    later = FileStore(folder=store.folder)
    with pytest.raises(VerificationFailed, match="it was removed"):
        later.find(digest)
    assert later.find(digest) is None


def test_archives_of_the_cache_are_read_once(tmp_path: Path) -> None:
    store = FileStore(folder=tmp_path / "files")
    keep_archive(store, archive(tmp_path / "a", "3.8.18"))
    keep_archive(store, archive(tmp_path / "b", "3.6.15", glibc="2.35"))
    found = packed_pythons(store.folder)
    assert found == (
        PackedPython(version=Release("3.6.15"), glibc=Release("2.35")),
        PackedPython(version=Release("3.8.18"), glibc=Release("2.17")),
    )
    for path in store.folder.glob("*/*.tar.gz"):
        path.write_bytes(b"")
    assert packed_pythons(store.folder) == found


@pytest.mark.parametrize("note", ["", "{}", '{"version": 3, "glibc": 2}', '{"version": "x", "glibc": "y"}', "[]"])
def test_a_note_that_cannot_be_read_is_written_again(note: str, tmp_path: Path) -> None:
    store = FileStore(folder=tmp_path / "files")
    python = archive(tmp_path, "3.8.18")
    digest = store.add(python)
    (store.folder / digest / ".interpreter.json").write_text(note)
    assert packed_pythons(store.folder) == ()
    keep_archive(store, python)
    assert [str(each.version) for each in packed_pythons(store.folder)] == ["3.8.18"]
    assert store.find(digest) is not None


def test_an_archive_that_is_damaged_is_left_out(tmp_path: Path) -> None:
    store = FileStore(folder=tmp_path / "files")
    broken = tmp_path / "cpython-3.8.18-x86_64-linux-gnu.tar.gz"
    broken.write_bytes(b"no archive")
    keep_archive(store, broken)
    assert packed_pythons(store.folder) == ()


def debian_bases(tmp_path: Path, error: EnvbuilderError) -> DebBases:
    def make(_system: BaseSystem, _sources: Sources) -> DebTree:
        raise error

    return DebBases(store=TreeStore(tmp_path), make=make, keep=as_it_is)


def as_it_is(_system: BaseSystem, tree: DebTree, _allowed: frozenset[str]) -> DebTree:
    return tree


@pytest.mark.parametrize(
    ("allowed", "kept"),
    [
        (frozenset(), None),
        (frozenset({"usr/bin/sudo"}), None),
        (frozenset({"usr/bin/sudo", "usr/bin/su"}), frozenset({"usr/bin/su"})),
    ],
)
def test_a_spec_that_allows_a_program_of_the_base_gets_a_tree_of_its_own(
    tmp_path: Path, allowed: frozenset[str], kept: frozenset[str] | None
) -> None:
    def refuse(_system: BaseSystem, _sources: Sources) -> DebTree:
        raise AssertionError

    asked = []

    def keep(_system: BaseSystem, tree: DebTree, programs: frozenset[str]) -> DebTree:
        asked.append(programs)
        return replace(tree, digest=f"sha256:{'0' * 64}")

    store = TreeStore(tmp_path)
    current = store.put(replace(tree_in(tmp_path / "work", b"tree"), id=DEBIAN.id))
    found = DebBases(store=store, make=refuse, keep=keep, allowed=allowed).locate(DEBIAN, Sources())
    assert isinstance(found, BasePin)
    assert asked == ([] if kept is None else [kept])
    assert (found.digest == current.digest) is (kept is None)


@pytest.mark.parametrize(
    "error", [VerificationFailed("it is not signed"), ToolMissing("no keys"), UsageError("no key")]
)
def test_an_archive_that_cannot_be_believed_never_selects_the_next_base(tmp_path: Path, error: EnvbuilderError) -> None:
    with pytest.raises(type(error), match=error.message):
        debian_bases(tmp_path, error).locate(DEBIAN, Sources())


def test_an_archive_that_does_not_answer_is_a_base_that_is_not_available(tmp_path: Path) -> None:
    found = debian_bases(tmp_path, SourceUnreachable("no answer", hint="try")).locate(DEBIAN, Sources())
    assert found == Refused(base=DEBIAN.id, reason="no answer", hint="try")
