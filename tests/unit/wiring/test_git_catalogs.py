"""Catalogs come out of git repositories at a commit, and nothing of a repository runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from envbuilder.catalog.references import GitReference
from envbuilder.core.errors import SourceUnreachable, ToolMissing, UsageError, VerificationFailed
from envbuilder.wiring.git_catalogs import fetched_catalog
from tests.fakes.teams import OWN, committed, git, put, team_catalog

ENVIRON = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return team_catalog(tmp_path / "repository")


@pytest.fixture
def room(tmp_path: Path) -> Path:
    folder = tmp_path / "cache" / "catalogs"
    folder.mkdir(parents=True)
    return folder


def reference(repository: Path, commit: str, folder: str = "") -> GitReference:
    return GitReference(address=f"file://{repository}", commit=commit, folder=folder)


def fetched(wanted: GitReference, room: Path, environ: dict[str, str] = ENVIRON) -> Path:
    return fetched_catalog(wanted, room, environ, lambda _: None)


def test_the_files_of_the_commit_are_fetched_once(repository: Path, room: Path) -> None:
    first = committed(repository)
    put(repository / "catalog.yaml", "changed")
    put(repository / "README.md", "not read")
    second = committed(repository)
    notices: list[str] = []
    for _ in range(2):
        found = fetched_catalog(reference(repository, first), room, ENVIRON, notices.append)
        assert (found / "catalog.yaml").read_text() == 'schema: 1\nname: "vision"\n'
    assert notices == [f"fetching the catalog git+file://{repository}@{first}"]
    newer = fetched(reference(repository, second), room)
    assert (newer / "catalog.yaml").read_text() == "changed"
    assert not (newer / "README.md").exists()
    assert (newer / "environments" / f"{OWN}.yaml").is_file()
    assert sorted(path.name for path in room.iterdir()) == sorted([first, second])


def test_a_directory_of_the_repository_is_a_catalog(tmp_path: Path, room: Path) -> None:
    repository = tmp_path / "mono"
    team_catalog(repository / "tf" / "catalog")
    commit = committed(repository)
    found = fetched(reference(repository, commit, "tf/catalog"), room)
    assert (found / "catalog.yaml").is_file()
    assert not (found / "tf").exists()
    with pytest.raises(UsageError, match="has no directory tf/other"):
        fetched(reference(repository, commit, "tf/other"), room)


def test_a_server_that_does_not_deliver_single_commits_is_asked_for_its_branches(
    repository: Path, room: Path, tmp_path: Path
) -> None:
    first = committed(repository)
    put(repository / "specs" / "base.yaml", "packages: []\n")
    committed(repository)
    # Protocol version 0 delivers tips of branches and tags only, as servers before git 2.18 do.
    config = put(tmp_path / "config", "[protocol]\n\tversion = 0\n")
    found = fetched(reference(repository, first), room, {**ENVIRON, "GIT_CONFIG_GLOBAL": str(config)})
    assert (found / "catalog.yaml").is_file()
    assert not (found / "specs").exists()


@pytest.mark.parametrize("commit", ["0" * 40, "f" * 64])
def test_a_commit_that_does_not_exist_is_told(repository: Path, room: Path, commit: str) -> None:
    committed(repository)
    with pytest.raises(SourceUnreachable, match=r"has no commit|cannot be fetched"):
        fetched(reference(repository, commit), room)
    assert not list(room.iterdir())


def test_a_repository_that_does_not_exist_is_told_with_the_command_that_shows_it(tmp_path: Path, room: Path) -> None:
    with pytest.raises(SourceUnreachable, match="cannot be fetched: git fetch failed") as caught:
        fetched(reference(tmp_path / "nothing", "0" * 40), room)
    assert "git ls-remote" in caught.value.hint


def test_the_id_of_a_file_is_no_commit(repository: Path, room: Path) -> None:
    committed(repository)
    blob = git(repository, "rev-parse", "HEAD:catalog.yaml")
    with pytest.raises(SourceUnreachable):
        fetched(reference(repository, blob), room)


def test_no_program_of_the_user_or_of_the_repository_runs(repository: Path, room: Path, tmp_path: Path) -> None:
    trap = tmp_path / "ran"
    script = put(tmp_path / "trap.sh", f"#!/bin/sh\necho $0 >> {trap}\n")
    script.chmod(0o755)
    hooks = tmp_path / "template" / "hooks"
    for name in ("post-checkout", "reference-transaction", "post-merge"):
        put(hooks / name, script.read_text()).chmod(0o755)
    put(repository / ".gitattributes", "*.yaml filter=trap export-subst\n")
    commit = committed(repository)
    config = put(
        tmp_path / "config",
        f"[init]\n\ttemplateDir = {hooks.parent}\n[core]\n\thooksPath = {hooks}\n\tfsmonitor = {script}\n"
        f'[filter "trap"]\n\tsmudge = {script}\n[protocol "ext"]\n\tallow = always\n',
    )
    environ = {**ENVIRON, "GIT_CONFIG_GLOBAL": str(config), "GIT_DIR": str(tmp_path), "GIT_EXTERNAL_DIFF": str(script)}
    assert (fetched(reference(repository, commit), room, environ) / "catalog.yaml").is_file()
    assert not trap.exists()


@pytest.mark.parametrize("name", ["environments/link.yaml", "specs/link"])
def test_a_symbolic_link_is_refused(repository: Path, room: Path, name: str) -> None:
    (repository / name).parent.mkdir(exist_ok=True)
    (repository / name).symlink_to("/etc/passwd")
    with pytest.raises(VerificationFailed, match="is not a regular file"):
        fetched(reference(repository, committed(repository)), room)
    assert not list(room.iterdir())


def test_without_git_the_error_says_so(repository: Path, room: Path) -> None:
    with pytest.raises(ToolMissing, match="git is not installed"):
        fetched(reference(repository, "0" * 40), room, {"PATH": "/nonexistent"})
