"""Build the wheel and the source distribution and check them: `python -m tools.release [DIRECTORY]` (default: dist).

Nothing is published. Exit status 1 if a check fails; what a publication still needs is printed, and is no failure.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Collection, Iterator
from email.message import Message
from email.parser import Parser
from pathlib import Path

from envbuilder import __version__

ROOT = Path(__file__).parents[1]
SOURCES = ("envbuilder", "templates", "matrices", "tests", "tools", "docs", ".ci")
"""Directories of the source distribution: all that `make test` needs."""

_DATA = {"templates": "envbuilder/_data/templates", "matrices": "envbuilder/_data/matrices", "envbuilder": "envbuilder"}
"""Directories of the checkout whose files are in the wheel, and where."""


def changelog_problems(text: str, version: str) -> Iterator[str]:
    """Name what is wrong with the section of a version in the changelog."""
    if not re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", text, re.MULTILINE):
        yield f"CHANGELOG.md has no section '## [{version}] - YYYY-MM-DD'"
    if not re.search(r"^## \[?Unreleased\]?$", text, re.MULTILINE):
        yield "CHANGELOG.md has no section '## Unreleased' for what comes next"


def metadata_problems(metadata: Message, version: str) -> Iterator[str]:
    """Name what is wrong with the metadata of a wheel."""
    expected = {"Name": "envbuilder", "Version": version, "Description-Content-Type": "text/markdown"}
    for field, value in expected.items():
        if metadata[field] != value:
            yield f"metadata: {field} is {metadata[field]!r} instead of {value!r}"
    for field in ("Summary", "Requires-Python", "Requires-Dist", "Classifier"):
        if field not in metadata:
            yield f"metadata: {field} is missing"
    if not str(metadata.get_payload()).strip():
        yield "metadata: the description is empty"


def missing_for_publication(metadata: Message) -> Iterator[str]:
    """Name what the owner must decide before this wheel can be published."""
    if "License-Expression" not in metadata:
        yield "no licence: add `license` to pyproject.toml and a LICENSE file"
    if "Project-URL" not in metadata:
        yield "no project URLs: fill in [project.urls] in pyproject.toml"


def content_problems(wheel: Collection[str], source: Collection[str], tracked: Collection[str]) -> Iterator[str]:
    """Name files that are missing or should not be there.

    Args:
        wheel: Names in the wheel.
        source: Names in the source distribution, without its top directory.
        tracked: Names in the repository.
    """
    expected = {f"{_DATA[top]}/{rest}" for top, _, rest in (name.partition("/") for name in tracked) if top in _DATA}
    yield from (f"wheel: {name} is missing" for name in sorted(expected - {*wheel}))
    ours = {name for name in wheel if not name.startswith(f"envbuilder-{__version__}.dist-info/")}
    yield from (f"wheel: {name} is not in the repository" for name in sorted(ours - expected))
    needed = {name for name in tracked if name.partition("/")[0] in SOURCES}
    yield from (f"source distribution: {name} is missing" for name in sorted(needed - {*source}))


def main(target: Path) -> int:
    """Build into a directory, check, and print one line for each result; return the exit status."""
    _run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-t", "wheel", "-d", target.resolve())
    wheel = target.resolve() / f"envbuilder-{__version__}-py3-none-any.whl"
    source = target.resolve() / f"envbuilder-{__version__}.tar.gz"
    tracked = _run("git", "ls-files", "-z").rstrip("\0").split("\0")
    with zipfile.ZipFile(wheel) as opened, tarfile.open(source) as archive:
        names = opened.namelist()
        metadata = Parser().parsestr(opened.read(f"envbuilder-{__version__}.dist-info/METADATA").decode())
        sources = [member.name.partition("/")[2] for member in archive if member.isfile()]
    problems = [
        *changelog_problems((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), __version__),
        *metadata_problems(metadata, __version__),
        *content_problems(names, sources, tracked),
        *installation_problems(wheel, target.resolve() / "venv"),
    ]
    said = [f"{wheel.name}: {len(names)} files", f"{source.name}: {len(sources)} files"]
    said += [f"not ready for publication: {each}" for each in missing_for_publication(metadata)]
    print(*said, *(f"error: {each}" for each in problems), sep="\n")
    return int(bool(problems))


def installation_problems(wheel: Path, folder: Path) -> Iterator[str]:
    """Install a wheel into a new virtual environment, where no checkout is found, and name what does not work."""
    venv.create(folder, with_pip=True, clear=True)
    programs = folder / "bin"
    _run(programs / "pip", "install", "--quiet", wheel, folder=folder)
    version = _run(programs / "envbuilder", "--version", folder=folder).strip()
    if version != f"envbuilder, version {__version__}":
        yield f"envbuilder --version prints {version!r}"
    listed = _run(programs / "python", "-m", "envbuilder", "list", folder=folder)
    rows = [path.stem for path in (ROOT / "matrices" / "environments").glob("*.yaml")]
    yield from (f"envbuilder list does not show {row}" for row in sorted(rows) if row not in listed)


def _run(*command: str | Path, folder: Path = ROOT) -> str:
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(command, cwd=folder, env=environ, stdout=subprocess.PIPE, text=True, check=True).stdout


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "dist")))
