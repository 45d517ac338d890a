"""Own files are what lies on the disk now, and two of them never meet in the image."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from envbuilder.core.errors import InvalidInput
from envbuilder.lock.lock import OwnFile
from envbuilder.lock.own_files import surveyed

LINE = 7


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_bytes(b"print(1)")
    (tmp_path / "conf" / "sub").mkdir(parents=True)
    (tmp_path / "conf" / "a.yaml").write_bytes(b"a: 1")
    (tmp_path / "conf" / "sub" / "run.sh").write_bytes(b"#!/bin/sh")
    (tmp_path / "conf" / "sub" / "run.sh").chmod(0o700)
    return tmp_path


def look(folder: Path, **named: str) -> tuple[OwnFile, ...]:
    files = tuple(OwnFile(path=f"/{path.replace('__', '/')}", source=source) for path, source in named.items())
    return surveyed(files, folder, "spec", lambda _field: LINE)


def test_a_file_has_hash_and_size_and_a_folder_is_its_files(folder: Path) -> None:
    assert look(folder, app="conf", workspace__t="train.py") == (
        OwnFile(path="/app/a.yaml", source=str(folder / "conf" / "a.yaml"), sha256=digest(b"a: 1"), size=4),
        OwnFile(
            path="/app/sub/run.sh",
            source=str(folder / "conf" / "sub" / "run.sh"),
            sha256=digest(b"#!/bin/sh"),
            size=9,
            executable=True,
        ),
        OwnFile(path="/workspace/t", source=str(folder / "train.py"), sha256=digest(b"print(1)"), size=8),
    )


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_a_link_is_what_it_points_to(folder: Path) -> None:
    (folder / "link").symlink_to("train.py")
    [file] = look(folder, app="link")
    assert file.sha256 == digest(b"print(1)")


@pytest.mark.parametrize(
    ("named", "problem"),
    [
        ({"app": "gone.py"}, "file not found"),
        ({"app": "conf", "app__a.yaml": "train.py"}, "also has the path /app/a.yaml"),
        ({"app": "train.py", "app__x": "train.py"}, "/app is a file, and /app/x would be below it"),
        ({"app": "conf", "app__sub": "train.py"}, "/app/sub is a directory of other files"),
        ({"opt": "opt"}, "is in a directory that envbuilder writes"),
        ({"app": "dangling"}, "file not found"),
    ],
)
def test_what_is_wrong_names_field_and_line(folder: Path, named: dict[str, str], problem: str) -> None:
    (folder / "dangling").mkdir()
    (folder / "dangling" / "x").symlink_to("nowhere")
    (folder / "opt" / "venv").mkdir(parents=True)
    (folder / "opt" / "venv" / "x").write_bytes(b"")
    with pytest.raises(InvalidInput, match=problem) as caught:
        look(folder, **named)
    [fault] = caught.value.faults
    assert (fault.file, fault.line) == ("spec", LINE)
    assert fault.field.startswith("files./")


@pytest.mark.parametrize("source", ["../secret", "conf/../../secret", "/etc/hostname", "link", "conf/up/secret"])
def test_nothing_outside_the_folder_of_the_spec_is_taken(tmp_path: Path, source: str) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    project = tmp_path / "project"
    (project / "conf").mkdir(parents=True)
    (project / "link").symlink_to(tmp_path / "secret")
    (project / "conf" / "up").symlink_to(tmp_path)
    with pytest.raises(InvalidInput, match="is outside the directory of the spec: copy it there"):
        look(project, app=source)


def test_a_link_out_of_a_folder_of_files_is_named(folder: Path, tmp_path: Path) -> None:
    (folder / "conf" / "out").symlink_to("/etc")
    with pytest.raises(InvalidInput, match=r"conf/out is outside the directory of the spec"):
        look(folder, app="conf")


def test_a_folder_that_is_a_link_inside_gives_its_files(folder: Path) -> None:
    (folder / "more").mkdir()
    (folder / "more" / "b.yaml").write_bytes(b"b: 1")
    (folder / "conf" / "linked").symlink_to("../more")
    assert [file.path for file in look(folder, app="conf")] == ["/app/a.yaml", "/app/linked/b.yaml", "/app/sub/run.sh"]


@pytest.mark.parametrize("to", [".", "..", "sub/.."])
def test_a_link_to_a_folder_that_it_lies_in_is_refused(folder: Path, to: str) -> None:
    (folder / "conf" / "again").symlink_to(to)
    with pytest.raises(InvalidInput, match="is a link to one of its parent directories"):
        look(folder, app=".")


def test_pipes_and_devices_are_no_files(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    with pytest.raises(InvalidInput, match="pipe is neither a file nor a directory"):
        look(folder, app="pipe")
    with pytest.raises(InvalidInput, match="null is neither a file nor a directory"):
        look(Path("/dev"), app="null")


def test_a_file_that_the_kernel_makes_up_is_none() -> None:
    """It holds variables of this process, such as credentials of a CI."""
    with pytest.raises(InvalidInput, match="has 0 bytes and gives"):
        look(Path("/proc/self"), app="environ")


def test_an_empty_folder_is_no_file(folder: Path) -> None:
    (folder / "empty").mkdir()
    assert look(folder, app="empty") == ()
