"""What a Dockerfile copies becomes own files of the spec."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from envbuilder.lock.project.clues import Clue, ClueKind, Confidence, SourceLine
from envbuilder.lock.project.own_sources import own_files


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in (
        "src/a.py",
        "src/deep/b.py",
        "train.py",
        "test.py",
        "data/x.bin",
        ".git/HEAD",
        "build/x",
        "envbuilder.lock",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name, encoding="utf-8")
    (tmp_path / ".dockerignore").write_text("# large\n/data/\n!x\n", encoding="utf-8")
    return tmp_path


def taken(project: Path, *copies: str) -> tuple[Mapping[str, str], tuple[str, ...]]:
    clues = [
        Clue(
            kind=ClueKind.COPY,
            value=value,
            line=SourceLine(file="Dockerfile", number=number),
            confidence=Confidence.IMPLIED,
        )
        for number, value in enumerate(copies, 1)
    ]
    files, unused = own_files(project, clues)
    return {file.path: file.source for file in files}, tuple(f"{each.line.number}: {each.reason}" for each in unused)


@pytest.mark.parametrize(
    ("copy", "files"),
    [
        ("train.py /app/", {"/app/train.py": "train.py"}),
        ("train.py /app/run.py", {"/app/run.py": "train.py"}),
        ("./src /app/src", {"/app/src": "src"}),
        ("src/ /app/", {"/app": "src"}),
        ("'*.py' /app/", {"/app/test.py": "test.py", "/app/train.py": "train.py"}),
        (". /app/", {"/app/src": "src", "/app/test.py": "test.py", "/app/train.py": "train.py"}),
        ("/ /app", {"/app/src": "src", "/app/test.py": "test.py", "/app/train.py": "train.py"}),
    ],
)
def test_files_and_directories_are_taken_as_docker_copies_them(
    project: Path, copy: str, files: Mapping[str, str]
) -> None:
    assert taken(project, copy) == (files, ())


@pytest.mark.parametrize(
    ("copy", "reason"),
    [
        ("nothing /app/", "1: the project has no nothing"),
        ("'*.txt' /app/", "1: the project has no *.txt"),
        ("../secret /app/", "1: the project has no ../secret"),
        ("train.py /usr/bin/", "1: '/usr/bin/train.py' is in a directory of the base"),
        ("train.py /opt/venv/x", "1: '/opt/venv/x' is in a directory that envbuilder writes"),
    ],
)
def test_what_cannot_be_an_own_file_is_told(project: Path, copy: str, reason: str) -> None:
    files, told = taken(project, copy)
    assert not files
    assert told[0].startswith(reason)


def test_nothing_outside_the_project_is_taken(project: Path) -> None:
    (project.parent / "secret").write_text("x", encoding="utf-8")
    (project / "link").symlink_to(project.parent / "secret")
    for copy in ("../secret /app/", "link /app/"):
        files, told = taken(project, copy)
        assert not files
        assert "outside the directory of the spec" in told[0]


def test_a_line_that_contradicts_an_earlier_one_is_told(project: Path) -> None:
    files, told = taken(project, "train.py /app", "src /app/src")
    assert files == {"/app": "train.py"}
    assert told == ("2: /app is a file, and /app/src/a.py would be below it",)
