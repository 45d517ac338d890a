"""The day of the last change of a project comes from git, and is unknown elsewhere."""

from __future__ import annotations

import subprocess
from datetime import date
from pathlib import Path

import pytest

from envbuilder.core.errors import SourceUnreachable
from envbuilder.wiring.git_checkouts import clone, last_change


def git(folder: Path, *words: str) -> None:
    environ = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder),
        "GIT_COMMITTER_DATE": "2018-07-31T12:00:00Z",
        **{f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }
    subprocess.run(["git", "-C", str(folder), *words], env=environ, check=True, capture_output=True)


def test_the_day_of_the_last_commit_without_starting_programs_of_the_repository(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "first")
    git(tmp_path, "config", "log.showSignature", "true")
    git(tmp_path, "config", "gpg.program", f"touch {tmp_path / 'ran'};")
    git(tmp_path, "config", "core.fsmonitor", f"touch {tmp_path / 'ran'};")
    (tmp_path / "a").write_text("", encoding="utf-8")
    git(tmp_path, "add", "a")
    git(tmp_path, "commit", "-q", "-m", "second")
    (tmp_path / "ran").unlink(missing_ok=True)
    assert last_change(tmp_path) == date(2018, 7, 31)
    assert not (tmp_path / "ran").exists()


def test_a_directory_without_git_has_no_day(tmp_path: Path) -> None:
    assert last_change(tmp_path) is None


def test_the_message_of_a_failed_clone_has_no_control_characters(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/sh\nprintf 'remote: bad object\\0\\nfatal: \\033[31mearly EOF   \\n' >&2\nexit 128\n", encoding="utf-8"
    )
    program.chmod(0o755)
    with pytest.raises(SourceUnreachable) as caught:
        clone("https://me:secret@git.example/a", tmp_path / "a", {"PATH": str(program.parent)})
    assert caught.value.message == ("git cannot clone https://git.example/a: remote: bad object\nfatal: [31mearly EOF")
    assert "git fsck" in caught.value.hint
