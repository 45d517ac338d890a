"""Archives of strangers are extracted below one directory, or refused, under every Python that is supported."""

from __future__ import annotations

import io
import os
import stat
import tarfile
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.core.archives.extraction import extract
from envbuilder.core.archives.member_names import BadArchive


def entry(name: str, kind: bytes = tarfile.REGTYPE, to: str = "", mode: int = 0o644) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode, info.mtime = kind, to, mode, 1_000_000_000
    return info


def link(name: str, to: str) -> tarfile.TarInfo:
    return entry(name, tarfile.SYMTYPE, to)


def hard(name: str, to: str) -> tarfile.TarInfo:
    return entry(name, tarfile.LNKTYPE, to)


def folder(name: str) -> tarfile.TarInfo:
    return entry(name, tarfile.DIRTYPE, mode=0o755)


def tar(path: Path, entries: Sequence[tarfile.TarInfo], content: bytes = b"content") -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for info in entries:
            info.size = len(content) if info.isreg() else 0
            archive.addfile(info, io.BytesIO(content) if info.isreg() else None)
    return path


def zipped(path: Path, files: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """The directory; what lies beside it must stay as it is."""
    (tmp_path / "outside").write_bytes(b"outside")
    made = tmp_path / "target"
    made.mkdir()
    return made


def assert_nothing_outside(target: Path) -> None:
    assert (target.parent / "outside").read_bytes() == b"outside"
    assert {path.name for path in target.parent.iterdir()} <= {"outside", "target", "archive"}


def test_files_directories_and_links_are_extracted(target: Path) -> None:
    entries = [
        folder("./top"), entry("./top/run", mode=0o4777), entry("top/data", mode=0o666), link("top/bin", "run"),
        hard("top/again", "top/data"), link("top/deep/er/up", "../../data"), link("top/loop", "loop"),
    ]  # fmt: skip
    extract(tar(target.parent / "archive", entries), target)

    top = target / "top"
    assert stat.S_IMODE((top / "run").stat().st_mode) == 0o755
    assert stat.S_IMODE((top / "data").stat().st_mode) == 0o644
    assert (top / "run").stat().st_mtime == 1_000_000_000
    assert (top / "bin").readlink() == Path("run")
    assert (top / "again").samefile(top / "data")
    assert (top / "deep/er/up").read_bytes() == b"content"
    assert (top / "loop").is_symlink()
    assert_nothing_outside(target)


def test_a_later_member_replaces_an_earlier_one_and_not_what_is_linked_to_it(target: Path) -> None:
    first = tar(target.parent / "archive", [entry("a"), hard("b", "a"), link("c", "a")], b"first")
    extract(first, target)
    extract(tar(target.parent / "archive", [entry("b"), entry("c")], b"second"), target)
    assert [(target / name).read_bytes() for name in "abc"] == [b"first", b"second", b"second"]
    assert not (target / "c").is_symlink()


@pytest.mark.parametrize(
    "entries",
    [
        [entry("../evil")],
        [entry("a/../../evil")],
        [entry("/tmp/evil")],
        [folder("../evil")],
        [link("a", "/etc/passwd")],
        [link("a", "../outside")],
        [link("a/b", "../../outside")],
        [link("a", "..")],
        [link("a", "b"), entry("a/evil")],
        [folder("b"), link("a", "b"), entry("a/evil")],
        [folder("b"), link("a", "b"), folder("a")],
        [link("a", "."), hard("b", "a/outside")],
        [hard("a", "../outside")],
        [hard("a", "/etc/passwd")],
        [hard("a", "never")],
        [hard("a", ".")],
        [link("a", "b"), hard("c", "a")],
        [entry("a", tarfile.FIFOTYPE)],
        [entry("a", tarfile.CHRTYPE)],
        [entry("a", tarfile.BLKTYPE)],
        [folder("a"), entry("a")],
        [entry("a"), entry("a/b")],
        [entry("a"), folder("a")],
        [entry(".")],
        # Inside by its text; outside through a link that leads up inside, in both orders.
        [folder("deep"), link("deep/up", ".."), link("a", "deep/up/..")],
        [folder("deep"), link("a", "deep/up/.."), link("deep/up", "..")],
        [folder("deep"), link("deep/up", ".."), link("deep/far", "up/../outside")],
    ],
    ids=lambda entries: ", ".join(f"{each.type.decode()}{each.name}-{each.linkname}" for each in entries),
)
def test_what_could_reach_outside_is_refused(target: Path, entries: list[tarfile.TarInfo]) -> None:
    with pytest.raises(BadArchive):
        extract(tar(target.parent / "archive", entries), target)
    assert_nothing_outside(target)


@pytest.mark.parametrize("name", ["../evil", "a/../../evil", "/tmp/evil"])
def test_a_zip_that_leads_outside_is_refused(target: Path, name: str) -> None:
    with pytest.raises(BadArchive, match="leads outside"):
        extract(zipped(target.parent / "archive", {"good": b"", name: b"evil"}), target)
    assert_nothing_outside(target)


def test_a_zip_is_extracted(target: Path) -> None:
    extract(zipped(target.parent / "archive", {"top/": b"", "top/setup.py": b"pass", "deep/er/x": b"x"}), target)
    assert (target / "top/setup.py").read_bytes() == b"pass"
    assert stat.S_IMODE((target / "deep/er/x").stat().st_mode) & 0o133 == 0


def test_an_archive_that_is_missing_is_an_error_of_the_system(target: Path) -> None:
    with pytest.raises(FileNotFoundError):
        extract(target.parent / "missing", target)


def _damaged(whole: bytes, at: int, value: int, cut: int) -> bytes:
    changed = bytearray(whole)
    changed[at % len(whole)] = value
    return bytes(changed[: len(changed) - cut % len(changed)])


@given(st.sampled_from(["tar", "zip"]), st.integers(0), st.integers(0, 255), st.integers(0, 400))
def test_a_damaged_archive_is_extracted_inside_or_refused(kind: str, at: int, value: int, cut: int) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        target = Path(scratch) / "target"
        target.mkdir()
        (target.parent / "outside").write_bytes(b"outside")
        archive = target.parent / "archive"
        if kind == "zip":
            zipped(archive, {"a/b": b"content", "c": b"d" * 99})
        else:
            tar(archive, [entry("a/b"), link("a/c", "b"), hard("d", "a/b")])
        archive.write_bytes(_damaged(archive.read_bytes(), at, value, cut))
        # A damaged name can be too long for the file system: that is an error of the system.
        with suppress(BadArchive, OSError):
            extract(archive, target)
        assert_nothing_outside(target)
        assert all(Path(os.path.realpath(path)).is_relative_to(target.resolve()) for path in target.rglob("*"))
