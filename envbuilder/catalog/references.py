"""Catalogs of teams, and references to them: a directory, or a commit of a git repository."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TypeAlias
from urllib.parse import urlsplit

from envbuilder.core.digests import shortened
from envbuilder.core.names import shown

_GIT = "git+"
_SCHEMES = ("https", "ssh", "file")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_FOLDER = "subdirectory="
_SCP = re.compile(r"[\w.-]+@[\w.-]+:(?!//)")


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryReference:
    """A catalog in a directory."""

    path: str

    def __str__(self) -> str:
        return self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class GitReference:
    """A catalog in a git repository.

    Attributes:
        address: Address of the repository, without password.
        commit: Full hash of the commit.
        folder: Directory of the catalog in the repository; empty for its top.
    """

    address: str
    commit: str
    folder: str = ""

    def __str__(self) -> str:
        return f"{_GIT}{self.address}@{self.commit}{f'#{_FOLDER}{self.folder}' if self.folder else ''}"


CatalogReference: TypeAlias = DirectoryReference | GitReference


def catalog_reference(text: str) -> CatalogReference:
    """Parse `DIR` or `git+URL@COMMIT[#subdirectory=DIR]`, the form of pip.

    A branch or a tag is refused: it could mean another catalog tomorrow.

    Raises:
        ValueError: It is neither; or the address has a password, or a scheme that is not supported.

    Example:
        >>> catalog_reference("git+https://git.example/team/catalog.git@" + "a" * 40).address
        'https://git.example/team/catalog.git'
    """
    if not text or not text.isprintable():
        raise ValueError("must be a directory or git+URL@COMMIT")
    if not text.startswith(_GIT):
        if "://" in text or _SCP.match(text):
            raise ValueError("must begin with git+ and be an address, such as git+ssh://git@HOST/REPOSITORY@COMMIT")
        return DirectoryReference(path=text)
    plain, _, fragment = text.removeprefix(_GIT).partition("#")
    address, _, commit = plain.rpartition("@")
    if not address or not _COMMIT.fullmatch(commit):
        raise ValueError(
            "must end with @ and the full hash of a commit, which `git ls-remote URL BRANCH` prints: "
            "a branch or a tag can move"
        )
    _check(address)
    return GitReference(address=address, commit=commit, folder=_folder(fragment))


def _check(address: str) -> None:
    """Raise ValueError if an address cannot be used, without repeating a password."""
    try:
        parts = urlsplit(address)
    except ValueError:
        raise ValueError("is not an address") from None
    if parts.scheme not in _SCHEMES or not (parts.hostname or parts.scheme == "file"):
        raise ValueError(f"must be an address with {', '.join(f'{scheme}://' for scheme in _SCHEMES[:-1])} or file://")
    if parts.password is not None or (parts.scheme == "https" and parts.username is not None):
        raise ValueError("must not have credentials: git takes them from its credential helper or from the SSH agent")


def _folder(fragment: str) -> str:
    """Return the directory of a fragment.

    Raises:
        ValueError: The fragment is something else, or leads out of the repository.
    """
    if not fragment:
        return ""
    folder = fragment.removeprefix(_FOLDER)
    path = PurePosixPath(folder)
    if folder == fragment or not folder or path.is_absolute() or ".." in path.parts:
        raise ValueError(f"{shown(fragment)} must be {_FOLDER}DIR, a directory of the repository")
    return str(path)


SPECS = "specs"
"""Directory of the specs of a catalog that other specs extend."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogPlace:
    """The files of a catalog on this machine.

    Attributes:
        address: Address of its repository; empty for a directory.
        commit: Commit that the files are of; empty for a directory.
    """

    folder: Path
    address: str = ""
    commit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamCatalog:
    """A catalog of a team.

    Attributes:
        name: Its name, from its `catalog.yaml`.
        place: Where its files are.
        digest: The `sha256:…` of its files.
        environments: Ids of its environments, sorted.
    """

    name: str
    place: CatalogPlace
    digest: str
    environments: tuple[str, ...]

    @property
    def state(self) -> str:
        """Its commit, or the digest of its files, shortened."""
        return f"commit {self.place.commit[:12]}" if self.place.commit else f"files {shortened(self.digest)}"

    def __str__(self) -> str:
        return f"{self.name}, {self.place.address or self.place.folder}, {self.state}"
