"""Catalogs of teams, beside the small catalog: in directories, and in git repositories of this machine."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.fakes.catalogs import DATA

ROW = "tf-2.15-cpu"
OWN = "tf-2.15-cpu-vision"


def row_text(name: str = OWN) -> str:
    """Return the text of an environment: the small catalog's tf-2.15-cpu under another id."""
    text = (DATA / "catalog" / "environments" / f"{ROW}.yaml").read_text(encoding="utf-8")
    return text.replace(f'id: "{ROW}"', f'id: "{name}"')


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def team_catalog(folder: Path, *rows: str, name: str = "vision", more: str = "") -> Path:
    """Write a catalog; return its directory.

    Args:
        folder: The directory.
        rows: Ids of its environments.
        name: Its name.
        more: Further lines of `catalog.yaml`.
    """
    put(folder / "catalog.yaml", f'schema: 1\nname: "{name}"\n{more}')
    evidence = (DATA / "catalog" / "evidence" / f"{ROW}.yaml").read_text(encoding="utf-8")
    for row in rows or (OWN,):
        put(folder / "environments" / f"{row}.yaml", row_text(row))
        put(folder / "evidence" / f"{row}.yaml", evidence.replace(f'id: "{ROW}"', f'id: "{row}"'))
    return folder


def git(folder: Path, *arguments: str) -> str:
    """Run git in a directory, without the configuration of this host; return what it prints."""
    environ = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        **{
            f"GIT_{who}_{what}": f"a@{who}.example".lower()
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        },
    }
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, env=environ, check=True, capture_output=True, text=True).stdout.strip()


def committed(folder: Path) -> str:
    """Make a directory a repository with one commit more; return the hash of the commit."""
    if not (folder / ".git").exists():
        git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "one")
    return git(folder, "rev-parse", "HEAD")
