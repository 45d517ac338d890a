"""A rendered folder is written whole, and never over something else."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from envbuilder.core.errors import SourceUnreachable, UsageError
from envbuilder.image.render import ContextFiles, CopiedFile, HostFile, rendered, write
from envbuilder.lock.lockfile import load
from tests.fakes.catalogs import TEMPLATES, good_lock

FILES = rendered(good_lock(), TEMPLATES)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "stored"
    file.write_bytes(b"content")
    return file


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_every_file_is_there_with_its_mode(tmp_path: Path, source: Path) -> None:
    folder = tmp_path / "out" / "deep"
    write(FILES, folder, ContextFiles(find=lambda _: source))
    written = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    files = {file.path for file in FILES.texts} | {file.path for file in FILES.attachments}
    assert written == files | {".rendered-by-envbuilder"}
    assert mode(folder / "tools" / "uv") == mode(folder / "tools" / "with-host") == 0o755
    assert mode(folder / "Dockerfile") == mode(folder / "python" / good_lock().python.file) == 0o644
    assert (folder / "tools" / "uv").read_bytes() == b"content"


def test_the_lock_in_the_folder_is_the_lock(tmp_path: Path, source: Path) -> None:
    write(FILES, tmp_path / "out", ContextFiles(find=lambda _: source))
    assert load((tmp_path / "out" / "envbuilder.lock").read_text(encoding="utf-8"), "file") == good_lock()


def test_files_are_asked_for_by_their_hash(tmp_path: Path, source: Path) -> None:
    asked: list[str] = []

    def find(sha256: str) -> Path:
        asked.append(sha256)
        return source

    write(FILES, tmp_path / "out", ContextFiles(find=find))
    assert sorted(asked) == sorted(file.sha256 for file in FILES.attachments)


def test_a_file_that_is_not_here_is_told_with_its_hash(tmp_path: Path) -> None:
    with pytest.raises(SourceUnreachable, match=r"is not on this machine") as caught:
        write(FILES, tmp_path / "out", ContextFiles(find=lambda _: None))
    assert "--python-archive" in caught.value.hint


def test_a_folder_with_strangers_files_is_left_alone(tmp_path: Path, source: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work", encoding="utf-8")
    with pytest.raises(UsageError, match="were not written by `envbuilder render`"):
        write(FILES, tmp_path, ContextFiles(find=lambda _: source))
    assert not (tmp_path / "Dockerfile").exists()


def test_a_file_in_place_of_the_folder_is_left_alone(tmp_path: Path, source: Path) -> None:
    (tmp_path / "out").write_text("x", encoding="utf-8")
    with pytest.raises(UsageError, match="were not written by `envbuilder render`"):
        write(FILES, tmp_path / "out", ContextFiles(find=lambda _: source))


def test_an_empty_folder_is_filled(tmp_path: Path, source: Path) -> None:
    (tmp_path / "out").mkdir()
    write(FILES, tmp_path / "out", ContextFiles(find=lambda _: source))
    assert (tmp_path / "out" / "Dockerfile").is_file()


def test_rendering_again_leaves_nothing_of_the_former_lock(tmp_path: Path, source: Path) -> None:
    folder = tmp_path / "out"
    write(FILES, folder, ContextFiles(find=lambda _: source, host=(HostFile(name="ca.pem", content=b"secret"),)))
    (folder / "layers" / "gone.txt").write_text("old", encoding="utf-8")
    write(FILES, folder, ContextFiles(find=lambda _: source))
    assert not (folder / "layers" / "gone.txt").exists()
    assert not (folder / "host" / "ca.pem").exists()


def test_settings_of_the_host_lie_beside_it_only_when_asked_for(tmp_path: Path, source: Path) -> None:
    folder = tmp_path / "out"
    write(FILES, folder, ContextFiles(find=lambda _: source, host=(HostFile(name="ca.pem", content=b"pem"),)))
    assert (folder / "host" / "ca.pem").read_bytes() == b"pem"


def test_settings_of_the_host_may_hold_a_password_and_nobody_else_reads_them(tmp_path: Path, source: Path) -> None:
    folder = tmp_path / "out"
    previous = os.umask(0)
    try:
        for _ in range(2):
            write(
                FILES, folder, ContextFiles(find=lambda _sha256: source, host=(HostFile(name="uv.toml", content=b"x"),))
            )
    finally:
        os.umask(previous)
    assert mode(folder / "host" / "uv.toml") == 0o600


def test_a_folder_with_a_lock_that_was_not_rendered_here_keeps_its_files(tmp_path: Path, source: Path) -> None:
    (tmp_path / "envbuilder.lock").write_text("a team's own", encoding="utf-8")
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "ours.py").write_text("ours", encoding="utf-8")
    with pytest.raises(UsageError):
        write(FILES, tmp_path, ContextFiles(find=lambda _: source))
    assert (tmp_path / "tools" / "ours.py").read_text(encoding="utf-8") == "ours"


def test_libraries_of_archives_are_copied_and_those_of_the_former_lock_removed(tmp_path: Path, source: Path) -> None:
    folder = tmp_path / "out"
    write(
        FILES,
        folder,
        ContextFiles(find=lambda _: source, libraries=(CopiedFile(path="libraries/cuda/usr/lib/l.so", source=source),)),
    )
    assert (folder / "libraries/cuda/usr/lib/l.so").read_bytes() == source.read_bytes()
    assert mode(folder / "libraries/cuda/usr/lib/l.so") == 0o644
    write(FILES, folder, ContextFiles(find=lambda _: source))
    assert not (folder / "libraries").exists()
